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
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from prowess.storage import backup as backups
from prowess.storage.engine import Engine
from prowess.storage.events import Event
from prowess.storage.log.append import Append
from prowess.storage.log.cleaning import Cleaner, weight
from prowess.storage.log.codec import GENESIS, Head
from prowess.storage.log.forgotten import forgotten_memories
from prowess.storage.log.identify import Identify
from prowess.storage.log.reading import read_journal, was_answered
from prowess.storage.log.score import ScoreEpisode, check_reward
from prowess.storage.log.targets import Scope
from prowess.storage.log.track import Track, clean_where, first_line, prepare
from prowess.storage.maintenance import (
    drop_backup,
    make_backup,
    reach_backups,
    read_mark,
    run_forget,
    run_trim,
    set_mark,
)
from prowess.storage.models import (
    Forgot,
    Identified,
    NewReward,
    NewStep,
    NewUse,
    Origin,
    Receipt,
    Scored,
    Tracked,
    Trimmed,
    Where,
    format_time,
)
from prowess.storage.owed import owed_in
from prowess.storage.sharing import StoreSharing

__all__ = ["Store"]

T = TypeVar("T")

# Characters that are cleaned on the event loop; masking more would hold it for more than about a millisecond.
INLINE = 8192
# Events verified in one go.
TOGETHER = 500


def _now() -> datetime:
    return datetime.now(UTC)


class Store(StoreSharing):
    """An open store; made by ``Store.open`` only.

    Every method raises errors of ``storage.errors`` only. Writes take ``key``, an idempotency key: the same key within
    a day gets the first answer again, and nothing is stored twice.
    """

    def __init__(self, engine: Engine, cleaner: Cleaner, summarise: Callable[[str], str]) -> None:
        super().__init__(engine, cleaner)
        self.when_forgotten(cleaner.let_go)
        self._summarise = summarise
        self.catalog_path = engine.catalog.path
        self.folder = engine.folder
        self.log_path = engine.file.path

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        folder: Path,
        *,
        redb_path: Path | None = None,
        clock: Callable[[], datetime] = _now,
        mask_many: Callable[[Sequence[str]], Sequence[str]] | None = None,
        mask_fields: Callable[[Any], Any] | None = None,
        summarise: Callable[[str], str] | None = None,
        replace_catalog: bool = False,
        read_only: bool = False,
    ) -> AsyncIterator[Store]:
        """Open the store in ``folder``, creating what is missing.

        ``redb_path`` moves the log (relative: to ``folder``). ``mask_many`` hides secrets in texts before they
        are written, many at once, ``mask_fields`` what stands under a secret's name in a JSON value. ``summarise``
        makes an error's template for the journal (default: its first line). ``replace_catalog`` moves a damaged
        catalog aside and makes a new one. A ``read_only`` store answers what others do, and refuses every change.
        Raises StoreInUse, StoreNewer, StoreDamaged and StoreUnavailable, of which StoreReadOnly.
        """
        engine = await Engine.open(folder, redb_path, clock, replace_catalog, read_only)
        store = cls(engine, Cleaner(mask_many, mask_fields), summarise or first_line)
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

    async def track(
        self,
        where: Where,
        steps: Sequence[NewStep],
        *,
        origin: Origin,
        key: str | None = None,
        late: bool = False,
    ) -> Tracked:
        """Store steps in the open episode that ``where`` means, opening one if need be.

        Steps that come ``late``, from a transcript or a spool, belong to the last attempt even if it was closed.

        A step told before (by number and content, or by ``external_id``) is a duplicate, stored once. Raises
        InvalidInput, and StepConflict where a number holds other content; then nothing of the call was stored.
        """
        command = await self._prepared((where, steps), lambda: self._track(where, steps, origin, key, late))
        answer: Tracked = await self._engine.write(command.run)
        return answer

    def _track(self, where: Where, steps: Sequence[NewStep], origin: Origin, key: str | None, late: bool) -> Track:
        arrival, cleaner = format_time(self._engine.clock()), self._cleaner.ready_for(where, origin, steps)
        origin = cleaner.struct(origin, "origin")
        prepared = [prepare(step, origin, arrival, cleaner, self._summarise) for step in steps]
        return Track(clean_where(where, cleaner), prepared, origin, key, late=late)

    async def identify(self, episode_id: str, steps: Sequence[NewStep], *, origin: Origin) -> Identified:
        """Say that the stored step of each ``number`` is the tool call ``external_id`` of ``origin``'s session.

        Told again, that call is a duplicate then. A stored step keeps what was told and gains what was left out. Where
        the step or the identity is taken or gone, nothing changes. Raises InvalidInput.
        """
        command = await self._prepared(steps, lambda: self._identify(episode_id, steps, origin))
        answer: Identified = await self._engine.write(command.apply)
        return answer

    def _identify(self, episode_id: str, steps: Sequence[NewStep], origin: Origin) -> Identify:
        cleaner = self._cleaner.ready_for(origin, steps)
        return Identify(episode_id, steps, cleaner.struct(origin, "origin"), cleaner)

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
    ) -> ScoreEpisode:
        for reward in rewards:
            check_reward(reward)
        cleaner = self._cleaner.ready_for(where, origin, rewards)
        clean = [cleaner.struct(reward, "reward") for reward in rewards]
        return ScoreEpisode(clean_where(where, cleaner), clean, uses, final, cleaner.struct(origin, "origin"), key)

    async def append(
        self,
        events: Sequence[Event],
        *,
        origin: Origin,
        key: str | None = None,
        mark: tuple[str, int] | None = None,
    ) -> Receipt:
        """Record what was decided: skills, patterns, memories, exposures, model answers.

        ``mark`` is a name and a number that are kept in the same commit (see ``set_mark``), unless a higher one is.
        Raises InvalidInput for other events, which have methods of their own.
        """
        command = await self._prepared(events, lambda: self._append(events, origin, key, mark))
        answer: Receipt = await self._engine.write(command.run)
        return answer

    def _append(self, events: Sequence[Event], origin: Origin, key: str | None, mark: tuple[str, int] | None) -> Append:
        cleaner = self._cleaner.ready_for(events, origin)
        return Append(events, cleaner.struct(origin, "origin"), key, cleaner, mark)

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
        reflections that quote it and machine-made skills drawn from nothing else; skills that stay lose the values they
        were seen with. Returns when the bytes are gone.
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

    async def trim(self, *, days: int | None, max_bytes: int | None, origin: Origin) -> Trimmed:
        """Drop raw steps of episodes not written for ``days``, then the oldest beyond ``max_bytes`` in all.

        Bytes are those of the compressed steps. Summaries, rewards and statistics stay. A clock that leaps ahead makes
        nothing old before it has gone on for a day.
        """
        trimmed: Trimmed = await run_trim(self._engine, days, max_bytes, self._origin(origin))
        return trimmed

    def _origin(self, origin: Origin) -> Origin:
        return self._cleaner.struct(origin, "origin")

    async def _prepared(self, content: Any, build: Callable[[], T]) -> T:
        """Clean and encode here, or in a thread where that takes long."""
        self._engine.check_open()
        if weight(content, INLINE) < INLINE:
            return build()
        return await anyio.to_thread.run_sync(build)

    # Care

    async def rebuild(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Project the whole journal again; ``progress`` gets (events done, events in all). Embeddings are kept."""
        self._engine.check_open()
        await self._engine.projection.restart(progress)

    async def verify(self) -> int:
        """Read the whole journal and check that each event follows from the one before; how many there are.

        Raises StoreDamaged. It takes about as long as reading the file.
        """
        at = Head(0, GENESIS)
        while envelopes := await self._read_log(partial(read_journal, self._engine.file, at, TOGETHER)):
            at = Head(envelopes[-1].seq, envelopes[-1].digest)
        return at.seq

    async def backup(self, target: Path) -> Path:
        """Copy the log into a new folder at ``target`` (inside it, where it exists) while work goes on; its path."""
        return await make_backup(self._engine, target)

    async def backups(self) -> tuple[str, ...]:
        """The backups that were made, wherever they are now; also those that somebody deleted."""
        return await self._read_log(partial(backups.listed_in, self._engine.file))

    async def owed(self) -> tuple[str, ...]:
        """The backups that may hold what was forgotten: they were away then, or the program was ended meanwhile."""
        return await self._read_log(partial(owed_in, self._engine.file))

    async def reach_backups(self, there: Collection[str]) -> int:
        """Erase it in these that are there again; in how many. Raises StoreError where one cannot be changed.

        Other long work waits for it, so a folder on a disk that does not answer must not be among them.
        """
        return await reach_backups(self._engine, there)

    async def drop_backup(self, path: Path) -> None:
        """Delete the backup in the folder ``path``. StoreUnavailable where that fails; it stays listed then."""
        await drop_backup(self._engine, path)

    @property
    def damage(self) -> str:
        """What redb found damaged in the log, and when it is opened anew for that; "" for nothing."""
        file = self._engine.file
        return file.renewals.next_after(file.damage) if file.damage else ""

    @property
    def renewed(self) -> str:
        """How often in the last day the log was opened anew for that, and why; "" for never."""
        return self._engine.file.renewals.told()

    @property
    def head(self) -> int:
        """Number of the last committed event."""
        return self._engine.head

    async def appended(self, key: str) -> bool:
        """Whether events were appended under this idempotency key before."""
        return await self._read_log(partial(was_answered, self._engine.file, Append.operation, key))

    async def tracked(self, key: str) -> bool:
        """Whether steps were tracked under this idempotency key before."""
        return await self._read_log(partial(was_answered, self._engine.file, Track.operation, key))

    async def forgotten_memories(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Those that were forgotten for themselves, and so are not stored again."""
        if not memory_ids:
            return frozenset()
        return await self._read_log(partial(forgotten_memories, self._engine.file, memory_ids))

    async def mark(self, name: str) -> int:
        """The number that a task of ours keeps under ``name``, such as the event up to which it is done; 0 at first."""
        return await self._read_log(partial(read_mark, self._engine, name))

    async def set_mark(self, name: str, number: int) -> None:
        """Keep ``number`` with the journal; it is no event, and changes nothing that is shown."""
        await self._engine.write(partial(set_mark, self._engine, name, number), alone=True)
