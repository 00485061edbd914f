"""Appending what was decided elsewhere: skills, patterns, memories, exposures, a model's answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec.structs import replace

from prowess.storage.errors import InvalidInput
from prowess.storage.events import (
    EpisodeClosed,
    EpisodeDescribed,
    EpisodeOpened,
    Event,
    ExposureMade,
    Forgotten,
    MemoryDeleted,
    MemorySaved,
    PatternsReflected,
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
from prowess.storage.log.forgotten import FOR_ITSELF, is_forgotten
from prowess.storage.log.marks import raise_mark
from prowess.storage.log.private import set_privacy
from prowess.storage.models import Origin, Receipt

__all__ = ["Append"]

# Events that go with state of the log, and so have commands of their own.
OWN = (EpisodeOpened, EpisodeDescribed, EpisodeClosed, StepTracked, RewardScored, Forgotten, StepsTrimmed)
# What words of episodes may be in, or is about such.
LEARNED = (SkillSaved, MemorySaved, MemoryDeleted, ExposureMade, PatternsReflected)


class Append(Command[Receipt]):
    """Record events as they are, and up to where that is the work done: all of it, or nothing.

    What was drawn from an episode that was forgotten meanwhile is left out, as if it had been there when that went;
    and a memory that was forgotten for itself, which the same patterns would bring back again and again.
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
        self._learned = {place: event for place, event in enumerate(clean) if isinstance(event, LEARNED)}
        self._privacy = [event for event in clean if isinstance(event, PrivacySet)]
        self._origin = msgspec.Raw(pack(origin))
        self._mark = mark

    def apply(self, batch: Batch) -> Receipt:
        for event in self._privacy:
            set_privacy(batch, event)
        if self._mark is not None:
            raise_mark(batch, *self._mark)
        kept = (self._kept(batch, place) for place in range(len(self._events)))
        return Receipt(seq=batch.record_encoded([each for each in kept if each is not None], self._origin))

    def _kept(self, batch: Batch, place: int) -> tuple[str, int, msgspec.Raw] | None:
        """An event without what was forgotten while it was made; None where nobody would find it to forget it."""
        encoded, event = self._events[place], self._learned.get(place)
        if event is None:
            return encoded
        if is_forgotten(batch, FOR_ITSELF, _memory_in(event), ""):
            return None
        gone = [name for name in _sources(event) if is_forgotten(batch, "episodes", name, "")]
        if not gone:
            return encoded
        if isinstance(event, SkillSaved) and not _is_orphan(batch, event, gone):
            return encode_event(_without(event, gone))
        return None


def _memory_in(event: Event) -> str:
    """The id of the memory that it tells of, "" for none."""
    if isinstance(event, MemorySaved):
        return event.memory.id
    return event.memory_id if isinstance(event, MemoryDeleted) else ""


def _sources(event: Event) -> Collection[str]:
    """The ids of the episodes whose words are in it, as forgetting goes by them."""
    match event:
        case SkillSaved():
            return event.skill.episodes
        case MemorySaved():
            return (event.memory.episode_id,) if event.memory.episode_id else ()
        case ExposureMade():
            return (event.exposure.episode_id,) if event.exposure.episode_id else ()
        case PatternsReflected():
            return {name for pattern in event.patterns for name in pattern.examples}
    return ()


def _is_orphan(batch: Batch, event: SkillSaved, gone: Sequence[str]) -> bool:
    """Whether a machine made it of nothing that is left, and not as a version of a skill that stayed.

    What a person brings in is theirs, whatever it was made of.
    """
    skill = event.skill
    if event.change == "import" or skill.author != "machine" or len(gone) < len(skill.episodes):
        return False
    return skill.version == 1 or is_forgotten(batch, "skills", skill.id, "")


def _without(event: SkillSaved, gone: Sequence[str]) -> SkillSaved:
    """A skill that was made while some of its episodes were forgotten, or of a version that names them still.

    Its values may be theirs. Machines that are told of both take them out, so they must not stay here either.
    """
    kept = tuple(name for name in event.skill.episodes if name not in gone)
    return replace(event, skill=replace(event.skill.without_examples(), episodes=kept))
