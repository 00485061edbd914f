"""A request's body in one piece, in which agents may send what they may send over standard input."""

from __future__ import annotations

import anyio.to_thread
from starlette.types import Message, Receive

from prowess.server.lines import in_unicode

__all__ = ["MAX_BODY", "whole"]

MAX_BODY = 16 * 1024 * 1024  # a call of 10 MB is more than any agent should send
_LONG = 1 << 16  # bytes of a body that is looked through beside the event loop


def whole(receive: Receive, most: int = MAX_BODY) -> Receive:
    """``receive`` whose body comes as one piece ``in_unicode``; what is beyond ``most`` bytes goes on as it comes."""
    begun = False

    async def receive_whole() -> Message:
        nonlocal begun
        if begun:
            return await receive()
        begun = True
        pieces: list[bytes] = []
        size = 0
        while size <= most:
            message = await receive()
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if not message.get("more_body", False):
                return {**message, "body": await _fit(b"".join(pieces))}
        return {"type": "http.request", "body": b"".join(pieces), "more_body": True}

    return receive_whole


async def _fit(body: bytes) -> bytes:
    return in_unicode(body) if len(body) < _LONG else await anyio.to_thread.run_sync(in_unicode, body)
