"""Giving steps that were told without an identity the one by which they will be told again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from prowess.storage.errors import InvalidInput
from prowess.storage.ids import id_bytes
from prowess.storage.log import state
from prowess.storage.log.batch import Batch
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.log.codec import identify_step
from prowess.storage.log.tables import EXTERNAL, STEPS
from prowess.storage.log.track import external_key
from prowess.storage.models import Identified, NewStep, Origin

__all__ = ["Identify"]


class Identify:
    """Say of stored steps which tool calls they are. A step has one identity at most, and an identity one step.

    Where either has one already, or is gone, nothing changes. No event tells of it: it is this log's own knowledge,
    like the table of identities itself.
    """

    def __init__(self, episode_id: str, steps: Sequence[NewStep], origin: Origin, cleaner: Cleaner) -> None:
        if any(step.number is None or not step.external_id for step in steps):
            raise InvalidInput("a step without number or external_id", hint="name the stored step and its tool call")
        try:
            self._episode = id_bytes(episode_id)
        except ValueError:
            raise InvalidInput(f"no episode can have id {episode_id[:100]!r}", hint="use an id of the store") from None
        self._steps = [(external_key(step, origin, cleaner), cleaner.struct(step, "step")) for step in steps]

    def apply(self, batch: Batch) -> Identified:
        known = state.load(batch, self._episode)
        if known is None or known.log:
            return Identified(seq=batch.head.seq)
        grown: dict[int, int] = {}
        for external, step in self._steps:
            assert step.number is not None
            more = None if external is None else self._identify(batch, external, step.number, step)
            if more is not None:
                grown[step.number] = more
        if grown:
            size = max(0, known.size + sum(grown.values()))
            state.save(batch, self._episode, msgspec.structs.replace(known, size=size))
        return Identified(seq=batch.head.seq, numbers=tuple(grown))

    def _identify(self, batch: Batch, external: bytes, number: int, step: NewStep) -> int | None:
        """Bytes by which the stored step grew; None where nothing changed."""
        place = (self._episode, number)
        raw = batch.table(STEPS).get(place)
        if raw is None or batch.table(EXTERNAL).get(external) is not None:
            return None
        value = identify_step(raw, step)
        if value is None:
            return None
        batch.put(STEPS, place, value)
        batch.put(EXTERNAL, external, self._episode + number.to_bytes(4, "big"))
        return len(value) - len(raw)
