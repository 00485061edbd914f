"""Skills, their versions and uses, and what they were matched with."""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from prowess.storage.models.base import ActorKind, Trust, Value

__all__ = [
    "ExposedSkill",
    "Exposure",
    "Parameter",
    "Skill",
    "SkillStatus",
    "SkillStep",
    "SkillUse",
    "SkillVersion",
    "Trial",
]

SkillStatus = Literal["draft", "active", "retired", "archived"]


class Parameter(Value, frozen=True, kw_only=True):
    """A placeholder of a skill: ``{name}`` in its steps. ``type`` is a JSON Schema type name.

    ``source`` tells where its value came from in the episodes: the task's words, an earlier observation, or unknown.
    """

    name: str
    type: str = "string"
    description: str = ""
    required: bool = True
    source: Literal["task", "observation", "unknown"] = "unknown"
    examples: tuple[Any, ...] = ()


class SkillStep(Value, frozen=True, kw_only=True, omit_defaults=True):
    """Either a tool call (``tool`` and ``args_template``) or a reference to another skill by id (``skill``)."""

    tool: str | None = None
    args_template: dict[str, Any] | None = None
    skill: str | None = None
    note: str = ""


class Skill(Value, frozen=True, kw_only=True):
    """A reusable procedure in one version.

    ``success_rate`` is the running mean over ``use_count`` uses; it starts at 1.0 and means nothing before the first.
    ``support`` counts the episodes that it was drawn from (``episodes``); ``project`` is "" for all projects.
    ``trial_of`` is the version that this one is compared with, as long as it has to prove itself beside it.
    """

    id: str
    name: str
    description: str
    steps: tuple[SkillStep, ...]
    version: int = 1
    parameters: tuple[Parameter, ...] = ()
    status: SkillStatus = "draft"
    project: str = ""
    author: ActorKind = "machine"
    trust: Trust = "own"
    pinned: bool = False
    episodes: tuple[str, ...] = ()
    support: int = 0
    keywords: tuple[str, ...] = ()
    use_count: int = 0
    success_rate: float = 1.0
    created_at: str = ""
    updated_at: str = ""
    last_used_at: str | None = None
    updated_seq: int = 0
    trial_of: int | None = None

    def without_examples(self) -> Skill:
        """Without the values that it was seen with."""
        return replace(self, parameters=tuple(replace(parameter, examples=()) for parameter in self.parameters))


class SkillUse(Value, frozen=True, kw_only=True):
    """One reported use of a skill."""

    id: str
    skill_id: str
    version: int
    episode_id: str
    success: bool
    at: str


class SkillVersion(Value, frozen=True, kw_only=True):
    """A skill as it was in one version, with what made the version and why."""

    skill: Skill
    version: int
    change: str
    at: str
    reason: str = ""
    updated_seq: int = 0


class ExposedSkill(Value, frozen=True, kw_only=True):
    """A skill that matched a query, at ``rank`` (from 1) with ``score``; ``shown`` is False where it was withheld."""

    skill_id: str
    version: int
    rank: int
    score: float
    shown: bool = True


class Exposure(Value, frozen=True, kw_only=True):
    """What one query was answered with; ``session`` is the client's, where it told one."""

    id: str
    at: str
    query: str
    project: str = ""
    task_id: str | None = None
    episode_id: str | None = None
    skills: tuple[ExposedSkill, ...] = ()
    session: str = ""


class Trial(Value, frozen=True, kw_only=True):
    """A match of a skill in an episode whose outcome is known: whether the skill was shown there, and how it ended."""

    skill_id: str
    version: int
    shown: bool
    episode_id: str
    at: str
    success: bool
    reward: float
