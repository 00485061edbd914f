"""What is kept and for how long: forgetting on a person's word, and trimming of raw steps by age and size."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from prowess.storage.events import StepsTrimmed
from prowess.storage.ids import id_text
from prowess.storage.log import state
from prowess.storage.log.batch import Batch
from prowess.storage.log.believed import DAY_MS, believed
from prowess.storage.log.codec import trim_step
from prowess.storage.log.erasure import WIDEST, erase, resolve
from prowess.storage.log.file import write_meta
from prowess.storage.log.forgotten import forgotten_before, remember_forgotten
from prowess.storage.log.state import EpisodeState
from prowess.storage.log.tables import STEPS
from prowess.storage.log.targets import Scope, Targets
from prowess.storage.models import Origin, Trimmed

__all__ = ["forget", "trim"]


def forget(batch: Batch, scope: Scope, reason: str, origin: Origin, elsewhere: Targets | None = None) -> Targets:
    """Erase everything that goes with ``scope`` and record that it was; nothing is recorded where nothing fits.

    ``elsewhere`` is what goes with it in backups, and may not be here.
    The bytes are gone once the file is rewritten, which the mark ``scrub`` asks for.
    """
    if elsewhere:
        elsewhere = elsewhere.without(forgotten_before(batch).targets)
    targets = resolve(batch, scope, elsewhere)
    if not targets:
        return targets
    erase(batch, targets)
    event = targets.forgotten(batch.at, reason)
    batch.record(event, origin)
    remember_forgotten(batch, event, actor=origin.actor)
    write_meta(batch, "scrub", True)
    return targets


def trim(batch: Batch, days: int | None, max_bytes: int | None, origin: Origin) -> Trimmed:
    """Drop raw steps of episodes untouched for ``days``, then of the oldest until ``max_bytes`` are left."""
    chosen = list(_chosen(batch, days, max_bytes))
    steps = 0
    for key, known in chosen:
        steps += _trim_episode(batch, key)
        state.save(batch, key, msgspec.structs.replace(known, size=0))
    if chosen:
        batch.record(StepsTrimmed(at=batch.at, episode_ids=tuple(id_text(key) for key, _ in chosen)), origin)
    size = sum(known.size for _, known in chosen)
    return Trimmed(seq=batch.head.seq, episodes=len(chosen), steps=steps, bytes=size)


def _chosen(batch: Batch, days: int | None, max_bytes: int | None) -> Iterator[tuple[bytes, EpisodeState]]:
    held = [(key, known) for key, known in state.all_episodes(batch) if known.size]
    total = sum(known.size for _, known in held)
    now = believed(batch)
    limit = 0 if days is None else now - days * DAY_MS
    for key, known in sorted(held, key=lambda item: item[1].touched):
        if known.touched < limit or (max_bytes is not None and total > max_bytes):
            total -= known.size
            yield key, known


def _trim_episode(batch: Batch, key: bytes) -> int:
    rows = list(batch.table(STEPS).range((key, 0), (key, WIDEST), include_end=True))
    for row, value in rows:
        batch.put(STEPS, row, trim_step(value))
    return len(rows)
