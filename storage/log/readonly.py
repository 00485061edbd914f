"""A log that is only looked at, for a disk or a folder that cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redb

from prowess.storage.errors import StoreReadOnly, StoreUnavailable
from prowess.storage.log.batch import View
from prowess.storage.log.file import LogFile
from prowess.storage.log.tables import SCHEMA

__all__ = ["ReadOnlyLog"]

_HINT_COPY = "copy the store's folder to where you may write, and name the copy with --store"


class ReadOnlyLog(LogFile):
    """Changes no byte and makes no file. Others may read it too; who writes to it keeps it out (StoreInUse).

    Raises StoreUnavailable for a log that would have to be changed first, and StoreReadOnly where it is to be written.
    """

    read_only = True

    def __init__(self, path: Path) -> None:
        super().__init__(path, "")

    def _begin(self, created: str) -> None:
        self._open()

    def _connect(self) -> Any:
        try:
            return redb.ReadOnlyDatabase.open(self.path)
        except redb.RepairAborted as error:
            raise StoreUnavailable(
                f"{self.path} was not closed properly, and what is read-only cannot be repaired", hint=_HINT_COPY
            ) from error

    def _claim(self, database: Any, schema: int) -> None:
        if schema < SCHEMA:
            raise StoreUnavailable(
                f"{self.path} is of an older version, and what is read-only cannot be upgraded", hint=_HINT_COPY
            )

    @contextmanager
    def write(self) -> Iterator[Any]:
        """Raises StoreReadOnly."""
        raise StoreReadOnly(f"the store is read-only: {self.path}")
        yield

    def rewrite(self, change: Callable[[View], None]) -> None:
        """Raises StoreReadOnly."""
        raise StoreReadOnly(f"the store is read-only: {self.path}")
