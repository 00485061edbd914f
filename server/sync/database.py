"""Transactions on the remote database, whether it is a server or a file that several machines reach."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from prowess.server.sync.address import Address
from prowess.server.sync.errors import RemoteAway, RemoteFailed, RemoteGarbage
from prowess.server.sync.hrana import Hrana, Row, Statement
from prowess.storage.catalog.adapter import Connection
from prowess.storage.errors import StoreBusy, StoreDamaged, StoreDefect, StoreError, StoreUnavailable

__all__ = ["Database", "open_database"]

BUSY_SECONDS = 30.0  # for another machine to end its transaction on a file
RETRY_SECONDS = 0.1
_MADE_ANEW = "move it away and let `prowess sync reset` make it anew, or name another file as turso_url"
_IS_IT_THERE = "see that its disk is mounted; `prowess sync reset` lets it be made anew"


class Database(Protocol):
    """Both raise ``RemoteError`` of every kind."""

    async def batch(self, statements: Sequence[Statement], *, write: bool = True) -> list[list[Row]]:
        """The rows of each statement; they are one transaction."""
        ...


class _File:
    """A database in a file, as on a shared disk. One that was there is not made again: its disk is away."""

    def __init__(self, path: Path, *, made: bool) -> None:
        self._path = path
        self._made = made

    async def batch(self, statements: Sequence[Statement], *, write: bool = True) -> list[list[Row]]:
        with anyio.move_on_after(BUSY_SECONDS):
            while True:
                try:
                    return await anyio.to_thread.run_sync(self._batch, statements, write)
                except StoreBusy:
                    await anyio.sleep(RETRY_SECONDS)
                except StoreDefect as error:
                    raise RemoteFailed("the remote database refused a statement") from error
                except StoreDamaged as error:  # its words are about the store's own catalog
                    raise RemoteGarbage(
                        f"the remote file is no database, or is damaged: {self._path}", hint=_MADE_ANEW
                    ) from error
                except StoreError as error:
                    raise RemoteAway(f"the remote file cannot be used: {error}", hint=error.hint) from error
        raise RemoteAway("the remote file is in use by another program")

    def _batch(self, statements: Sequence[Statement], write: bool) -> list[list[Row]]:
        if self._made and not _holds_something(self._path):
            raise StoreUnavailable(f"{self._path} is not there any more", hint=_IS_IT_THERE)
        rows = self._carried_out(statements, write)
        self._made = self._made or _holds_something(self._path)
        return rows

    def _carried_out(self, statements: Sequence[Statement], write: bool) -> list[list[Row]]:
        connection = Connection(self._path)
        try:
            if write:  # what is erased leaves its bytes in the file otherwise
                connection.execute("PRAGMA secure_delete = 1")
            with connection.transaction() if write else connection.snapshot():
                return [connection.execute(sql, args) for sql, args in statements]
        finally:
            connection.close()


def _holds_something(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


@asynccontextmanager
async def open_database(address: Address, token: str = "", *, made: bool = False) -> AsyncIterator[Database]:
    """The database at ``address``, for the length of the block; nothing is connected before the first batch.

    A file that is not there is made, unless it was before (``made``).
    """
    if address.path is not None:
        yield _File(address.path, made=made)
        return
    async with Hrana(address.base, token) as server:
        yield server
