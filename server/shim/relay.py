"""The loop of the shim: client's lines to the hub, the hub's to the client, both ways bounded."""

from __future__ import annotations

import os
import select
from time import monotonic

from .lean import set_signal, set_wakeup
from .notes import say
from .session import BrokenHub
from .stream import MAX_LINE, Splitter
from .wire import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .link import Limits, Link
    from .session import Session

__all__ = ["Relay"]

CHUNK = 1 << 16
FULL = 1 << 20  # bytes on their way in one direction; then that side is not read any further
MOST_SILENT_HUBS = 3
SIGINT, SIGTERM = 2, 15
SOURCE, TARGET = 0, 1  # the client

_ENDS = "the hub ended {} times in a row without an answer"
_ENDS_HINT = "`prowess hub logs` says why; `prowess doctor` examines the store."
_UNASKED = "prowess: the input ended before anything was asked; agents run this, `prowess hub start` is for people\n"
_OVER = Failure("the client closed the connection before the answer came", "Keep it open until all answers are in.")


class Relay:
    """Carries one client's session. ``run`` returns the exit code once the client has left."""

    def __init__(self, link: Link, session: Session, limits: Limits) -> None:
        self._link = link
        self._session = session
        self._limits = limits
        self._from_client = Splitter()
        self._from_hub = Splitter()
        self._to_client = bytearray()
        self._to_hub = bytearray()
        self._given = 0  # bytes that were put into the hub's stream
        self._written = 0  # and bytes of it that went out
        self._half_closed = False
        self._silent_hubs = 0  # that came one after another and answered nothing
        self._reported: Failure | None = None
        self._ends_at: float | None = None
        self._leaving = False
        self._woken = self._listen_for_signals()

    def run(self) -> int:
        """Relay until the client leaves or a signal comes."""
        if _can_read(SOURCE):
            self._read_client()
        if self._ends_at is not None and not self._session.pending:
            say(_UNASKED)  # a hub that nobody asks anything is not started
            return 0
        self._link.want(monotonic())
        while not self._leaving and not self._is_over():
            self._look_after_link()
            self._wait()
        return 0

    def _listen_for_signals(self) -> int:
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        set_wakeup(waking)
        for number in (SIGINT, SIGTERM):
            set_signal(number, self._leave)
        return woken

    def _leave(self, *_: object) -> None:
        self._leaving = True

    def _is_over(self) -> bool:
        if self._ends_at is None:
            return False
        if self._session.waiting and monotonic() >= self._ends_at:
            self._tell(self._session.fail(_OVER))
        if self._session.waiting or self._to_client:
            # A client that neither reads nor leaves is not waited for.
            return monotonic() >= self._ends_at + self._limits.flush
        hub_works = self._link.up and (self._to_hub or self._session.unsent or self._session.unsure)
        return not hub_works or monotonic() >= self._ends_at

    # The link.

    def _look_after_link(self) -> None:
        link, now = self._link, monotonic()
        was_up = link.up
        if link.wake is not None and now >= link.wake:
            link.step(now)
        if link.failure is not self._reported:
            self._refuse()  # before another try, which may begin at once
        if self._session.pending and not link.up:
            link.want(now)
        if link.up and not was_up:
            self._begin()
        if self._session.pending and not link.busy and not link.up:
            self._refuse()
        if link.up:
            self._hand_over()

    def _refuse(self) -> None:
        failure = self._link.failure
        if failure is not None:
            if failure is not self._reported:
                say(f"prowess: {failure.reason}\nhint: {failure.hint}\n")
            self._tell(self._session.fail(failure))
        self._reported = failure

    def _begin(self) -> None:
        self._from_hub = Splitter()
        self._to_hub.clear()
        self._given = self._written = 0
        self._half_closed = False
        self._silent_hubs += 1
        self._session.connected()
        self._hear(self._link.received)

    def _hand_over(self) -> None:
        while len(self._to_hub) < FULL and (line := self._session.next_line(self._given)):
            self._to_hub += line
            self._given += len(line)
        if self._ends_at is not None and not self._to_hub and not self._session.unsent and not self._half_closed:
            self._half_close()

    def _half_close(self) -> None:
        self._half_closed = True
        try:
            if self._link.socket is not None:
                self._link.socket.shutdown(1)
        except OSError:
            return  # it ended by itself; the loop reads so

    def _lose(self) -> None:
        self._link.lose()
        self._tell(self._session.lost(self._written))
        if not self._session.pending:
            self._silent_hubs = 0
        elif self._silent_hubs >= MOST_SILENT_HUBS:
            self._link.give_up(Failure(_ENDS.format(self._silent_hubs), _ENDS_HINT), monotonic())
            self._silent_hubs = 0

    # One turn of the loop.

    def _wait(self) -> None:
        poller = select.poll()
        for descriptor, events in self._interests():
            poller.register(descriptor, events)
        for descriptor, events in poller.poll(self._patience()):
            if descriptor == TARGET:
                self._write_client()
            elif descriptor == SOURCE:
                self._read_client()
            elif descriptor == self._woken:
                os.read(self._woken, 64)
            else:
                self._serve_hub(events)

    def _interests(self) -> Iterable[tuple[int, int]]:
        yield self._woken, select.POLLIN
        if self._ends_at is None:
            # A client that hangs up is noticed also while nothing more is read; what it left in the pipe is little.
            room = len(self._to_hub) < FULL and self._session.size < MAX_LINE
            yield SOURCE, select.POLLIN if room else 0
        if self._to_client:
            yield TARGET, select.POLLOUT
        if self._link.socket is not None:
            reads = select.POLLIN if len(self._to_client) < FULL else 0
            yield self._link.socket.fileno(), reads | (select.POLLOUT if self._to_hub else 0)

    def _patience(self) -> int | None:
        times = [at for at in (self._link.wake, self._ends_at) if at is not None]
        if self._ends_at is not None and monotonic() >= self._ends_at:
            return 50
        return max(0, int((min(times) - monotonic()) * 1000) + 1) if times else None

    def _read_client(self) -> None:
        try:
            chunk = os.read(SOURCE, CHUNK)
        except OSError:
            chunk = b""
        lines = self._from_client.feed(chunk) if chunk else self._from_client.rest()
        if not chunk:
            self._ends_at = monotonic() + self._limits.end
        for line in lines:
            self._tell(self._session.take(line))

    def _tell(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._to_client += line

    def _write_client(self) -> None:
        try:
            # A write of this size never blocks after poll; the descriptor may be shared, so it stays a blocking one.
            while self._to_client and _can_write(TARGET):
                written = os.write(TARGET, bytes(self._to_client[: select.PIPE_BUF]))
                del self._to_client[:written]
        except OSError:
            self._leaving = True

    # The hub's side.

    def _serve_hub(self, events: int) -> None:
        if not self._link.up:
            was_busy = self._link.busy
            self._link.step(monotonic())
            if was_busy and self._link.up:
                self._begin()
            return
        if events & select.POLLOUT:
            self._write_hub()
        if events & ~select.POLLOUT:
            self._read_hub()

    def _write_hub(self) -> None:
        assert self._link.socket is not None
        try:
            sent = self._link.socket.send(bytes(self._to_hub[:CHUNK]))
        except BlockingIOError:
            return
        except OSError:
            # It left; what it said before is still read, and then its end.
            self._to_hub.clear()
            return
        self._written += sent
        del self._to_hub[:sent]

    def _read_hub(self) -> None:
        assert self._link.socket is not None
        try:
            chunk = self._link.socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._hear(chunk)
        else:
            self._lose()  # half a line is dropped with it

    def _hear(self, chunk: bytes) -> None:
        try:
            for line in self._from_hub.feed(chunk):
                if told := self._session.hear(line):
                    self._tell([told])
                    self._silent_hubs = 0
                    self._link.works()
        except BrokenHub as error:
            self._tell(self._session.lost(self._written))
            self._link.give_up(Failure(str(error), _ENDS_HINT), monotonic())


def _can_read(descriptor: int) -> bool:
    return _is_ready(descriptor, select.POLLIN)


def _can_write(descriptor: int) -> bool:
    return _is_ready(descriptor, select.POLLOUT)


def _is_ready(descriptor: int, events: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, events)
    return bool(poller.poll(0))
