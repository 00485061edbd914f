"""Backups that the server makes by itself, in ``backups/scheduled`` of the store's folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from prowess.storage.errors import StoreUnavailable
from prowess.storage.manifest import MANIFEST_NAME, Manifest
from prowess.storage.models import parse_time
from prowess.storage.ordinary import read_ordinary

if TYPE_CHECKING:
    from prowess.server.runtime import Runtime
    from prowess.storage.store import Store

__all__ = ["Backups", "folder_of"]

SPARE = 3  # times the log's size that must be free: for the copy, and for work to go on after it


def _now() -> datetime:
    return datetime.now(UTC)


def folder_of(home: Path) -> Path:
    """Where they are kept."""
    return home.absolute() / "backups" / "scheduled"


class Backups:
    """A backup when something changed and the last one is old; the oldest beyond the number to keep are deleted."""

    name = "backup"

    def __init__(self, clock: Callable[[], datetime] = _now) -> None:
        self._clock = clock
        self._last: Manifest | None = None

    async def due(self, runtime: Runtime) -> bool:
        """Whether the newest one misses something and is older than the settings allow."""
        hours, store = runtime.settings.backup_hours, runtime.store
        if not hours or not store.head:
            return False
        now = self._clock()
        if self._last is None or parse_time(self._last.created) > now:
            self._last = await anyio.to_thread.run_sync(_newest, folder_of(runtime.settings.home), now)
        last = self._last
        if last is None:
            return True
        return last.seq != store.head and now - parse_time(last.created) >= timedelta(hours=hours)

    async def work(self, runtime: Runtime) -> None:
        """Copy the log, then drop old copies. Raises StoreError."""
        folder, store = folder_of(runtime.settings.home), runtime.store
        await anyio.to_thread.run_sync(_prepare, folder, store.log_path)
        made = await store.backup(folder)
        self._last = None
        for path in (await _all(store, folder, made))[: -runtime.settings.backup_keep]:
            await store.drop_backup(path)


def _prepare(folder: Path, log: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for leftover in folder.glob(".prowess-*.part"):  # of a server that was killed; there is one server per store
            shutil.rmtree(leftover, ignore_errors=True)
        free, needed = shutil.disk_usage(folder).free, SPARE * log.stat().st_size
    except OSError as error:
        raise StoreUnavailable(f"{folder}: {error.strerror or error}", hint="see that it can be written to") from error
    if free < needed:
        raise StoreUnavailable(
            f"{free // 1_000_000} MB are free on the disk, and a backup is made from {needed // 1_000_000} MB on",
            hint="make room, or set backup_hours to 0",
        )


async def _all(store: Store, folder: Path, made: Path) -> list[Path]:
    """Oldest first, ``made`` last: those on disk, and before them those that are listed and gone, to be unlisted.

    One that says it is newer than ``made`` was made while the clock was ahead.
    """
    listed = {Path(path) for path in await store.backups()}
    here = await anyio.to_thread.run_sync(lambda: set(folder.glob("prowess-*")))
    found = {path for path in listed if path.parent == folder} | here
    return sorted(found, key=lambda path: (path in here, path.name <= made.name, path.name))


def _newest(folder: Path, now: datetime) -> Manifest | None:
    """The manifest of the last backup that was not made in the future, as by a clock that has been put right since."""
    found = [manifest for path in folder.glob(f"prowess-*/{MANIFEST_NAME}") if (manifest := _read(path))]
    past = [manifest for manifest in found if parse_time(manifest.created) <= now]
    return max(past, key=lambda manifest: manifest.created, default=None)


def _read(path: Path) -> Manifest | None:
    try:
        manifest = msgspec.json.decode(read_ordinary(path), type=Manifest)
        parse_time(manifest.created)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return manifest
