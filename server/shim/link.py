"""The way to a hub: found, started where there is none, and given up with a reason within a bound.

Nothing here waits: ``step`` does what can be done at once and ``wake`` says when to come again.
"""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH103, PTH109, PTH120, PTH123

from __future__ import annotations

import errno
import os
import sys

from . import places
from .lean import Socket, connect, scan, socket_pair
from .notes import say
from .spawn import is_alive, start_child, start_detached
from .wire import PROTOCOL, VERSION, Failure, dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["Limits", "Link"]

LONGEST_HELLO = 1 << 16
LONGEST_NAME, LONGEST_PATH = 200, 4096  # characters that the hub takes
# bind or flock say one of these where the file system has no sockets or no locks.
NOT_HERE = frozenset({errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK})


class Limits:
    """The bounds of every wait, in seconds."""

    def __init__(
        self,
        *,
        start: float = 30.0,  # a cold Python on a busy laptop, and the mcp import
        hello: float = 30.0,  # a hub that starts takes connections before it has loaded what answers them
        leave: float = 60.0,  # for a hub that leaves, which finishes what it does before
        end: float = 30.0,  # for open answers after the client closed our input
        flush: float = 5.0,  # for a client to read what is left after that
        first_back_off: float = 0.5,
        last_back_off: float = 8.0,
        poll: float = 0.01,  # between looks for the socket of a hub that starts
    ) -> None:
        self.start = start
        self.hello = hello
        self.leave = leave
        self.end = end
        self.flush = flush
        self.first_back_off = first_back_off
        self.last_back_off = last_back_off
        self.poll = poll


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
        self._hub = list(hub) or [sys.executable, "-I", "-m", "prowess.server.hub", "--home", home]
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
        self._lock = -1
        self._started = 0
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
            self._fail(self._last or self._silent(self._bound), now)
        elif self._started:
            self._watch(now)
        elif self._lock < 0:
            self._take_lock()
        elif self._is_owned():
            self._bound = self._limits.leave
        else:
            self._spawn()
        if self.busy:
            self.wake = now + self._limits.poll

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
        if not self._started and self._lock < 0:
            return [path]
        # A hub that was started with another XDG_RUNTIME_DIR listens elsewhere when the path is a long one.
        told = places.read_state(self._home).get("socket")
        return [path, told] if isinstance(told, str) and told and told != path else [path]

    def _take_lock(self) -> None:
        places.make_run_folder(self._home)
        log = places.log_path(self._home, places.allowed_environment(self._home, self._env))
        os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
        self._lock = _locked(places.start_lock(log))

    def _is_owned(self) -> bool:
        """Whether some hub has the store: one that starts, one that leaves, or one that hangs."""
        lock = _locked(places.hub_lock(self._home))
        if lock >= 0:
            os.close(lock)
        return lock < 0

    def _spawn(self) -> None:
        allowed = places.allowed_environment(self._home, self._env)
        kept = {name: value for name, value in self._env.items() if name not in places.SETTING_NAMES}
        self._started = start_detached(
            self._hub, {**kept, **allowed}, places.run_folder(self._home), places.error_file(self._home)
        )

    def _watch(self, now: float) -> None:
        if is_alive(self._started):
            return
        if self._is_owned():  # another hub was quicker
            self._started = 0
        else:
            self._fail(self._death(), now)

    def _death(self) -> Failure:
        told = places.read_state(self._home).get("failure")
        if isinstance(told, dict) and told.get("pid", self._started) == self._started:
            return Failure(
                str(told.get("reason", "the hub could not start")),
                str(told.get("hint", "")) or self._advice(),
                local=told.get("kind") == "socket",
            )
        lines = _tail(places.error_file(self._home))
        hint = lines.pop().removeprefix("hint:").strip() if lines and lines[-1].startswith("hint:") else self._advice()
        reason = lines[-1].removeprefix("prowess:").strip() if lines else "it said nothing"
        return Failure(f"the hub ended while it started: {reason}", hint)

    def _silent(self, seconds: float) -> Failure:
        pid = places.read_state(self._home).get("pid")
        who = f"the hub (pid {pid})" if pid else "the hub"
        return Failure(f"{who} did not answer within {seconds:g} s", self._advice())

    def _advice(self) -> str:
        log = places.log_file(self._home)
        return f"`prowess hub status` and {log} say more; `prowess hub stop` ends a hub that hangs."

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
                self._fail(self._silent(self._limits.hello), now)
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
        self._close_socket()
        reason = str(told.get("reason") or "the hub speaks another protocol than this program")
        failure = Failure(reason, str(told.get("hint") or "Restart your agents, so that all run the same version."))
        if status == "retiring":
            self._last = failure
            self._bound = self._limits.leave
            self._look_again(now)
        else:
            self._fail(failure, now)

    def _look_again(self, now: float) -> None:
        """This hub is leaving; look for the next one until the time is over."""
        self._close_socket()
        if now >= self._began + self._bound:
            self._fail(self._last or self._silent(self._bound), now)
        else:
            self.wake = now + self._limits.poll

    def _rise(self) -> None:
        self._release()
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
        self._fail(Failure(reason, self._advice(), local=error.errno in NOT_HERE), now)

    def _fail(self, failure: Failure, now: float) -> None:
        self._release()
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

    def _release(self) -> None:
        self._started = 0
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _close_socket(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


def _locked(path: str) -> int:
    """A descriptor that holds the lock at ``path``, or -1 when another process has it. Raises OSError."""
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return -1
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _tail(path: str) -> list[str]:
    """The last lines of a file, blank ones left out."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 4096))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line.strip()[:500] for line in text.splitlines() if line.strip()]


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
