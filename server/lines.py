"""MCP messages as lines, for clients that send whatever they like; over file descriptors here, over sockets in the hub.

Unlike the SDK's own transport it answers a line that is no message with a JSON-RPC error (else the client waits for
ever), mends lone surrogates, bounds a line's length, and at the end of the input first waits, within a bound, for the
calls that were read to be answered.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
import anyio.to_thread
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types import jsonrpc_message_adapter as messages

from prowess.server.descriptors import Descriptors
from prowess.server.shim.stream import MAX_LINE

__all__ = [
    "Incoming",
    "InvalidId",
    "Lines",
    "Outgoing",
    "Wire",
    "in_unicode",
    "line_transport",
    "message_streams",
    "parse",
    "refusal",
]

END_SECONDS = 10.0  # what a client may wait for at most after it closed our input
MOST_OPEN = 128  # requests of one client that wait for their answers; more are not read before one is answered
_LONG = 1 << 16  # bytes of a line that is parsed beside the event loop
_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?\d{1,18}(?![\d.eE]))')

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

_log = logging.getLogger(__name__)


class InvalidId(ValueError):
    """A request whose id is neither text nor a whole number, so that no answer can carry it."""


def parse(line: bytes) -> JSONRPCMessage:
    """The message that ``line`` holds. Raises ValueError (pydantic's, or ``InvalidId``) where it holds none."""
    message = _validated(line)
    # The SDK takes such a request for a notification, which nobody answers.
    if isinstance(message, JSONRPCNotification) and "id" in _loaded(line):
        raise InvalidId
    return message


def _loaded(line: bytes) -> Any:
    return json.loads(line.decode("utf-8", "replace"))


def _validated(line: bytes) -> JSONRPCMessage:
    try:
        told = msgspec.json.decode(line)  # the SDK's own takes up to ten times as long, and nothing else runs meanwhile
    except (ValueError, RecursionError):
        return _leniently_validated(line)
    return messages.validate_python(told, by_name=False)


def _leniently_validated(line: bytes) -> JSONRPCMessage:
    """What is no JSON to the letter: ``NaN``, lone surrogates, bytes that are no UTF-8."""
    try:
        return messages.validate_json(line, by_name=False)
    except ValueError:
        if b"\\u" not in line and not _is_broken_utf8(line):
            raise
    # The SDK's parser refuses lone surrogates and bytes that are no UTF-8; the standard one lets them be replaced.
    return messages.validate_python(_mended(_loaded(line)), by_name=False)


def in_unicode(text: bytes) -> bytes:
    """JSON whose lone surrogates and bytes that are no UTF-8 are replaced by U+FFFD; all else stays as it is."""
    if not (_SURROGATE.search(text) or _is_broken_utf8(text)):
        return text
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        return text  # the surrogates are pairs
    try:
        return json.dumps(_mended(_loaded(text))).encode()
    except (ValueError, RecursionError):
        return text


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


def refusal(line: bytes | None, error: Exception | None = None) -> JSONRPCError:
    """The answer to a line that is no message, as ``parse`` said by ``error``, with the id that it seems to have."""
    if line is None:
        return _error(_INVALID_REQUEST, f"the message is longer than {MAX_LINE} bytes; send less at a time")
    if isinstance(error, InvalidId):
        return _error(_INVALID_REQUEST, "a request's id must be a string or an integer")
    found = _ID.search(line[:500]) or _ID.search(line[-500:])
    reason = "this line is no JSON-RPC message: invalid JSON, a wrong shape, or nested too deeply"
    return _error(_PARSE_ERROR, reason, json.loads(found[1]) if found else None)


def _error(code: int, reason: str, request_id: str | int | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=reason))


class Wire(Protocol):
    """Carries lines. Both raise OSError or anyio's errors of streams where the other side is gone."""

    async def next_line(self) -> bytes | None:
        """The next line, None for one that is too long. Raises ``anyio.EndOfStream``."""
        ...

    async def write(self, data: bytes) -> None:
        """Write all of ``data``."""
        ...


_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Lines:
    """The messages of one connection, and which of its requests are still unanswered."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._open: set[str | int] = set()
        self._settled = anyio.Event()
        self._turn = anyio.Lock()
        self._reading = anyio.CancelScope()
        self.client = ""
        """The client's own name, once it told it in a handshake."""

    @property
    def open(self) -> int:
        """How many requests wait for their answers."""
        return len(self._open)

    def finish(self) -> None:
        """Read no more: what was asked is answered, within a bound, and then the connection ends."""
        self._reading.cancel()

    async def read(self, send: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand on every message until the input ends and, within a bound, what was asked is answered."""
        async with send:
            with self._reading:
                await self._read_all(send)
            with anyio.move_on_after(END_SECONDS):
                await self._until_open(0)

    async def _read_all(self, send: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        try:
            while True:
                await self._until_open(MOST_OPEN - 1)
                await self._take(await self._wire.next_line(), send)
        except (anyio.EndOfStream, *_GONE):
            _log.debug("the client's side of the connection ended")

    async def _take(self, line: bytes | None, send: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        try:
            if line is None:
                raise ValueError("too long")  # noqa: TRY301 - same answer as below
            message = parse(line) if len(line) < _LONG else await anyio.to_thread.run_sync(parse, line)
        except (ValueError, RecursionError) as error:
            await self._write(refusal(line, error))
            return
        self._note_incoming(message)
        try:
            await send.send(SessionMessage(message))
        except BaseException:
            if isinstance(message, JSONRPCRequest):  # nobody took it, so nobody will answer it
                self._settle(message.id)
            raise

    def _note_incoming(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
            if message.method == "initialize":
                self.client = _client_name(message.params)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            # A cancelled request is never answered.
            self._settle((message.params or {}).get("requestId"))

    def _settle(self, request_id: Any) -> None:
        if isinstance(request_id, str | int):
            self._open.discard(request_id)
        self._settled.set()

    async def _until_open(self, count: int) -> None:
        while len(self._open) > count:
            self._settled = anyio.Event()
            await self._settled.wait()

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
                await self._wire.write(data)
            except _GONE:
                _log.debug("the client is gone")


def _client_name(params: Any) -> str:
    info = params.get("clientInfo") if isinstance(params, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name[:200] if isinstance(name, str) else ""


@asynccontextmanager
async def line_transport(source: int, target: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Streams for the SDK's serving loop over the descriptors ``source`` and ``target``, which are not closed."""
    wire = Descriptors(source, target)
    try:
        async with message_streams(Lines(wire)) as streams:
            yield streams
    finally:
        wire.close()


@asynccontextmanager
async def message_streams(lines: Lines) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Streams for the SDK's serving loop over one connection."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    reading = anyio.CancelScope()
    # All four are closed here as well: a task that is cancelled before it begins closes nothing.
    with to_server, incoming, outgoing, from_server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_within, reading, lines.read, to_server)
            tasks.start_soon(lines.write, from_server)
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
