"""A change to one skill: what it was, what it becomes, and why. Planned first, written only when all are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec.structs import replace
from pydantic import BaseModel

from prowess.learning.lifecycle import MAX_NAME
from prowess.storage.events import Event, SkillSaved, SkillStatusSet, SkillTrialEnded
from prowess.storage.models import Skill
from prowess.tools.skills import one_line, steps_in_words

__all__ = ["Action", "Change", "ChangeReport", "Plan"]

LONG = 160  # characters: a change that takes more is told on several lines
Action = Literal["create", "adjust", "compose", "promote", "keep", "retire", "prune", "restore", "rollback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """``before`` is None for a new skill."""

    action: Action
    before: Skill | None
    after: Skill
    reason: str

    def event(self, at: str) -> Event:
        """What the journal keeps of it."""
        before = self.before
        if before is not None and before.version == self.after.version:
            if before.status != self.after.status:
                return SkillStatusSet(skill_id=self.after.id, status=self.after.status, at=at, reason=self.reason)
            if before.trial_of != self.after.trial_of:
                return SkillTrialEnded(skill_id=self.after.id, at=at, reason=self.reason)
        created = self.after.created_at or at
        return SkillSaved(
            skill=replace(self.after, created_at=created, updated_at=at), change=self.action, reason=self.reason
        )


@dataclass(slots=True)
class Plan:
    """Changes in order, and the skills as they would be after them, by id.

    ``only`` is the one project whose skills may change, None: any; ``kept`` counts the changes that fell to that.
    """

    skills: dict[str, Skill]
    only: str | None = None
    kept: int = 0
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, action: Action, after: Skill, reason: str) -> None:
        """Plan that ``after`` takes the place of the skill with its id."""
        if self.only is not None and after.project != self.only:
            self.kept += 1
            return
        self.changes.append(Change(action=action, before=self.skills.get(after.id), after=after, reason=reason))
        self.skills[after.id] = after

    def amend(self, index: int, after: Skill) -> None:
        """Let the change at ``index`` lead to ``after`` instead; its id stays."""
        planned = self.changes[index]
        self.changes[index] = Change(action=planned.action, before=planned.before, after=after, reason=planned.reason)
        self.skills[after.id] = after


class ChangeReport(BaseModel):
    """A change as the agent is told it: only what differs stands in ``before`` and ``after``."""

    action: Action
    id: str
    name: str
    before: dict[str, Any] | None = None
    after: dict[str, Any]
    reason: str

    @classmethod
    def of(cls, change: Change, names: Mapping[str, str]) -> ChangeReport:
        """The report of ``change``; ``names`` of the skills that it may refer to, by id."""
        after = _shown(change.after, names)
        before = _shown(change.before, names) if change.before else None
        if before is None:
            del after["trial_of"]  # nothing to be compared with
        if before is not None:
            differs = [key for key in after if before[key] != after[key]]
            before, after = {key: before[key] for key in differs}, {key: after[key] for key in differs}
        return cls(
            action=change.action,
            id=change.after.id,
            name=one_line(change.after.name, MAX_NAME),
            before=before,
            after=after,
            reason=one_line(change.reason, 300),
        )

    def lines(self) -> list[str]:
        """The change on one line, or where that is long, each of its parts on a line of its own."""
        head = f"{self.action} {self.name}"
        parts, numbered, joint = self._parts()
        joined = joint.join(parts)
        if len(joined) <= LONG:
            return [f"{head}: {joined} ({self.reason})"]
        return [f"{head} ({self.reason})", *(f"  {part}" for part in numbered)]

    def _parts(self) -> tuple[list[str], list[str], str]:
        """What changes; the same as lines, none of which begins with stored text; and what joins it on one line."""
        if self.before is None:
            steps: list[str] = self.after["steps"]
            return steps, [f"{number}. {step}" for number, step in enumerate(steps, 1)], " | "
        was = self.before
        parts = [f"{key}: {_in_words(was.get(key))} → {_in_words(value)}" for key, value in self.after.items()]
        return parts, parts, "; "


def _in_words(value: Any) -> str:
    return " | ".join(value) if isinstance(value, list) else str(value)


def _shown(skill: Skill, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": one_line(skill.name, MAX_NAME),
        "description": one_line(skill.description, 160),
        "steps": steps_in_words(skill, names),
        "parameters": [one_line(parameter.name, MAX_NAME) for parameter in skill.parameters],
        "status": skill.status,
        "version": skill.version,
        "trial_of": skill.trial_of,
    }
