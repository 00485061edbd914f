"""HTTP served by a hub in this process, and raw requests to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteStream

from prowess.server.hub.client import http_served
from prowess.server.hub.hub import Hub

__all__ = [
    "HEADERS",
    "INITIALIZE",
    "SECONDS",
    "Answer",
    "asked",
    "bearer",
    "call_tool",
    "exchange",
    "message_of",
    "opened",
    "post",
    "served",
    "stream_of",
    "until_closed",
]

SECONDS = 60.0
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def asked(**changed: Any) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": 0, **changed}


@asynccontextmanager
async def served(hub: Hub, **changed: Any) -> AsyncIterator[int]:
    """The port at which ``hub`` serves HTTP."""
    async with http_served(Path(hub.home), asked(**changed)) as (told, _):
        yield int(told["port"])


async def exchange(port: int, raw: bytes) -> bytes:
    """What comes back for the bytes ``raw`` until the server closes the connection or has answered."""
    with anyio.fail_after(SECONDS):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(raw)
            said = b""
            try:
                while not _whole(said):
                    said += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
            return said


def _whole(said: bytes) -> bool:
    head, end, body = said.partition(b"\r\n\r\n")
    if not end:
        return False
    fields = _fields(head)
    if "content-length" in fields:
        return len(body) >= int(fields["content-length"])
    return body.endswith(b"0\r\n\r\n") or (not body and fields.get("transfer-encoding") != "chunked")


def _fields(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


async def post(
    port: int, message: Any, headers: Mapping[str, str] | None = None, *, path: str = "/mcp", method: str = "POST"
) -> Answer:
    """One request, its ``message`` as JSON unless it is bytes."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    fields = {"Host": f"127.0.0.1:{port}", **HEADERS, "Content-Length": str(len(body)), **(headers or {})}
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    said = await exchange(port, head.encode("latin-1") + b"\r\n" + body)
    top, _, rest = said.partition(b"\r\n\r\n")
    return Answer(int(top.split(b" ", 2)[1]), _fields(top), rest)


def message_of(answer: Answer) -> dict[str, Any]:
    """The JSON-RPC message of an answer, plain or as the last event of a stream."""
    text = answer.body.decode()
    if "text/event-stream" in answer.headers["content-type"]:
        text = [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
    found: dict[str, Any] = json.loads(text)
    return found


async def opened(port: int, headers: dict[str, str] | None = None) -> dict[str, str]:
    """The headers of a session that is open."""
    answer = await post(port, INITIALIZE, headers)
    assert answer.status == 200, answer
    known = {**(headers or {}), "Mcp-Session-Id": answer.headers["mcp-session-id"]}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await post(port, ready, known)).status == 202
    return known


async def call_tool(port: int, headers: dict[str, str], name: str, /, **arguments: Any) -> dict[str, Any]:
    """The result of one call in a session."""
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    result: dict[str, Any] = message_of(await post(port, call, headers))["result"]
    return result


def bearer(secret: str) -> dict[str, str]:
    """The header that has a token."""
    return {"Authorization": f"Bearer {secret}"}


async def until_closed(stream: ByteStream) -> None:
    """Return when the server closed the connection."""
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            await stream.receive()


@asynccontextmanager
async def stream_of(port: int, session: dict[str, str]) -> AsyncIterator[ByteStream]:
    """A stream of the session that stays open."""
    fields = {"Host": "localhost", "Accept": "text/event-stream", **session}
    head = "GET /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    with anyio.fail_after(SECONDS):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(head.encode())
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 OK")
            yield stream
