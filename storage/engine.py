"""Log, writer, catalog and projection of one open store, and how they start and end together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from prowess.storage import backup
from prowess.storage.catalog import CATALOG_NAME, Catalog
from prowess.storage.errors import StoreBusy, StoreClosed, StoreDamaged, StoreReadOnly, StoreUnavailable
from prowess.storage.events import Envelope, Forgotten, MemoryDeleted
from prowess.storage.log.batch import View
from prowess.storage.log.command import Job
from prowess.storage.log.failures import translated
from prowess.storage.log.file import LogFile, read_meta, write_meta
from prowess.storage.log.readonly import ReadOnlyLog
from prowess.storage.log.writer import Writer
from prowess.storage.models import format_time
from prowess.storage.owed import owe
from prowess.storage.projection import Projection, patient
from prowess.storage.readonly import copied_catalog, drop_copy
from prowess.storage.upcast import decode_event, unwrapped

if TYPE_CHECKING:
    from prowess.storage.catalog import VectorIndex

__all__ = ["CATALOG_NAME", "Engine"]

# Writes waiting at once; the next one waits outside, and gives up after QUEUE_WAIT_S.
QUEUE = 1024
QUEUE_WAIT_S = 30.0
# What is queued at the end gets this long to reach the disk.
CLOSE_WAIT_S = 30.0
# Clocks are corrected by less; one that goes back further was wrong before.
SET_BACK = timedelta(hours=1)


def _steady(clock: Callable[[], datetime]) -> Callable[[], datetime]:
    """``clock``, standing still where it was set back a little, so that steps stay in the order in which they came."""
    latest: datetime | None = None

    def now() -> datetime:
        nonlocal latest
        told, known = clock(), latest
        if known is not None and timedelta() < known - told < SET_BACK:
            return known
        latest = told
        return told

    return now


def _open_log(folder: Path, redb_path: Path | None, clock: Callable[[], datetime], read_only: bool) -> LogFile:
    with translated(folder):
        path = backup.log_path(folder, redb_path)
        if read_only:
            return ReadOnlyLog(path)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = LogFile(path, format_time(clock()))
    try:
        with suppress(StoreUnavailable):
            backup.recover(file)
        with file.read() as view:
            unfinished = read_meta(view, "scrub")
        if unfinished:
            # The program ended before all was wiped. A disk without room for it must not keep the store shut.
            with suppress(StoreUnavailable):
                _finish_forgetting(file)
    except BaseException:
        file.close()
        raise
    return file


def _finish_forgetting(file: LogFile) -> None:
    """Rewrite the log. Its backups take as long each, and so are left to whoever reaches those that were away."""
    file.rewrite(lambda view: None)
    with file.write() as transaction:
        scrubbed(View(transaction), backup.listed_in(file))


def scrubbed(view: View, missed: Collection[str]) -> None:
    """Neither the file nor any backup but perhaps the ``missed`` ones has bytes of erased payloads any more."""
    write_meta(view, "scrub", False)
    owe(view, missed)


def _open_catalog(folder: Path, replace: bool, clock: Callable[[], datetime]) -> Catalog:
    with translated(folder):
        # Absolute, since the program may change its working directory.
        path = folder.expanduser().absolute() / CATALOG_NAME
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        return _private(_readable(path))
    except StoreDamaged:
        if not replace:
            raise
    with translated(path):
        aside = path.with_name(f"{path.name}.damaged-{clock():%Y%m%dT%H%M%S}")
        path.replace(aside)
        for leftover in ("-wal", "-shm"):
            path.with_name(path.name + leftover).unlink(missing_ok=True)
    return _private(Catalog(path))


def _readable(path: Path) -> Catalog:
    if path.exists() and not path.is_file():
        raise StoreDamaged(f"{path} is no ordinary file", hint="`prowess rebuild` moves it aside, and makes a catalog")
    if path.exists():  # before it is opened: a connection made to what could not be written stays so
        with translated(path):
            path.chmod(0o600)
    catalog = Catalog(path)
    try:
        catalog.cursor()
    except BaseException:
        catalog.close()
        raise
    return catalog


def _private(catalog: Catalog) -> Catalog:
    with translated(catalog.path):
        catalog.path.chmod(0o600)
    return catalog


class Engine:
    """Opened by ``Engine.open``, run by the store's task group, ended by ``close``."""

    def __init__(self, folder: Path, file: LogFile, catalog: Catalog, clock: Callable[[], datetime]) -> None:
        self.folder = folder.expanduser().absolute()
        self.file = file
        self.catalog = catalog
        self.clock = clock = _steady(clock)
        # Held by long work on the whole log, so that a backup never keeps an exchange of the file waiting.
        self.care = anyio.Lock()
        self.indexes: dict[tuple[str, str], VectorIndex | None] = {}
        self.kept: dict[str, dict[str, Any]] = {}  # new whenever anything is forgotten
        self.when_forgotten: list[Callable[[], None]] = []
        self._loop = asyncio.get_running_loop()
        self._slots = anyio.Semaphore(QUEUE, fast_acquire=True)
        self._closed = False
        self._told: deque[anyio.Event] = deque()
        self._writer = Writer(file, clock, self._committed)
        self.projection = Projection(file, catalog, lambda: self.head, self._drop)

    @classmethod
    async def open(
        cls,
        folder: Path,
        redb_path: Path | None,
        clock: Callable[[], datetime],
        replace_catalog: bool,
        read_only: bool,
    ) -> Engine:
        """Open or create both files; where they are ``read_only`` the catalog is a copy, see ``copied_catalog``.

        Every StoreError of opening.
        """
        file = await anyio.to_thread.run_sync(_open_log, folder, redb_path, clock, read_only)
        catalog: Catalog | None = None
        place = folder
        try:
            if read_only:
                place = await anyio.to_thread.run_sync(copied_catalog, folder)
            replace = replace_catalog or read_only
            catalog = await patient(partial(anyio.to_thread.run_sync, _open_catalog, place, replace, clock))
            engine = cls(folder, file, catalog, clock)
            await engine.projection.start()
            await anyio.to_thread.run_sync(engine._writer.start)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_close, file, catalog)
                if place != folder:
                    await anyio.to_thread.run_sync(drop_copy, place)
            raise
        return engine

    @property
    def head(self) -> int:
        """Number of the last committed event."""
        return self._writer.head.seq

    @property
    def telling(self) -> int:
        """Number of an event after which none changes what a search finds."""
        return self._writer.telling

    def check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed", hint="open it again")

    def _committed(self) -> None:
        # One wake-up of the loop for all of a commit: after each one the writer may have to wait for the GIL.
        with suppress(RuntimeError):  # the loop may have ended before the last commit
            self._loop.call_soon_threadsafe(self._announce)

    def _announce(self) -> None:
        while self._told:
            self._slots.release()
            self._told.popleft().set()
        self.projection.notify()

    def _drop(self, envelopes: Sequence[Envelope]) -> None:
        """In the catalog's thread: let go of what is remembered of things that are gone."""
        for envelope in map(unwrapped, envelopes):
            if envelope.type not in ("memory.deleted", "payloads.forgotten") or envelope.data is None:
                continue
            event = decode_event(envelope)
            if isinstance(event, Forgotten):
                self.kept = {}
                for let_go in self.when_forgotten:
                    let_go()
            for (kind, _), index in self.indexes.items():
                if index is not None:
                    _delete(index, self._dropped(event, kind))

    def _dropped(self, event: object, kind: str) -> Collection[str]:
        if isinstance(event, MemoryDeleted):
            return (event.memory_id,) if kind == "memory" else ()
        assert isinstance(event, Forgotten)
        if kind == "memory":  # unless it was found anew since
            return {*event.memory_ids} - self.catalog.projects_of({"memories": event.memory_ids}).keys()
        return {"episode": event.episode_ids, "skill": event.skill_ids}[kind]

    async def write(self, work: Callable[..., Any], *, alone: bool = False) -> Any:
        """Queue ``work`` and wait for its commit. It is committed even if the caller is cancelled meanwhile."""
        self.check_open()
        if self.file.read_only:
            raise StoreReadOnly(f"the store is read-only: {self.folder}")
        with anyio.move_on_after(QUEUE_WAIT_S) as patience:
            await self._slots.acquire()
        if patience.cancelled_caught:
            raise StoreBusy(f"{QUEUE} writes are waiting for the disk", hint="try again with the same key")
        done = anyio.Event()
        job = Job(work, partial(self._told.append, done), alone=alone)
        try:
            self.check_open()
        except StoreClosed:
            self._slots.release()
            raise
        self._writer.submit(job)
        await done.wait()
        return job.result()

    def refresh(self) -> None:
        """In the writer's thread, after a commit that went around the queue."""
        self._writer.refresh()

    async def close(self) -> None:
        """Commit what is queued, within a bound, and let go of both files. StoreBusy if the disk did not keep up."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            self._writer.stop()
            done = await anyio.to_thread.run_sync(self._writer.join, CLOSE_WAIT_S)
            await self.projection.end()
            if self.file.read_only:
                await anyio.to_thread.run_sync(drop_copy, self.catalog.path.parent)
            if not done:
                raise StoreBusy("the last writes are not on disk", hint="check the disk and repeat them")


def _close(file: LogFile, catalog: Catalog | None) -> None:
    if catalog is not None:
        catalog.close()
    file.close()


def _delete(index: VectorIndex, keys: Collection[str]) -> None:
    for key in keys:
        index.delete(key)
