"""MCP messages as lines over a pair of file descriptors, for clients that send whatever they like.

Unlike the SDK's own transport it answers a line that is no message with a JSON-RPC error (else the client waits for
ever), mends lone surrogates, bounds a line's length, and at the end of the input first waits, within a bound, for the
calls that were read to be answered.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.lowlevel import EventLoopToken
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types import jsonrpc_message_adapter as messages

__all__ = ["MAX_LINE", "Lines", "line_transport"]

MAX_LINE = 64 * 1024 * 1024  # a batch of 10,000 steps is some megabytes
END_SECONDS = 10.0  # what a client may wait for at most after it closed our input
_CHUNK = 1 << 16
_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?\d{1,18})')

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

_log = logging.getLogger(__name__)


def split(chunks: Iterator[bytes], limit: int = MAX_LINE) -> Iterator[bytes | None]:
    """The non-empty lines of a byte stream, without their ends; None for one that is longer than ``limit``."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            line = b"".join([*parts, end]).strip() if size + len(end) <= limit else None
            parts, size = [], 0
            if line != b"":
                yield line
        size += len(rest)
        # What is too long is dropped as it comes, not collected.
        parts = [*parts, rest] if size <= limit else []
    if size > limit:
        yield None
    elif last := b"".join(parts).strip():
        yield last


def parse(line: bytes) -> JSONRPCMessage:
    """The message that ``line`` holds. Raises ValueError (pydantic's included) where it holds none."""
    try:
        return messages.validate_json(line, by_name=False)
    except ValueError:
        if b"\\u" not in line and not _is_broken_utf8(line):
            raise
    # The SDK's parser refuses lone surrogates and bytes that are no UTF-8; the standard one lets them be replaced.
    return messages.validate_python(_mended(json.loads(line.decode("utf-8", "replace"))), by_name=False)


def _is_broken_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def refusal(line: bytes | None) -> JSONRPCError:
    """The answer to a line that is no message, with the id that it seems to have."""
    if line is None:
        reason = f"the message is longer than {MAX_LINE} bytes; send less at a time"
        return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=_INVALID_REQUEST, message=reason))
    found = _ID.search(line[:500]) or _ID.search(line[-500:])
    reason = "this line is no JSON-RPC message: invalid JSON, a wrong shape, or nested too deeply"
    return JSONRPCError(
        jsonrpc="2.0", id=json.loads(found[1]) if found else None, error=ErrorData(code=_PARSE_ERROR, message=reason)
    )


class Lines:
    """The two ends of one connection, and which of its requests are still unanswered."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._open: set[str | int] = set()
        self._all_answered = anyio.Event()
        self._turn = anyio.Lock()

    async def read(self, send: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand on every message until the input ends and, within a bound, what was asked is answered."""
        lines, received = anyio.create_memory_object_stream[bytes | None](16)
        token = anyio.lowlevel.current_token()
        # A daemon of our own: a thread that blocks in read must not keep the process from leaving.
        threading.Thread(target=self._pump, args=(lines, token), name="stdin", daemon=True).start()
        async with send:
            async with received:
                async for line in received:
                    await self._take(line, send)
            with anyio.move_on_after(END_SECONDS):
                await self._answered()

    def _pump(self, lines: MemoryObjectSendStream[bytes | None], token: EventLoopToken) -> None:
        try:
            for line in split(iter(lambda: os.read(self._source, _CHUNK), b"")):
                anyio.from_thread.run(lines.send, line, token=token)
        except (OSError, anyio.BrokenResourceError, anyio.RunFinishedError, RuntimeError):
            pass  # the connection or the loop is gone
        finally:
            try:
                anyio.from_thread.run_sync(lines.close, token=token)
            except RuntimeError:
                _log.debug("the loop ended before the input")

    async def _take(self, line: bytes | None, send: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        try:
            if line is None:
                raise ValueError("too long")  # noqa: TRY301 - same answer as below
            message = parse(line) if len(line) < _CHUNK else await anyio.to_thread.run_sync(parse, line)
        except (ValueError, RecursionError):
            await self._write(refusal(line))
            return
        self._note_incoming(message)
        await send.send(SessionMessage(message))

    def _note_incoming(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            # A cancelled request is never answered.
            self._settle((message.params or {}).get("requestId"))

    def _settle(self, request_id: Any) -> None:
        if isinstance(request_id, str | int):
            self._open.discard(request_id)
        if not self._open:
            self._all_answered.set()

    async def _answered(self) -> None:
        while self._open:
            self._all_answered = anyio.Event()
            await self._all_answered.wait()

    async def write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write every message that the server sends, until it closes its side."""
        async with outgoing:
            async for item in outgoing:
                await self._write(item.message)
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    self._settle(item.message.id)

    async def _write(self, message: JSONRPCMessage) -> None:
        data = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        async with self._turn:
            try:
                await anyio.to_thread.run_sync(self._write_all, data, abandon_on_cancel=True)
            except OSError:
                _log.debug("the client is gone")

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._target, view) :]


@asynccontextmanager
async def line_transport(source: int, target: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Streams for the SDK's serving loop over the descriptors ``source`` and ``target``, which are not closed."""
    connection = Lines(source, target)
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    reading = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_within, reading, connection.read, to_server)
        tasks.start_soon(connection.write, from_server)
        with incoming, outgoing:
            yield incoming, outgoing
        reading.cancel()
        # What is being written goes out, unless the client stopped reading.
        tasks.cancel_scope.deadline = anyio.current_time() + END_SECONDS


async def _within(
    scope: anyio.CancelScope,
    read: Callable[[MemoryObjectSendStream[SessionMessage | Exception]], Awaitable[None]],
    send: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    with scope:
        await read(send)
