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
        self._limiter: anyio.CapacityLimiter | None = None

    async def due(self, runtime: Runtime) -> bool:
        """Whether one of them is there. Raises TimeoutError where a file system does not say."""
        owed = await runtime.store.owed()
        if not owed:
            return False
        # Its own, so that looks that hang take no thread from anybody else.
        self._limiter = self._limiter or anyio.CapacityLimiter(1)
        with anyio.fail_after(LOOK_SECONDS):
            return await anyio.to_thread.run_sync(_any_is_there, owed, abandon_on_cancel=True, limiter=self._limiter)

    async def work(self, runtime: Runtime) -> None:
        """Erase in them what was ever forgotten. Raises StoreError."""
        await runtime.store.reach_backups()


def _any_is_there(owed: tuple[str, ...]) -> bool:
    return any(Path(path, MANIFEST_NAME).is_file() for path in owed)
