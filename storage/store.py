"""The one way into the store: asynchronous, safe for any number of tasks of one process.

Writes are queued to the log's thread and answered once they are on disk. Reads wait until the catalog has all that was
committed when they began. Nothing here blocks the event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from prowess.storage import backup as backups
from prowess.storage.engine import CATALOG_NAME, Engine
from prowess.storage.events import Event
from prowess.storage.log.append import Append
from prowess.storage.log.cleaning import Cleaner, weight
from prowess.storage.log.erasure import Scope
from prowess.storage.log.reading import read_steps
from prowess.storage.log.score import Score, check_reward
from prowess.storage.log.track import Track, clean_where, first_line, prepare
from prowess.storage.maintenance import make_backup, run_forget, run_trim
from prowess.storage.models import (
    Episode,
    EpisodeFilter,
    Exposure,
    Forgot,
    Memory,
    NewReward,
    NewStep,
    NewUse,
    Origin,
    Pattern,
    Receipt,
    Reward,
    Scored,
    Skill,
    SkillStatus,
    SkillUse,
    SkillVersion,
    Stats,
    Step,
    Tracked,
    Trajectory,
    Trimmed,
    Where,
    format_time,
    ordered,
)

if TYPE_CHECKING:
    from prowess.storage.catalog.index import Matrix
    from prowess.storage.catalog.vectors import Kind

__all__ = ["Store"]

T = TypeVar("T")

# Characters that are cleaned on the event loop; masking more would hold it for more than about a millisecond.
INLINE = 8192
# Log reads at once.
READERS = 4

ANY_EPISODE = EpisodeFilter()


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """An open store; made by ``Store.open`` only.

    Every method raises errors of ``storage.errors`` only. Writes take ``key``, an idempotency key: the same key within
    a day gets the first answer again, and nothing is stored twice.
    """

    def __init__(self, engine: Engine, folder: Path, cleaner: Cleaner, summarise: Callable[[str], str]) -> None:
        self._engine = engine
        self._cleaner = cleaner
        self._summarise = summarise
        self._readers = anyio.CapacityLimiter(READERS)
        self._model = ""
        self.folder = folder
        self.catalog_path = folder / CATALOG_NAME
        self.log_path = engine.file.path

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        folder: Path,
        *,
        redb_path: Path | None = None,
        clock: Callable[[], datetime] = _now,
        mask: Callable[[str], str] | None = None,
        summarise: Callable[[str], str] | None = None,
        replace_catalog: bool = False,
    ) -> AsyncIterator[Store]:
        """Open the store in ``folder``, creating what is missing.

        ``redb_path`` moves the log (relative: to ``folder``). ``mask`` hides secrets in every text before it is
        written; ``summarise`` makes an error's template for the journal (default: its first line). ``replace_catalog``
        moves a damaged catalog aside and makes a new one. Raises StoreInUse, StoreNewer, StoreDamaged and
        StoreUnavailable.
        """
        engine = await Engine.open(folder, redb_path, clock, replace_catalog)
        store = cls(engine, folder, Cleaner(mask), summarise or first_line)
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.projection.run)
            try:
                yield store
            except Exception as error:
                # Kept out of the task group, which would wrap it.
                failure = error
            finally:
                try:
                    await engine.close()
                except Exception as error:
                    failure = failure or error
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    # Writes

    async def track(self, where: Where, steps: Sequence[NewStep], *, origin: Origin, key: str | None = None) -> Tracked:
        """Store steps in the open episode that ``where`` means, opening one if need be.

        A step told before (by number and content, or by ``external_id``) is a duplicate, stored once. Raises
        InvalidInput, and StepConflict where a number holds other content; then nothing of the call was stored.
        """
        command = await self._prepared((where, steps), lambda: self._track(where, steps, origin, key))
        answer: Tracked = await self._engine.write(command.run)
        return answer

    def _track(self, where: Where, steps: Sequence[NewStep], origin: Origin, key: str | None) -> Track:
        arrival, origin = format_time(self._engine.clock()), self._origin(origin)
        clean = clean_where(where, self._cleaner)
        prepared = [prepare(step, origin, arrival, self._cleaner, self._summarise) for step in steps]
        return Track(clean, prepared, origin, key)

    async def score(
        self,
        where: Where,
        rewards: Sequence[NewReward],
        *,
        uses: Sequence[NewUse] = (),
        final: bool = False,
        origin: Origin,
        key: str | None = None,
    ) -> Scored:
        """Add rewards and skill uses to an episode, and close it if ``final``; all in one commit.

        Raises InvalidInput (a reward beyond [-10, 10], a step that is not there) and UnknownEpisode.
        """
        command = await self._prepared((where, rewards), lambda: self._score(where, rewards, uses, final, origin, key))
        answer: Scored = await self._engine.write(command.run)
        return answer

    def _score(
        self,
        where: Where,
        rewards: Sequence[NewReward],
        uses: Sequence[NewUse],
        final: bool,
        origin: Origin,
        key: str | None,
    ) -> Score:
        for reward in rewards:
            check_reward(reward)
        clean = [self._cleaner.struct(reward, "reward") for reward in rewards]
        return Score(clean_where(where, self._cleaner), clean, uses, final, self._origin(origin), key)

    async def append(self, events: Sequence[Event], *, origin: Origin, key: str | None = None) -> Receipt:
        """Record what was decided: skills, patterns, memories, exposures, model answers. InvalidInput for others."""
        build = partial(Append, events, self._origin(origin), key, self._cleaner)
        command = await self._prepared(events, build)
        answer: Receipt = await self._engine.write(command.run)
        return answer

    async def forget(
        self,
        *,
        episode_ids: Collection[str] = (),
        skill_ids: Collection[str] = (),
        memory_ids: Collection[str] = (),
        task_id: str | None = None,
        project: str | None = None,
        before: datetime | None = None,
        reason: str = "",
        origin: Origin,
    ) -> Forgot:
        """Erase the named, and everything that fits all filters given, from log, catalog and listed backups.

        Gone are payloads, not the fact that something was there. With an episode go its memories and exposures, the
        reflections that quote it and machine-made skills drawn from nothing else. Returns when the bytes are gone.
        """
        scope = Scope(
            episode_ids=tuple(episode_ids),
            skill_ids=tuple(skill_ids),
            memory_ids=tuple(memory_ids),
            task_id=None if task_id is None else self._cleaner.text(task_id, "task_id"),
            project=None if project is None else self._cleaner.text(project, "project"),
            before=None if before is None else format_time(before),
        )
        reason = self._cleaner.text(reason, "reason")
        forgot: Forgot = await run_forget(self._engine, scope, reason, self._origin(origin))
        await self._engine.projection.reach()
        return forgot

    async def trim(self, *, older_than: datetime | None, max_bytes: int | None, origin: Origin) -> Trimmed:
        """Drop raw steps of episodes not written since ``older_than``, then the oldest beyond ``max_bytes`` in all.

        Bytes are those of the compressed steps. Summaries, rewards and statistics stay.
        """
        trimmed: Trimmed = await run_trim(self._engine, older_than, max_bytes, self._origin(origin))
        return trimmed

    def _origin(self, origin: Origin) -> Origin:
        return self._cleaner.struct(origin, "origin")

    async def _prepared(self, content: Any, build: Callable[[], T]) -> T:
        """Clean and encode here, or in a thread where that takes long."""
        self._engine.check_open()
        if weight(content, INLINE) < INLINE:
            return build()
        return await anyio.to_thread.run_sync(build)

    # Reads

    async def _ask(self, work: Callable[[], T]) -> T:
        self._engine.check_open()
        await self._engine.projection.reach()
        answer: T = await self._engine.projection.call(work)
        return answer

    async def _read_log(self, work: Callable[[], T]) -> T:
        self._engine.check_open()
        return await anyio.to_thread.run_sync(work, limiter=self._readers)

    async def find_episode(self, where: Where) -> Episode | None:
        """The newest attempt at this task in this session, else in any session of the project."""
        clean = clean_where(where, self._cleaner)
        return await self._ask(lambda: self._engine.catalog.find_episode(clean))

    async def near_tasks(self, task_id: str, project: str = "", limit: int = 3) -> list[str]:
        """Recent task ids of the project that look like ``task_id``, nearest first."""
        return await self._ask(lambda: self._engine.catalog.near_tasks(task_id, project, limit))

    async def episode(self, episode_id: str) -> Episode:
        """Raises UnknownEpisode."""
        return await self._ask(lambda: self._engine.catalog.episode(episode_id))

    async def episodes(self, wanted: EpisodeFilter = ANY_EPISODE, limit: int | None = None) -> tuple[Episode, ...]:
        """Episodes that fit, newest first."""
        return await self._ask(lambda: self._engine.catalog.episodes(wanted, limit))

    async def steps(self, episode_id: str) -> tuple[Step, ...]:
        """The steps in order, raw; where retention dropped those, their summaries. Raises UnknownEpisode."""
        raw = await self._read_log(lambda: read_steps(self._engine.file, episode_id))
        summaries = await self._ask(lambda: self._engine.catalog.summaries(episode_id))
        return ordered({step.number: step for step in (*summaries, *raw)})

    async def summaries(self, episode_id: str) -> tuple[Step, ...]:
        """The steps without payloads, by number."""
        return await self._ask(lambda: self._engine.catalog.summaries(episode_id))

    async def trajectories(self, episode_ids: Sequence[str]) -> tuple[Trajectory, ...]:
        """Episodes with their steps, in the order asked for. Raises UnknownEpisode."""
        found = []
        for episode_id in episode_ids:
            steps = await self.steps(episode_id)
            found.append(Trajectory(episode=await self.episode(episode_id), steps=steps))
        return tuple(found)

    async def rewards(self, episode_id: str) -> tuple[Reward, ...]:
        """All scores of the episode, by time."""
        return await self._ask(lambda: self._engine.catalog.rewards(episode_id))

    async def skills(
        self, *, project: str | None = None, statuses: Collection[SkillStatus] | None = None
    ) -> tuple[Skill, ...]:
        """Skills by name; those for all projects belong to every ``project``."""
        return await self._ask(lambda: self._engine.catalog.skills(project=project, statuses=statuses))

    async def skill(self, id_or_name: str, *, project: str | None = None) -> Skill:
        """Raises UnknownSkill."""
        return await self._ask(lambda: self._engine.catalog.skill(id_or_name, project=project))

    async def skills_by_id(self, ids: Collection[str]) -> dict[str, Skill]:
        """Those of ``ids`` that exist."""
        return await self._ask(lambda: self._engine.catalog.skills_by_id(ids))

    async def versions(self, skill_id: str) -> tuple[SkillVersion, ...]:
        """All versions of a skill, oldest first."""
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
        """What the last reflections found, in their order."""
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
        return await self._ask(ask)

    async def exposures(self, **wanted: Any) -> tuple[Exposure, ...]:
        """What queries were answered with, newest first; filters as in ``Catalog.exposures``."""
        return await self._ask(partial(self._engine.catalog.exposures, **wanted))

    async def spent(self, since: str = "") -> float:
        """US dollars that language models have cost since the time ``since``."""
        return await self._ask(lambda: self._engine.catalog.spent(since))

    async def stats(self) -> Stats:
        """How much the store holds."""
        return await self._ask(self._engine.catalog.stats)

    async def dump(self) -> dict[str, list[dict[str, Any]]]:
        """All that was projected, in a fixed order: equal before and after a rebuild."""
        return await self._ask(self._engine.catalog.dump)

    # Search

    async def lexical(
        self, kind: Kind, query: str, *, limit: int, project: str | None = None
    ) -> list[tuple[str, float]]:
        """(id, score) of what shares words with ``query``, best first; higher is better."""
        return await self._ask(lambda: self._engine.catalog.lexical(kind, query, limit, project))

    async def dense(
        self, kind: Kind, vector: Matrix, *, limit: int, project: str | None = None, model: str | None = None
    ) -> list[tuple[str, float]]:
        """(id, cosine) of the nearest to ``vector`` (dim,), best first.

        Searched are the vectors of ``model`` (default: the one last asked for or saved); none where it has none.
        """
        index_of = partial(self._index, kind, model or self._model)

        def search() -> list[tuple[str, float]]:
            index = index_of()
            return [] if index is None or index.dim != vector.size else index.search(vector, limit, project=project)

        return await self._ask(search)

    def _index(self, kind: Kind, model: str) -> Any:
        """In the catalog's thread: the vectors of ``model``, loaded once."""
        indexes = self._engine.indexes
        if indexes.get((kind, model)) is None:
            indexes[kind, model] = self._engine.catalog.load_index(kind, model)
        return indexes[kind, model]

    async def unembedded(self, kind: Kind, model: str, limit: int) -> list[tuple[str, str]]:
        """(id, text) of the newest texts that have no vector of ``model`` yet."""
        self._model = model
        return await self._ask(lambda: self._engine.catalog.unembedded(kind, model, limit))

    async def save_embeddings(
        self, kind: Kind, model: str, ids: Sequence[str], matrix: Matrix, texts: Sequence[str] | None = None
    ) -> None:
        """Keep the rows of ``matrix`` (len(ids), dim) float32 as the vectors of those ``ids`` that still exist."""
        self._model = model

        def save() -> None:
            catalog = self._engine.catalog
            index = self._engine.indexes.get((kind, model))
            saved = set(catalog.save_embeddings(kind, model, ids, matrix, texts))
            if index is not None and saved:
                rows = [row for row, key in enumerate(ids) if key in saved]
                kept = [ids[row] for row in rows]
                index.upsert(kept, matrix[rows], [catalog.project_of(kind, key) for key in kept])

        await self._ask(save)

    # Care

    async def rebuild(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Project the whole journal again; ``progress`` gets (events done, events in all). Embeddings are kept."""
        self._engine.check_open()
        await self._engine.projection.restart(progress)

    async def backup(self, target: Path) -> Path:
        """Copy the log into a new folder at ``target`` (inside it, where it exists) while work goes on; its path."""
        return await make_backup(self._engine, target)

    async def backups(self) -> tuple[str, ...]:
        """The backups that were made, wherever they are now."""
        return await self._read_log(partial(backups.listed_in, self._engine.file))
