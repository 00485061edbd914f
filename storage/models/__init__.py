"""The words of the product as immutable values. No I/O; every layer may import this.

Times are ISO 8601 text in UTC with milliseconds and a ``Z`` (``2026-11-29T13:50:01.123Z``), so that they sort as text.
Identifiers are UUIDv7 text unless said otherwise. Unknown is ``None``, never 0.
"""

from __future__ import annotations

from prowess.storage.models.base import ActorKind, Origin, Trust
from prowess.storage.models.episodes import (
    COMMAND_ARGUMENTS,
    Episode,
    EpisodeFilter,
    Evidence,
    Outcome,
    Reward,
    Step,
    Trajectory,
    Where,
    command_line,
    line_of,
    ordered,
)
from prowess.storage.models.memories import Adopted, Memory, Pattern, PatternKind
from prowess.storage.models.skills import (
    ExposedSkill,
    Exposure,
    Parameter,
    Skill,
    SkillStatus,
    SkillStep,
    SkillUse,
    SkillVersion,
    Trial,
)
from prowess.storage.models.stats import Stats
from prowess.storage.models.times import format_time, not_before, parse_time
from prowess.storage.models.writes import (
    Forgot,
    Identified,
    NewReward,
    NewStep,
    NewUse,
    Receipt,
    Scored,
    Tracked,
    Trimmed,
)

__all__ = [
    "COMMAND_ARGUMENTS",
    "ActorKind",
    "Adopted",
    "Episode",
    "EpisodeFilter",
    "Evidence",
    "ExposedSkill",
    "Exposure",
    "Forgot",
    "Identified",
    "Memory",
    "NewReward",
    "NewStep",
    "NewUse",
    "Origin",
    "Outcome",
    "Parameter",
    "Pattern",
    "PatternKind",
    "Receipt",
    "Reward",
    "Scored",
    "Skill",
    "SkillStatus",
    "SkillStep",
    "SkillUse",
    "SkillVersion",
    "Stats",
    "Step",
    "Tracked",
    "Trajectory",
    "Trial",
    "Trimmed",
    "Trust",
    "Where",
    "command_line",
    "format_time",
    "line_of",
    "not_before",
    "ordered",
    "parse_time",
]
