"""Appending what was decided elsewhere: skills, patterns, memories, exposures, a model's answers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from prowess.storage.errors import InvalidInput
from prowess.storage.events import (
    EpisodeClosed,
    EpisodeDescribed,
    EpisodeOpened,
    Event,
    Forgotten,
    PrivacySet,
    RewardScored,
    SkillSaved,
    StepsTrimmed,
    StepTracked,
)
from prowess.storage.log.batch import Batch
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.log.codec import encode_event, pack, type_of
from prowess.storage.log.command import Command
from prowess.storage.log.forgotten import is_forgotten
from prowess.storage.log.marks import raise_mark
from prowess.storage.log.private import set_privacy
from prowess.storage.models import Origin, Receipt

__all__ = ["Append"]

# Events that go with state of the log, and so have commands of their own.
OWN = (EpisodeOpened, EpisodeDescribed, EpisodeClosed, StepTracked, RewardScored, Forgotten, StepsTrimmed)


class Append(Command[Receipt]):
    """Record events as they are, and up to where that is the work done: all of it, or nothing.

    A repeated key needs the same types of events only: ids and times in them are made anew by whoever tries again.
    """

    operation = "append"
    answer_type = Receipt

    def __init__(
        self,
        events: Sequence[Event],
        origin: Origin,
        key: str | None,
        cleaner: Cleaner,
        mark: tuple[str, int] | None = None,
    ) -> None:
        for event in events:
            if isinstance(event, OWN):
                raise InvalidInput(f"{type_of(event)} cannot be appended", hint="use track, score, forget or trim")
        super().__init__(key, [type_of(event) for event in events])
        clean = [cleaner.struct(event, type_of(event)) for event in events]
        self._events = [encode_event(event) for event in clean]
        self._saved = {place: event for place, event in enumerate(clean) if isinstance(event, SkillSaved)}
        self._privacy = [event for event in clean if isinstance(event, PrivacySet)]
        self._origin = msgspec.Raw(pack(origin))
        self._mark = mark

    def apply(self, batch: Batch) -> Receipt:
        for event in self._privacy:
            set_privacy(batch, event)
        if self._mark is not None:
            raise_mark(batch, *self._mark)
        for place, saved in self._saved.items():
            if gone := [name for name in saved.skill.episodes if is_forgotten(batch, "episodes", name, "")]:
                self._events[place] = encode_event(_without(saved, gone))
        return Receipt(seq=batch.record_encoded(self._events, self._origin))


def _without(event: SkillSaved, gone: Sequence[str]) -> SkillSaved:
    """A skill that was made while some of its episodes were forgotten, or of a version that names them still.

    Its values may be theirs. Machines that are told of both take them out, so they must not stay here either.
    """
    bare = tuple(replace(parameter, examples=()) for parameter in event.skill.parameters)
    kept = tuple(name for name in event.skill.episodes if name not in gone)
    return replace(event, skill=replace(event.skill, parameters=bare, episodes=kept))
