"""What may be asked of an open store; each answer has all that was committed before the question and bears on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from prowess.storage.engine import Engine
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.log.reading import read_later_steps, read_steps
from prowess.storage.log.track import clean_where
from prowess.storage.models import (
    Adopted,
    Episode,
    EpisodeFilter,
    Exposure,
    Memory,
    Pattern,
    Reward,
    Skill,
    SkillStatus,
    SkillUse,
    SkillVersion,
    Stats,
    Step,
    Trajectory,
    Trial,
    Where,
    ordered,
)

if TYPE_CHECKING:
    from prowess.storage.catalog import Catalog
    from prowess.storage.catalog.vectors import Kind

__all__ = ["StoreReads"]

T = TypeVar("T")

# Log reads at once.
READERS = 4
# Episodes read in one go: other readers of the catalog wait that long.
TOGETHER = 50

ANY_EPISODE = EpisodeFilter()


class StoreReads:
    """The reading half of ``Store``. Errors are of ``storage.errors`` only; StoreBusy when a bounded wait ran out.

    ``limit`` is a number of answers, None for all. ``project`` None means any.
    """

    def __init__(self, engine: Engine, cleaner: Cleaner) -> None:
        self._engine = engine
        self._cleaner = cleaner
        self._readers = anyio.CapacityLimiter(READERS)

    async def _ask(self, work: Callable[[], T]) -> T:
        self._engine.check_open()
        await self._engine.projection.reach()
        answer: T = await self._engine.projection.call(work)
        return answer

    async def _search(self, work: Callable[[], T]) -> T:
        """``_ask`` without waiting for what was only noted of earlier searches."""
        self._engine.check_open()
        await self._engine.projection.reach(self._engine.telling)
        answer: T = await self._engine.projection.call(work)
        return answer

    def kept(self, kind: Kind) -> dict[str, Any]:
        """What callers worked out of what is stored of this kind, by id, for the next question.

        Ask for it before reading: once anything is forgotten, there is another one, and it is empty. Who keeps
        something in it keeps it small, and sees whether it is still true.
        """
        return self._engine.kept.setdefault(kind, {})

    def when_forgotten(self, let_go: Callable[[], None]) -> None:
        """Have ``let_go`` called, from any thread, whenever anything was forgotten."""
        self._engine.when_forgotten.append(let_go)

    async def _read_log(self, work: Callable[[], T]) -> T:
        self._engine.check_open()
        return await anyio.to_thread.run_sync(work, limiter=self._readers)

    async def caught_up(self) -> None:
        """Wait until the catalog file has all that was committed, but for what was only noted of earlier searches.

        It is for other processes to read: raises StoreUnavailable where the disk has no room for sharing it.
        """
        self._engine.check_open()
        await self._engine.projection.reach(self._engine.telling)
        if (refused := self._engine.catalog.refused) is not None:
            raise refused.with_traceback(None)

    async def find_episode(self, where: Where) -> Episode | None:
        """The newest attempt at this task in this session, else in any session of the project; None without any.

        An assumed project gives way to that in which the session tracks the task.
        """
        clean = clean_where(where, self._cleaner)
        return await self._search(lambda: self._engine.catalog.find_episode(clean))

    async def episode(self, episode_id: str) -> Episode:
        """The episode with this id. Raises UnknownEpisode."""
        return await self._ask(lambda: self._engine.catalog.episode(episode_id))

    async def episodes(self, wanted: EpisodeFilter = ANY_EPISODE, limit: int | None = None) -> tuple[Episode, ...]:
        """Episodes that fit, newest first."""
        return await self._ask(lambda: self._engine.catalog.episodes(wanted, limit))

    async def newly_scored(self, after: int) -> dict[str, int]:
        """How many scored episodes of each project changed after the event with number ``after``."""
        return await self._ask(lambda: self._engine.catalog.newly_scored(after))

    async def steps(self, episode_id: str) -> tuple[Step, ...]:
        """The steps in order, raw; where those are not here, their summaries. Raises UnknownEpisode."""
        raw = await self._read_log(lambda: read_steps(self._engine.file, episode_id))
        summaries = await self._ask(lambda: self._engine.catalog.summaries(episode_id))
        return _merged(summaries, raw)

    async def later_steps(
        self, where: Where, known: str = "", number: int = 0, again: Collection[int] = ()
    ) -> tuple[str, tuple[Step, ...]] | None:
        """The id of the newest attempt at this task in this very session, and its next raw steps; None without any.

        Of the episode ``known`` those after ``number``, some dozen at once, and those whose numbers are in ``again``:
        what they cost does not grow with the others. Once all were told there are none.
        """
        clean = clean_where(where, self._cleaner)
        return await self._read_log(partial(read_later_steps, self._engine.file, clean, known, number, again))

    async def summaries(self, episode_id: str) -> tuple[Step, ...]:
        """The steps without payloads, by number; none for an unknown episode."""
        return await self._ask(lambda: self._engine.catalog.summaries(episode_id))

    async def trajectories(self, episode_ids: Sequence[str]) -> tuple[Trajectory, ...]:
        """Episodes with their steps, whole or not, in the order asked for. Raises UnknownEpisode."""
        found: list[Trajectory] = []
        for start in range(0, len(episode_ids), TOGETHER):
            found += await self._trajectories(episode_ids[start : start + TOGETHER])
        return tuple(found)

    async def _trajectories(self, ids: Sequence[str]) -> list[Trajectory]:
        catalog, file = self._engine.catalog, self._engine.file
        known = await self._ask(lambda: [(catalog.episode(name), catalog.summaries(name)) for name in ids])
        # Put together in the thread as well: 50 long episodes would hold the event loop for 15 ms.
        return await self._read_log(lambda: [_trajectory(one, told, read_steps(file, one.id)) for one, told in known])

    async def outlines(self, episodes: Sequence[Episode]) -> tuple[tuple[Trajectory, tuple[Reward, ...]], ...]:
        """Each of ``episodes`` with its steps' summaries, in order, and all its scores; no payloads."""
        found: list[tuple[Trajectory, tuple[Reward, ...]]] = []
        for start in range(0, len(episodes), TOGETHER):
            part = episodes[start : start + TOGETHER]
            found += await self._ask(partial(_outlined, self._engine.catalog, part))
        return tuple(found)

    async def rewards(self, episode_id: str) -> tuple[Reward, ...]:
        """All scores of the episode, by time; none for an unknown episode."""
        return await self._ask(lambda: self._engine.catalog.rewards(episode_id))

    async def skills(
        self, *, project: str | None = None, statuses: Collection[SkillStatus] | None = None
    ) -> tuple[Skill, ...]:
        """Skills by name, of any status unless some are named; those for all projects belong to every ``project``."""
        return await self._ask(lambda: self._engine.catalog.skills(project=project, statuses=statuses))

    async def skill(self, id_or_name: str, *, project: str | None = None) -> Skill:
        """A skill by id, else by name: the project's own before one for all projects, a usable one before an archived.

        Raises UnknownSkill, with similar names in the hint.
        """
        return await self._ask(lambda: self._engine.catalog.skill(id_or_name, project=project))

    async def skills_by_id(self, ids: Collection[str]) -> dict[str, Skill]:
        """Those of ``ids`` that exist."""
        return await self._search(lambda: self._engine.catalog.skills_by_id(ids))

    async def versions(self, skill_id: str) -> tuple[SkillVersion, ...]:
        """All versions of a skill, oldest first; none for an unknown one."""
        return await self._ask(lambda: self._engine.catalog.versions(skill_id))

    async def uses(self, skill_id: str | None = None, *, episode_id: str | None = None) -> tuple[SkillUse, ...]:
        """Reported uses in the order in which they were told."""
        return await self._ask(lambda: self._engine.catalog.uses(skill_id, episode_id=episode_id))

    async def patterns(
        self,
        *,
        project: str | None = None,
        kinds: Collection[str] | None = None,
        min_support: int = 0,
        limit: int | None = None,
    ) -> tuple[Pattern, ...]:
        """What the last reflections found in at least ``min_support`` episodes, in their order."""
        ask = partial(self._engine.catalog.patterns, project=project, kinds=kinds, min_support=min_support, limit=limit)
        return await self._ask(ask)

    async def memories(
        self,
        *,
        project: str | None = None,
        kinds: Collection[str] | None = None,
        ids: Collection[str] | None = None,
        limit: int | None = None,
    ) -> tuple[Memory, ...]:
        """Memories, newest first; those for all projects belong to every ``project``."""
        ask = partial(self._engine.catalog.memories, project=project, kinds=kinds, ids=ids, limit=limit)
        return await self._search(ask)

    async def adopted(self) -> tuple[Adopted, ...]:
        """The memory skills and controllers in use, by project."""
        return await self._ask(self._engine.catalog.adopted)

    async def exposures(
        self,
        *,
        ids: Collection[str] | None = None,
        project: str | None = None,
        episode_id: str | None = None,
        skill_id: str | None = None,
        since: str | None = None,
        limit: int | None = None,
    ) -> tuple[Exposure, ...]:
        """What queries were answered with, newest first."""
        ask = partial(
            self._engine.catalog.exposures,
            ids=ids,
            project=project,
            episode_id=episode_id,
            skill_id=skill_id,
            since=since,
            limit=limit,
        )
        return await self._ask(ask)

    async def trials(self, *, project: str | None = None, limit: int) -> tuple[Trial, ...]:
        """Matches, among the newest ``limit`` questions, in episodes whose outcome is known, oldest first.

        Of each skill in each episode the first alone.
        """
        return await self._ask(lambda: self._engine.catalog.trials(project=project, limit=limit))

    async def spent(self, since: str = "", until: str = "~") -> float:
        """US dollars that language models have cost from ``since`` on and before ``until``; by default in all time.

        Times are as the store writes them.
        """
        return await self._ask(lambda: self._engine.catalog.spent(since, until))

    async def stats(self, project: str | None = None) -> Stats:
        """How much the store holds, or of it one project, which owns neither models' costs nor what was forgotten."""
        return await self._ask(lambda: self._engine.catalog.stats(project))

    async def dump(self) -> dict[str, list[dict[str, Any]]]:
        """All that was projected, in a fixed order: equal before and after a rebuild."""
        return await self._ask(self._engine.catalog.dump)


def _outlined(catalog: Catalog, episodes: Sequence[Episode]) -> list[tuple[Trajectory, tuple[Reward, ...]]]:
    return [
        (Trajectory(episode=one, steps=ordered(catalog.summaries(one.id)), whole=False), catalog.rewards(one.id))
        for one in episodes
    ]


def _trajectory(episode: Episode, summaries: Sequence[Step], raw: Sequence[Step]) -> Trajectory:
    whole = {step.number for step in summaries} <= {step.number for step in raw}
    return Trajectory(episode=episode, steps=_merged(summaries, raw), whole=whole)


def _merged(summaries: Sequence[Step], raw: Sequence[Step]) -> tuple[Step, ...]:
    """Raw steps, and summaries of those that are not here, as they happened."""
    return ordered({step.number: step for step in (*summaries, *raw)})
