"""Lines over a pair of file descriptors, which may be files, pipes or terminals: threads of our own read and write.

Both threads are daemons. One that blocks, because the client says nothing or does not read, must not keep the process
from leaving, and it may come back long after the loop is gone.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue

import anyio

from prowess.server.shim.stream import Splitter

__all__ = ["Descriptors"]

AHEAD = 4  # lines that are read before anyone asks for them
_CHUNK = 1 << 16


class Descriptors:
    """A ``lines.Wire`` over a pair of file descriptors, which are not closed."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._reader: _Reader | None = None
        self._writer: _Writer | None = None

    async def next_line(self) -> bytes | None:
        if self._reader is None:
            self._reader = _Reader(self._source)
        return await self._reader.next_line()

    async def write(self, data: bytes) -> None:
        if self._writer is None:
            self._writer = _Writer(self._target)
        await self._writer.write(data)

    def close(self) -> None:
        """No more lines; each thread ends with what it reads or writes now."""
        if self._reader is not None:
            self._reader.close()
        if self._writer is not None:
            self._writer.close()


def _start(work: Callable[[int], None], descriptor: int, name: str) -> None:
    threading.Thread(target=work, args=(descriptor,), name=name, daemon=True).start()


class _Reader:
    """All but the room is touched in the loop only."""

    def __init__(self, source: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: deque[bytes | None] = deque()
        self._room = threading.Semaphore(AHEAD)
        self._news = anyio.Event()
        self._ended = False
        _start(self._pump, source, "stdin")

    async def next_line(self) -> bytes | None:
        while not self._lines:
            if self._ended:
                raise anyio.EndOfStream
            self._news = anyio.Event()
            await self._news.wait()
        self._room.release()
        return self._lines.popleft()

    def close(self) -> None:
        self._lines.clear()
        self._end()
        self._room.release()  # a thread that waits for it looks round and leaves

    def _pump(self, source: int) -> None:
        with suppress(RuntimeError):  # the loop is gone
            with suppress(OSError):
                for line in _lines(source):
                    self._room.acquire()
                    if self._ended:
                        return
                    self._loop.call_soon_threadsafe(self._take, line)
            self._loop.call_soon_threadsafe(self._end)

    def _take(self, line: bytes | None) -> None:
        self._lines.append(line)
        self._news.set()

    def _end(self) -> None:
        self._ended = True
        self._news.set()


def _lines(source: int) -> Iterator[bytes | None]:
    splitter = Splitter()
    while chunk := os.read(source, _CHUNK):
        yield from splitter.feed(chunk)
    yield from splitter.rest()


class _Writer:
    """Writes in the order of the calls, also what a caller no longer waits for: half a line would spoil the next."""

    def __init__(self, target: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._closed = False
        _start(self._pump, target, "stdout")

    async def write(self, data: bytes) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        written: asyncio.Future[None] = self._loop.create_future()
        self._due.put((data, written))
        await written

    def close(self) -> None:
        self._closed = True
        self._due.put(None)

    def _pump(self, target: int) -> None:
        with suppress(RuntimeError):  # the loop is gone
            while (due := self._due.get()) is not None:
                data, written = due
                self._loop.call_soon_threadsafe(_settle, written, _write_all(target, data))


def _write_all(target: int, data: bytes) -> OSError | None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(target, view) :]
    except OSError as error:
        return error
    return None


def _settle(written: asyncio.Future[None], error: OSError | None) -> None:
    if written.done():  # nobody waits any more
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
