"""What is learned besides skills: patterns, memories, and what chooses what to remember."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prowess.storage.models.base import Trust, Value

__all__ = ["Adopted", "Memory", "Pattern", "PatternKind"]

PatternKind = Literal["sequence", "decision", "recovery", "context", "failure"]


class Pattern(Value, frozen=True, kw_only=True):
    """A regularity over episodes.

    ``support`` is the number of episodes that show it, ``against`` of those compared with. ``effect`` is the difference
    in mean reward between the two (reward points, shrunk), ``low`` and ``high`` its 95 % interval, ``q_value`` the
    false-discovery-corrected p. ``detail`` has the kind's own fields (``sequence``, ``error``, ``fix``, …).
    """

    id: str
    kind: PatternKind
    statement: str
    support: int
    against: int = 0
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    q_value: float | None = None
    examples: tuple[str, ...] = ()
    project: str = ""
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class Memory(Value, frozen=True, kw_only=True):
    """A short text kept from an episode: a lesson, a fact, a constraint or a warning.

    ``subject`` names what it is about, so that two that say different things of it are found. ``support`` and
    ``against`` count the episodes that bear it out and that speak against it; ``evidence`` has their marks (not their
    ids), each ``+`` or ``-`` and a hash, the newest last. ``superseded_by`` is the memory that took its place: it is
    kept and no longer shown. ``made_by`` are the memory skills that made it; rules and patterns leave it empty.
    """

    id: str
    kind: Literal["lesson", "fact", "constraint", "warning"]
    text: str
    at: str
    project: str = ""
    episode_id: str | None = None
    trust: Trust = "own"
    importance: float = 0.0
    updated_seq: int = 0
    subject: str = ""
    support: int = 1
    against: int = 0
    evidence: tuple[str, ...] = ()
    superseded_by: str | None = None
    made_by: tuple[str, ...] = ()


class Adopted(Value, frozen=True, kw_only=True):
    """The bank of memory skills and the controller in use in ``project``; see ``ControllerAdopted``."""

    project: str
    at: str
    bank: str
    weights: str = ""
    run_id: str = ""
    embedding: str = ""
    reward: float | None = None
    before: float | None = None
    skills: tuple[str, ...] = ()
    reason: str = ""
