"""The way to a hub: found, started where there is none, and given up with a reason within a bound.

Nothing here waits: ``step`` does what can be done at once and ``wake`` says when to come again.
"""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH109

from __future__ import annotations

import errno
import os
import sys

from . import places
from .lean import Socket, connect, scan, socket_pair
from .notes import say
from .spawn import start_child
from .starter import Starter
from .stream import PROTOCOL
from .wire import VERSION, Failure, dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["Limits", "Link"]

LONGEST_HELLO = 1 << 16
LONGEST_NAME, LONGEST_PATH = 200, 4096  # characters that the hub takes
# bind or flock say one of these where the file system has no sockets or no locks.
NOT_HERE = frozenset({errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK})
NOT_YOURS = "`prowess doctor` tells what in it is closed to you; or name another folder with --store or PROWESS_HOME."


class Limits:
    """The bounds of every wait, in seconds; ``others`` stand in for the usual ones."""

    start = 30.0  # a cold Python on a busy laptop, and the mcp import
    hello = 30.0  # a hub that starts takes connections before it has loaded what answers them
    leave = 60.0  # for a hub that leaves, which finishes what it does before
    end = 30.0  # for open answers after the client closed our input
    flush = 5.0  # for a client to read what is left after that
    first_back_off = 0.5
    last_back_off = 8.0
    poll = 0.01  # between looks for the socket of a hub that starts

    def __init__(self, **others: float) -> None:
        for name, seconds in others.items():
            if not hasattr(Limits, name):
                raise TypeError(f"{name} is no bound of a wait")
            setattr(self, name, seconds)


class Link:
    """At rest, on its way (``busy``), ``up``, or given up with a ``failure``."""

    def __init__(
        self,
        home: str,
        env: Mapping[str, str],
        session: str,
        limits: Limits,
        hub: Sequence[str] = (),
    ) -> None:
        self._home = home
        self._env = env
        self._session = session
        self._limits = limits
        self._starter = Starter(home, env, hub)
        self.socket: Socket | None = None
        self.up = False
        self.busy = False
        self.failure: Failure | None = None
        self.wake: float | None = None
        self.received = b""  # what came behind the hub's hello
        self._began = 0.0
        self._bound = 0.0  # seconds from then on
        self._answer = bytearray()
        self._answer_by = 0.0
        self._last: Failure | None = None
        self._back_off = 0.0
        self._rest_until = 0.0
        self._in_process = False
        self._child = 0

    def want(self, now: float) -> None:
        """Make a connection unless there is one, one is being made, or the last try failed just now."""
        if self.up or self.busy or now < self._rest_until:
            return
        self.failure = None
        self._last = None
        self.busy = True
        self._began = now
        self._bound = self._limits.start
        self.step(now)

    def step(self, now: float) -> None:
        """Do what can be done now, when a connection is wanted."""
        if not self.busy:
            return
        try:
            if self._in_process:
                self._start_in_process()
            elif self.socket is not None:
                self._read_hello(now)
            else:
                self._seek(now)
        except places.PlaceError as error:
            self._fail(Failure(str(error), error.hint), now)
        except OSError as error:
            self._fail_for(error, now)

    def works(self) -> None:
        """A request was answered over this link: the next loss is not one of a series."""
        self._back_off = 0.0

    def lose(self) -> None:
        """The connection ended."""
        self._close_socket()
        self.up = self.busy = False
        self.wake = None
        if self._child:
            os.waitpid(self._child, os.WNOHANG)
            self._child = 0

    def give_up(self, failure: Failure, now: float) -> None:
        """The hub cannot be worked with, whatever it says."""
        self.lose()
        self._fail(failure, now)

    # Looking for a hub and starting one.

    def _seek(self, now: float) -> None:
        if self._connect(now):
            return
        if now >= self._began + self._bound:
            self._fail(self._last or self._starter.silence(self._bound), now)
        else:
            self._start(now)
        if self.busy:
            self.wake = now + self._limits.poll

    def _start(self, now: float) -> None:
        starter = self._starter
        if starter.pid:
            if (death := starter.death()) is not None:
                self._fail(death, now)
        elif not starter.may_start:
            starter.take_lock()  # whoever had it before may have started one, so that is looked for first
        elif starter.is_owned():
            self._bound = self._limits.leave
        else:
            starter.start()

    def _connect(self, now: float) -> bool:
        for path in self._sockets():
            try:
                self.socket = connect(path)
            except OSError as error:
                if error.errno in NOT_HERE or error.errno in (errno.EACCES, errno.EPERM):
                    raise
                continue
            self._answer = bytearray()
            self._answer_by = now + self._limits.hello
            self.wake = self._answer_by
            self._greet(now)
            return True
        return False

    def _sockets(self) -> list[str]:
        path = places.socket_path(self._home)
        if not self._starter.may_start:
            return [path]
        # A hub that was started with another XDG_RUNTIME_DIR listens elsewhere when the path is a long one.
        told = places.read_state(self._home).get("socket")
        return [path, told] if isinstance(told, str) and told and told != path else [path]

    # The hub's hello.

    def _greet(self, now: float) -> None:
        assert self.socket is not None
        hello = {
            "protocol": PROTOCOL,
            "kind": "shim",
            "version": VERSION,
            "session": self._session,
            "cwd": _cwd(),
            "project": self._env.get("PROWESS_PROJECT", "")[:LONGEST_NAME],
            "env": places.allowed_environment(self._home, self._env),
        }
        try:
            # A fresh socket takes far more than this at once.
            self.socket.send(dump({"prowess": hello}).encode() + b"\n")
        except OSError:
            self._look_again(now)

    def _read_hello(self, now: float) -> None:
        assert self.socket is not None
        try:
            chunk = self.socket.recv(LONGEST_HELLO)
        except BlockingIOError:
            if now >= self._answer_by:
                self._close_socket()
                self._fail(self._starter.silence(self._limits.hello), now)
            return
        except OSError:
            chunk = b""
        self._answer += chunk
        if b"\n" in self._answer:
            line, _, self.received = bytes(self._answer).partition(b"\n")
            self._judge(line, now)
        elif not chunk or len(self._answer) > LONGEST_HELLO:
            self._look_again(now)

    def _judge(self, line: bytes, now: float) -> None:
        told = _hello(line)
        status = told.get("status")
        if status == "ok" and told.get("protocol") == PROTOCOL:
            self._rise()
            return
        if status == "retiring" and not self._starter.may_start:
            # Before the hub lets the other clients go: else one of them starts an older hub, which has to leave again.
            self._starter.take_lock()
        self._close_socket()
        reason = str(told.get("reason") or "the hub speaks another protocol than this program")
        failure = Failure(reason, str(told.get("hint") or "Restart your agents, so that all run the same version."))
        if status == "retiring" and self._is_older_install(told):
            self._fail(Failure(reason, f"{sys.executable} has an older prowess than this shim: upgrade it."), now)
        elif status == "retiring":
            self._last = failure
            self._bound = self._limits.leave
            self._look_again(now)
        else:
            self._fail(failure, now)

    def _is_older_install(self, told: Mapping[str, Any]) -> bool:
        # Each further hub that we start would leave as well.
        started = self._starter.pid
        return bool(started) and told.get("pid") == started and told.get("version") != VERSION

    def _look_again(self, now: float) -> None:
        """This hub is leaving; look for the next one until the time is over."""
        self._close_socket()
        if now >= self._began + self._bound:
            self._fail(self._last or self._starter.silence(self._bound), now)
        else:
            self.wake = now + self._limits.poll

    def _rise(self) -> None:
        self._starter.release()
        self.busy = False
        self.up = True
        self.wake = None

    # Where no hub can be had.

    def _start_in_process(self) -> None:
        # Lines were read already, so this process cannot become the server: it talks to one as it would to a hub.
        self.socket, theirs = socket_pair()
        command = [sys.executable, "-I", "-m", "prowess.server", "serve", "--in-process", "--store", self._home]
        try:
            self._child = start_child(command, self._env, theirs.fileno())
        finally:
            theirs.close()
        self.received = b""
        self._rise()

    def _fail_for(self, error: OSError, now: float) -> None:
        reason = f"the hub cannot be reached: {error.filename or self._home}: {error.strerror or error}"
        # Where the folder is closed to this user, neither the hub's log nor a command over the hub says more.
        hint = NOT_YOURS if error.errno in (errno.EACCES, errno.EROFS) else self._starter.advice()
        self._fail(Failure(reason, hint, local=error.errno in NOT_HERE), now)

    def _fail(self, failure: Failure, now: float) -> None:
        self._starter.release()
        self._close_socket()
        if failure.local and not self._in_process:
            self._in_process = True
            say(f"prowess: warning: {failure.reason}: the store is opened for this client alone\n")
            self.wake = now
            return
        self.busy = False
        self.wake = None
        self.failure = failure
        self._back_off = min(max(self._back_off * 2, self._limits.first_back_off), self._limits.last_back_off)
        self._rest_until = now + self._back_off

    def _close_socket(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


def _hello(line: bytes) -> dict[str, Any]:
    try:
        said, _ = scan(line.decode("utf-8", "replace").strip(), 0)
    except (ValueError, StopIteration, RecursionError):
        return {}
    told = said.get("prowess") if isinstance(said, dict) else None
    return told if isinstance(told, dict) else {}


def _cwd() -> str:
    try:
        folder = os.getcwd()
    except OSError:  # it was removed under us
        return ""
    return folder if len(folder) <= LONGEST_PATH else ""
