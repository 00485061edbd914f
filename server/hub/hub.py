"""A hub from its first connection to its last: accept, serve, watch for a reason to leave, and leave in order.

Leaving: no new clients (they are told to come again), no further requests of those that are here; what was asked is
answered, within a bound; then every connection ends, the store is closed, and last of all the socket goes. What had no
answer is sent again to the next hub by the shims, under the same keys.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio.abc import SocketListener, TaskGroup

from prowess.server.capture.reader import Capture
from prowess.server.hub.connections import Connections, ProjectOf
from prowess.server.hub.control import Control
from prowess.server.hub.logs import explain
from prowess.server.hub.sync import Syncer
from prowess.server.hub.work import STANDING, MakeWork, Work
from prowess.server.opening import Opening
from prowess.server.pauses import keep_pauses_short
from prowess.server.runtime import guarded
from prowess.server.settings import Settings
from prowess.storage.errors import StoreError
from prowess.storage.models import format_time

__all__ = ["Hub", "owns"]

OPEN_SECONDS = 10.0  # a command that has the store open is usually done within that
DRAIN_SECONDS = 10.0  # for calls that are under way; what takes longer is asked again of the next hub
CLOSE_SECONDS = 15.0  # a disk that hangs must not keep a hub that nobody can talk to
LEAVE_SECONDS = 45.0  # all of it; then the process ends as it is, and nothing acknowledged is lost by that
WATCH_SECONDS = 2.0  # between looks at the socket's file and at the time
PAUSE_SECONDS = 0.2  # before accepting again where the system was short of something

_log = logging.getLogger(__name__)


class Hub:
    """One store, one socket, any number of clients. ``run`` returns when the hub has left."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        *,
        home: Path,
        path: Path,
        schema: dict[str, int],
        idle_seconds: float,
        project_of: ProjectOf,
        works: Sequence[MakeWork] = STANDING,
    ) -> None:
        self.home = home
        self.path = path
        self.schema = schema
        self.started = datetime.now(UTC)
        self.http: list[str] = []  # where it is served
        self.opening = Opening(settings, tell=_log_failure, patience=OPEN_SECONDS)
        self.capture = Capture(self.opening, home, project_of)
        self.connections = Connections(
            self.opening,
            schema=schema,
            control=Control(self).serve,
            project_of=project_of,
            retire=self.leave,
            capture=self.capture,
        )
        self._idle_seconds = idle_seconds
        self.syncer = Syncer(self.opening, home)
        self._works: list[Work] = [self.capture, self.syncer, *(make(self.opening) for make in works)]
        self._leaving = anyio.Event()
        self._tasks: TaskGroup | None = None
        self._bound = threading.Timer(LEAVE_SECONDS, _give_up)
        self._bound.daemon = True

    def leave(self, reason: str) -> None:
        """Begin to leave; a hub that leaves already goes on with that."""
        if not self._leaving.is_set():
            _log.info("leaving: %s", reason)
            self.connections.leaving = True
            self._leaving.set()

    def working(self) -> list[str]:
        """What goes on in the background."""
        return [what for work in self._works for what in work.working()]

    def idle(self) -> bool:
        """Whether nobody uses the store and nothing goes on."""
        return not self.connections.clients and not self.connections.commands and not self.working()

    async def run(self, raw: socket.socket, ready: Callable[[], None]) -> None:
        """Serve connections to ``raw`` (bound to ``path`` and listening) until there is a reason to leave."""
        file = _identity(self.path)
        async with await SocketListener.from_socket(raw) as listener, anyio.create_task_group() as outer:
            outer.start_soon(self._heed_signals)
            async with anyio.create_task_group() as store:
                store.start_soon(self.opening.run)
                async with anyio.create_task_group() as serving:
                    self._tasks = serving
                    serving.start_soon(keep_pauses_short, self.opening)
                    outer.start_soon(self._accept, listener)
                    outer.start_soon(self._watch, file)
                    ready()
                    await self._serve()
                    self._tasks = outer  # who comes now is only told to come again
                    serving.cancel_scope.cancel()
                self.opening.close()
                store.cancel_scope.deadline = anyio.current_time() + CLOSE_SECONDS
            if owns(self.path, file):
                self.path.unlink(missing_ok=True)
            outer.cancel_scope.cancel()
        self._bound.cancel()

    async def _serve(self) -> None:
        async with anyio.create_task_group() as working:
            for work in self._works:
                working.start_soon(guarded, type(work).__name__, work.run)
            await self._leaving.wait()
            self._bound.start()
            working.cancel_scope.cancel()
            with anyio.CancelScope(shield=True), anyio.move_on_after(DRAIN_SECONDS) as bound:
                await self.connections.drain()
            if bound.cancelled_caught:
                _log.warning("%d clients had open calls when the hub left", len(self.connections.clients))

    async def _accept(self, listener: SocketListener) -> None:
        while True:
            try:
                stream = await listener.accept()
            except OSError as error:
                _log.warning("a connection could not be accepted: %s", error.strerror)
                await anyio.sleep(PAUSE_SECONDS)
                continue
            assert self._tasks is not None
            self._tasks.start_soon(self.connections.serve, stream)

    async def _heed_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as received:
            async for number in received:
                if number != signal.SIGHUP:  # the terminal of whoever started us closed: nothing of ours
                    self.leave(f"signal {signal.Signals(number).name}")

    async def _watch(self, file: tuple[int, int]) -> None:
        busy = time.monotonic()
        period = min(WATCH_SECONDS, self._idle_seconds / 4 or WATCH_SECONDS)
        while not self._leaving.is_set():
            await anyio.sleep(period)
            if not owns(self.path, file):
                self.leave("the socket's file is gone")  # else nobody finds us, and nobody can replace us
            if not self.idle():
                busy = time.monotonic()
            elif self._idle_seconds and time.monotonic() - max(busy, self.connections.last_left) >= self._idle_seconds:
                self.leave("idle")

    def describe(self) -> dict[str, object]:
        """The hub's state as ``hub status --json`` prints it."""
        return {
            "pid": os.getpid(),
            "schema": self.schema,
            "home": str(self.home),
            "socket": str(self.path),
            "started": format_time(self.started),
            "uptime_seconds": round((datetime.now(UTC) - self.started).total_seconds(), 1),
            "state": "leaving" if self._leaving.is_set() else "serving",
            "store": self.opening.state,
            "hint": self.opening.hint,
            "trouble": self.opening.damage,
            "renewed": self.opening.renewed,
            "clients": self.connections.describe(),
            "work": self.working(),
            "http": self.http,
            "sync": self.syncer.state,
            "remote": self.syncer.remote,
        }


def _log_failure(failure: StoreError) -> None:
    _log.error("the store did not open: %s", explain(failure))


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def owns(path: Path, file: tuple[int, int]) -> bool:
    """Whether the file at ``path`` is still the one that ``file`` (device, inode) names."""
    try:
        return _identity(path) == file
    except OSError:
        return False


def _give_up() -> None:
    _log.error("leaving took longer than %g seconds", LEAVE_SECONDS)
    os._exit(1)
