"""How much there is."""

from __future__ import annotations

import msgspec

from prowess.storage.models.base import Value

__all__ = ["Stats"]


class Stats(Value, frozen=True, kw_only=True):
    """How much the store holds. ``skills`` counts by status, ``outcomes`` the episodes by outcome.

    ``cost_usd`` is what language models have cost in all, in US dollars.
    """

    episodes: int = 0
    steps: int = 0
    rewards: int = 0
    scored: int = 0
    patterns: int = 0
    memories: int = 0
    uses: int = 0
    exposures: int = 0
    forgotten: int = 0
    model_calls: int = 0
    cost_usd: float = 0.0
    skills: dict[str, int] = msgspec.field(default_factory=dict)
    outcomes: dict[str, int] = msgspec.field(default_factory=dict)
    projects: tuple[str, ...] = ()
    last_at: str | None = None
