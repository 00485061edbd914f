"""What is to be forgotten: as a person says it, and as the ids that go with that."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from prowess.storage.events import Forgotten

__all__ = ["NAMES", "Scope", "Targets"]

# Field of Targets -> that of the event.
NAMES = {
    "episodes": "episode_ids",
    "skills": "skill_ids",
    "memories": "memory_ids",
    "exposures": "exposure_ids",
    "reflections": "reflection_ids",
}


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants forgotten: the ids, and everything that fits all of the filters given."""

    episode_ids: tuple[str, ...] = ()
    skill_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    task_id: str | None = None
    project: str | None = None
    before: str | None = None

    def fits(self, *, task_id: str | None, project: str, at: str) -> bool:
        """Whether something fits the filters; without a filter nothing does."""
        if self.task_id is None and self.project is None and self.before is None:
            return False
        return (
            (self.task_id is None or self.task_id == task_id)
            and (self.project is None or self.project == project)
            and (self.before is None or at < self.before)
        )

    def whole_project(self, project: str) -> bool:
        """Whether a project is to go with all that was learned in it."""
        return self.project == project and self.task_id is None and self.before is None


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of everything to erase."""

    episodes: set[str] = msgspec.field(default_factory=set)
    skills: set[str] = msgspec.field(default_factory=set)
    memories: set[str] = msgspec.field(default_factory=set)
    exposures: set[str] = msgspec.field(default_factory=set)
    reflections: set[str] = msgspec.field(default_factory=set)

    def __bool__(self) -> bool:
        return any((self.episodes, self.skills, self.memories, self.exposures, self.reflections))

    @classmethod
    def of(cls, told: Forgotten) -> Self:
        """What ``told`` names."""
        return cls(**{kind: set(getattr(told, name)) for kind, name in NAMES.items()})

    def add(self, more: Targets) -> None:
        for kind in self.__struct_fields__:
            getattr(self, kind).update(getattr(more, kind))

    def without(self, other: Targets) -> Targets:
        """What is named here and not in ``other``."""
        return Targets(**{kind: getattr(self, kind) - getattr(other, kind) for kind in self.__struct_fields__})

    def forgotten(self, at: str, reason: str) -> Forgotten:
        """The event that tells of it."""
        named: dict[str, Any] = {name: tuple(sorted(getattr(self, kind))) for kind, name in NAMES.items()}
        return Forgotten(at=at, reason=reason, **named)
