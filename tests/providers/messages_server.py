"""A loopback server that speaks the Messages API over HTTP/1.1, with scripted replies and faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Asked", "Fault", "MessagesServer", "Reply", "error", "message", "serve"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived. Header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole response."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)


# A fault writes what it likes; the connection is closed after it.
Fault = Callable[[asyncio.StreamWriter, asyncio.Event], Any]


class MessagesServer:
    """Gives ``replies`` in order, the last one for ever. ``asked`` holds the requests, ``over`` is set at the end."""

    def __init__(self, replies: tuple[Reply | Fault, ...]) -> None:
        self.replies = list(replies)
        self.asked: list[Asked] = []
        self.arrived = asyncio.Event()
        self.over = asyncio.Event()
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                self.arrived.set()
                reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
                if not isinstance(reply, Reply):
                    await reply(writer, self.over)
                    return
                await _write(writer, reply)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serve(*replies: Reply | Fault) -> AsyncIterator[MessagesServer]:
    """A server on a free port of the loopback interface."""
    server = MessagesServer(replies)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        server.over.set()
        listener.close()


def message(
    text: str | dict[str, Any],
    *,
    stop_reason: str = "end_turn",
    input_tokens: int = 1_000,
    output_tokens: int = 100,
) -> Reply:
    """An answer with one block of text after a block of thinking."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": text if isinstance(text, str) else json.dumps(text)},
    ]
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }
    return Reply(body=json.dumps(body).encode())


def error(status: int, kind: str, told: str = "no", **headers: str) -> Reply:
    """An error in the API's own form; ``retry_after="3"`` becomes the header retry-after."""
    body = {"type": "error", "error": {"type": kind, "message": told}, "request_id": "req_1"}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), names)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    line = await reader.readline()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (header := (await reader.readline()).decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(line.decode().split(" ")[1], headers, json.loads(body))


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    headers = {"content-type": "application/json", "content-length": str(len(reply.body)), **reply.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode() + reply.body)
    await writer.drain()
