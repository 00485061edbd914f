"""What is to be stored, and what became of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prowess.storage.models.base import Value
from prowess.storage.models.episodes import Evidence, Outcome, Reward

__all__ = ["Forgot", "Identified", "NewReward", "NewStep", "NewUse", "Receipt", "Scored", "Tracked", "Trimmed"]


class NewStep(Value, frozen=True, kw_only=True):
    """A step to be stored. Without ``number`` it gets the next free one, without ``at`` the time of arrival."""

    action: str
    number: int | None = None
    at: str | None = None
    tool: str | None = None
    args: dict[str, Any] | None = None
    context: str | None = None
    observation: str | None = None
    error: str | None = None
    outcome: Outcome = "unknown"
    duration_ms: float | None = None
    external_id: str | None = None


class NewUse(Value, frozen=True, kw_only=True):
    """A skill's use to be counted with a reward."""

    skill_id: str
    version: int
    success: bool


class NewReward(Value, frozen=True, kw_only=True):
    """One score to be stored; see ``Reward``."""

    value: float | None
    source: Evidence = "agent"
    step: int | None = None
    label: str | None = None
    reason: str = ""
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)


class Receipt(Value, frozen=True, kw_only=True):
    """The write is on disk; ``seq`` is the journal's head after it."""

    seq: int
    receipt: Literal["committed"] = "committed"


class Tracked(Receipt, frozen=True, kw_only=True):
    """What became of tracked steps: ``numbers`` in the order given, ``duplicates`` those that were stored before."""

    episode_id: str
    numbers: tuple[int, ...]
    duplicates: tuple[int, ...] = ()
    opened: bool = False


class Identified(Receipt, frozen=True, kw_only=True):
    """``numbers`` are those of the steps that were given an identity."""

    numbers: tuple[int, ...] = ()


class Scored(Receipt, frozen=True, kw_only=True):
    """The episode's combined reward after a score; ``rewards`` the latest of each source for the episode as a whole.

    Not those of its steps: the answer is kept as long as the key, and a long episode has thousands.
    """

    episode_id: str
    reward: float | None
    outcome: Outcome
    rewards: tuple[Reward, ...] = ()
    closed: bool = False


class Forgot(Receipt, frozen=True, kw_only=True):
    """How much was erased; ``unreachable`` names backups that could not be, and damaged catalogs set aside."""

    episodes: int = 0
    skills: int = 0
    memories: int = 0
    exposures: int = 0
    reflections: int = 0
    backups: int = 0
    unreachable: tuple[str, ...] = ()


class Trimmed(Receipt, frozen=True, kw_only=True):
    """What retention dropped: raw steps and their bytes, of so many episodes."""

    episodes: int = 0
    steps: int = 0
    bytes: int = 0
