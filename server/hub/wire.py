"""Lines over an anyio socket stream, and who is at its other end."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections import deque

import anyio
from anyio.abc import SocketAttribute, SocketStream

from prowess.server.shim.stream import MAX_LINE, Splitter

__all__ = ["SocketWire", "is_ours"]

_CHUNK = 1 << 16


class SocketWire:
    """A ``lines.Wire`` over a socket: no thread, and what is not read stays with its sender."""

    def __init__(self, stream: SocketStream, limit: int = MAX_LINE) -> None:
        self._stream = stream
        self._splitter = Splitter(limit)
        self._ready: deque[bytes | None] = deque()
        self._ended = False

    async def next_line(self) -> bytes | None:
        while not self._ready:
            if self._ended:
                raise anyio.EndOfStream
            await self._receive()
        return self._ready.popleft()

    def limit(self, limit: int) -> None:
        """Bound the length of lines anew."""
        self._splitter.limit = limit

    async def _receive(self) -> None:
        try:
            self._ready += self._splitter.feed(await self._stream.receive(_CHUNK))
        except anyio.EndOfStream:
            self._ended = True
            self._ready += self._splitter.rest()

    async def write(self, data: bytes) -> None:
        await self._stream.send(data)


def peer_uid(raw: socket.socket) -> int | None:
    """The user at the other end of a Unix socket; None where the system does not tell."""
    if sys.platform == "linux":
        credentials = raw.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    if sys.platform == "darwin":
        # struct xucred: u_int version, uid_t uid, …; SOL_LOCAL is 0 and LOCAL_PEERCRED 1.
        return int(struct.unpack("2I", raw.getsockopt(0, 1, 76)[:8])[1])
    return None


def is_ours(stream: SocketStream) -> bool:
    """Whether the other end is run by this process's user. Where nobody can tell, the folder's mode has decided."""
    try:
        found = peer_uid(stream.extra(SocketAttribute.raw_socket))  # noqa: S610 - no database is near
    except OSError:
        return False
    return found is None or found == os.getuid()
