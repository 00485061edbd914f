"""Where a call of ``evolve_skills`` works, and what is read of the store there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prowess.storage.errors import Unknown
from prowess.storage.models import Episode, EpisodeFilter, Skill, Trajectory
from prowess.tools.context import Context
from prowess.tools.errors import ToolError
from prowess.tools.text import quote

if TYPE_CHECKING:
    from prowess.storage.models import Pattern

__all__ = ["Scope", "find_patterns", "load_skills", "not_there", "whole_trajectories"]

SOUGHT = 5  # times as many episodes are looked at for whole ones, where other machines keep their steps to themselves
TOGETHER = 250  # episodes read at once


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a call works: the project, and the patterns it shall build on (none: all there is).

    What is made for all projects is made ``without`` the private ones, or it could not be told to other machines.
    """

    project: str
    patterns: tuple[Pattern, ...] = ()
    private: tuple[str, ...] = ()

    @property
    def filter(self) -> str | None:
        return self.project or None

    @property
    def successes(self) -> EpisodeFilter:
        return EpisodeFilter(project=self.filter, without=self.without, outcome="success", trusted=True)

    @property
    def without(self) -> tuple[str, ...]:
        return () if self.project else self.private


async def whole_trajectories(wanted: EpisodeFilter, limit: int, ctx: Context) -> tuple[Trajectory, ...]:
    """The newest ``limit`` episodes that fit and whose steps are here whole, sought among a few times as many."""
    found: list[Trajectory] = []
    episodes: Sequence[Episode] = await ctx.store.episodes(wanted, limit=SOUGHT * limit)
    for start in range(0, len(episodes), TOGETHER):
        part = await ctx.store.trajectories([episode.id for episode in episodes[start : start + TOGETHER]])
        found += [trajectory for trajectory in part if trajectory.whole]
        if len(found) >= limit:
            break
    return tuple(found[:limit])


async def load_skills(scope: Scope, ctx: Context) -> dict[str, Skill]:
    """All skills of the scope, archived ones too, by id."""
    found = await ctx.store.skills(project=scope.filter)
    return {skill.id: skill for skill in found}


async def find_patterns(wanted: Sequence[str], scope: Scope, ctx: Context) -> tuple[Pattern, ...]:
    """Stored patterns by id. Raises ``ToolError`` where one is not stored."""
    stored = {pattern.id: pattern for pattern in await ctx.store.patterns(project=scope.filter)}
    missing = [name for name in wanted if name not in stored]
    if missing:
        hint = "Send ids that reflect returned, or leave patterns out."
        raise not_there(Unknown(f"there is no pattern {quote(missing[0])}", hint=hint))
    return tuple(stored[name] for name in wanted)


def not_there(unknown: Unknown) -> ToolError:
    """The same for an agent; the cause tells a program what kind of failure it is."""
    error = ToolError(str(unknown), hint=unknown.hint)
    error.__cause__ = unknown
    return error
