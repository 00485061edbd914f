"""One TCP connection: how long it may be open without a request, and that there are not too many.

uvicorn bounds neither: a client that never ends its headers, or goes on with a body after it was refused, would keep
its place for ever, and every socket that is accepted takes one of the file descriptors that the hub needs for agents.
Nor does it bound in how many pieces a body may come, each of which takes its time of the hub's event loop.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HEAD_SECONDS", "MAX_CONNECTIONS", "Connection"]

MAX_CONNECTIONS = 256
HEAD_SECONDS = 15.0  # for a request's first line and headers
READ_SECONDS = 60.0  # for a client to read some of what was sent to it
PIECES, PIECE_BYTES = 1_000, 256  # a body in more pieces than that has to have as many bytes in each, on average
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class _Reader(h11.Connection):
    """h11's, which does not read a body in crumbs: a megabyte of them would keep the hub busy for seconds."""

    _pieces = _bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._pieces += 1
            self._bytes += len(event.data)
            if self._pieces > PIECES and self._bytes < self._pieces * PIECE_BYTES:
                raise h11.RemoteProtocolError("the body comes in pieces that are too small")
        return event


class Connection(H11Protocol):
    """uvicorn's, with bounds."""

    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _heard = 0.0

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.conn = _Reader(h11.SERVER)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heard = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS and not self._make_room():
            transport.write(_FULL)
            transport.close()
            return
        self._wait()

    def _make_room(self) -> bool:
        """End the connection that was silent longest and waits for no answer; whether there was one."""
        idle = [each for each in self.connections if isinstance(each, Connection) and each._is_idle()]
        others = [each for each in idle if each is not self]
        if not others:
            return False
        silent = min(others, key=lambda each: each._heard)
        self.connections.discard(silent)
        silent.transport.abort()
        return True

    def _is_idle(self) -> bool:
        return not self._answering() and not self.transport.is_closing()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_unread()
        super().resume_writing()

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        super().data_received(data)
        if self._answering():
            self._stop()
        elif self._late is None:  # a head that is not whole, or the rest of what was refused
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._stop_unread()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # an answer was given or begun, and nothing can be said any more
            self.transport.close()

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if not self._answering():
            self.transport.close()
