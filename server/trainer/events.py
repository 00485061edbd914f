"""What a trainer says: events on stdout, one JSON object per line, and anything on stderr. Neither can flood us.

A trainer that says more than ``LINES_PER_SECOND`` waits in its pipe; what is kept on disk has a limit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
from anyio.abc import ByteReceiveStream

from prowess.server.trainer.runs import Run, RunFolder

__all__ = ["Events", "keep_errors"]

LINES_PER_SECOND = 200
MAX_LINE = 64 * 1024
MAX_PROGRESS_BYTES = 4_000_000  # of events.jsonl; beyond, progress is only shown
MAX_EVENT_BYTES = 8_000_000
MAX_ERROR_BYTES = 1_000_000
MAX_SHOWN = 20  # fields of an event that a status tells
MAX_TEXT = 500

_log = logging.getLogger(__name__)

_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)


class Events:
    """Takes the events of one run as they come: into its record, and into ``events.jsonl``."""

    def __init__(
        self,
        run: Run,
        files: RunFolder,
        *,
        pace: int = LINES_PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._run = run
        self._files = files
        self._pace = pace
        self._clock = clock
        self._sleep = sleep
        self._hurried = False
        self._window, self._taken = clock(), 0
        self._buffer = bytearray()
        self._skipping = False
        self._pending: list[bytes] = []
        self._kept: int | None = None
        self._unsaved = False

    def hurry(self) -> None:
        """The trainer has left: what is still in the pipe is little."""
        self._hurried = True

    async def listen(self, stream: ByteReceiveStream) -> None:
        """Take everything until the stream ends."""
        try:
            async for chunk in stream:
                for line in self._lines(chunk):
                    await self._take(line)
                await self._flush()
        except _GONE:
            pass
        for line in self._lines(b"\n"):
            await self._take(line)
        await self._flush()

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            line, skipped = bytes(self._buffer + part).strip(), self._skipping or len(self._buffer) > MAX_LINE
            self._buffer.clear()
            self._skipping = False
            if skipped:
                self._run.malformed += 1
            elif line:
                yield line
        self._buffer += rest
        if len(self._buffer) > MAX_LINE:
            self._buffer.clear()
            self._skipping = True

    async def _take(self, line: bytes) -> None:
        event = _parsed(line)
        if event is None:
            self._run.malformed += 1
        else:
            self._note(event)
            await self._keep(line, progress=event["event"] == "progress")
        await self._wait_our_turn()

    def _note(self, event: dict[str, Any]) -> None:
        run, shown = self._run, _shown(event)
        match event["event"]:
            case "progress":
                run.progress = shown
                return
            case "checkpoint" if isinstance(event.get("file"), str) and len(event["file"]) <= MAX_TEXT:
                run.checkpoint = event["file"]
            case "result":
                run.result = shown
            case "error":
                run.reason = str(event.get("message", "the trainer told an error"))[:MAX_TEXT]
        self._unsaved = True

    async def _keep(self, line: bytes, *, progress: bool) -> None:
        if self._kept is None:
            self._kept = await anyio.to_thread.run_sync(_size, self._files.events)
        self._kept += len(line) + 1
        if self._kept > (MAX_PROGRESS_BYTES if progress else MAX_EVENT_BYTES):
            self._kept -= len(line) + 1
            self._run.dropped += 1
        else:
            self._pending.append(line + b"\n")

    async def _wait_our_turn(self) -> None:
        self._taken += 1
        if self._taken < self._pace:
            return
        await self._flush()
        if not self._hurried:
            await self._sleep(max(0.0, self._window + 1 - self._clock()))
        await anyio.lowlevel.checkpoint()
        self._window, self._taken = self._clock(), 0

    async def _flush(self) -> None:
        text, self._pending = b"".join(self._pending), []
        unsaved, self._unsaved = self._unsaved, False
        if text or unsaved:
            await anyio.to_thread.run_sync(self._write, text, unsaved)

    def _write(self, text: bytes, save: bool) -> None:
        try:
            if text:
                _append(self._files.events, text)
            if save:
                self._files.save(self._run)
        except OSError as error:  # the training goes on, and its end tells the same
            _log.warning("what the trainer said was not kept: %s", error.strerror)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _shown(event: dict[str, Any]) -> dict[str, Any]:
    """The plain fields of an event, as far as a status tells them."""
    plain = {key[:MAX_TEXT]: value for key, value in event.items() if key != "event" and _is_plain(value)}
    return dict(list(plain.items())[:MAX_SHOWN])


def _is_plain(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


async def keep_errors(stream: ByteReceiveStream, path: Path) -> None:
    """Read ``stream`` to its end, and keep the first of it in ``path``."""
    room = MAX_ERROR_BYTES - await anyio.to_thread.run_sync(_size, path)
    try:
        async for chunk in stream:
            if room > 0:
                room = room - len(chunk) if await anyio.to_thread.run_sync(_kept, path, chunk) else 0
    except _GONE:
        _log.debug("the trainer's errors are not read any further")


def _kept(path: Path, text: bytes) -> bool:
    try:
        _append(path, text)
    except OSError as error:  # read on all the same: the trainer would wait in its pipe
        _log.warning("the trainer's errors are not kept: %s", error.strerror)
        return False
    return True
