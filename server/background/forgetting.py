"""Forgetting in backups that were away when something was forgotten, as on a disk that was not plugged in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from prowess.storage.manifest import MANIFEST_NAME

if TYPE_CHECKING:
    from prowess.server.runtime import Runtime

__all__ = ["Forgetting"]

LOOK_SECONDS = 5.0  # a file system that hangs must not keep the other chores waiting


class Forgetting:
    """Goes through those that are there again. Whoever forgets goes through all, and this is for nobody's asking."""

    name = "forgetting in backups"

    def __init__(self) -> None:
        self._there: list[str] = []
        self._looking: set[str] = set()

    async def due(self, runtime: Runtime) -> bool:
        """Whether one of them is there."""
        self._there = [path for path in await runtime.store.owed() if await self._is_there(path)]
        return bool(self._there)

    async def work(self, runtime: Runtime) -> None:
        """Erase in them what was ever forgotten. Raises StoreError."""
        await runtime.store.reach_backups(self._there)

    async def _is_there(self, path: str) -> bool:
        if path in self._looking:  # for ever, perhaps: one thread is enough for that
            return False
        with anyio.move_on_after(LOOK_SECONDS):
            return await anyio.to_thread.run_sync(self._look, path, abandon_on_cancel=True)
        return False

    def _look(self, path: str) -> bool:
        self._looking.add(path)
        try:
            return Path(path, MANIFEST_NAME).is_file()
        except OSError:  # a disk that is there and does not work
            return False
        finally:
            self._looking.remove(path)
