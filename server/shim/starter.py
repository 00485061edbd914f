"""Starting a hub: who may, with what, and why it did not work."""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH103, PTH120, SIM105

from __future__ import annotations

import os
import sys

from . import places
from .ordinary import content, opened
from .spawn import is_alive, start_detached
from .wire import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Starter", "try_lock"]

LONGEST_NUMBER = 20  # digits of a process


class Starter:
    """At most one hub for one store. ``pid`` is the hub that was started here, 0 for none. All raise OSError."""

    def __init__(self, home: str, env: Mapping[str, str], hub: Sequence[str] = ()) -> None:
        self._home = home
        self._env = env
        self._hub = list(hub) or [sys.executable, "-I", "-m", "prowess.server.hub", "--home", home]
        self._lock = -1
        self._place = ""  # of the lock
        self._started_again = False
        self.pid = 0

    @property
    def may_start(self) -> bool:
        """Whether this process is the one that starts a hub."""
        return self._lock >= 0

    def take_lock(self) -> None:
        """Become the one that starts a hub, unless another process is. Raises ``PlaceError``, too."""
        places.make_run_folder(self._home)
        log = places.log_path(self._home, places.allowed_environment(self._home, self._env))
        os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
        self._place = places.start_lock(log)
        self._lock = try_lock(self._place)
        if self._lock >= 0:
            try:
                os.pwrite(self._lock, b"%-*d" % (LONGEST_NUMBER, os.getpid()), 0)
            except OSError:
                pass  # a courtesy to those that wait

    def release(self) -> None:
        """Let others start hubs; the one that was started is on its own."""
        self.pid = 0
        self._started_again = False
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def is_owned(self) -> bool:
        """Whether some hub has the store: one that starts, one that leaves, or one that hangs."""
        lock = try_lock(places.hub_lock(self._home))
        if lock >= 0:
            os.close(lock)
        return lock < 0

    def start(self) -> None:
        """Start a hub. Of this process's settings it gets only what the user allowed."""
        allowed = places.allowed_environment(self._home, self._env)
        kept = {name: value for name, value in self._env.items() if name not in places.SETTING_NAMES}
        folder, errors = places.run_folder(self._home), places.error_file(self._home)
        self.pid = start_detached(self._hub, {**kept, **allowed}, folder, errors)

    def death(self) -> Failure | None:
        """Why the hub that was started has ended; None while it lives or another may be started."""
        if is_alive(self.pid):
            return None
        if self.is_owned():
            self.pid = 0
            return None
        told = places.read_state(self._home).get("failure")
        if not isinstance(told, dict) or told.get("pid") != self.pid:
            return self._last_words()
        hint = str(told.get("hint") or self.advice())
        return Failure(str(told.get("reason") or "the hub could not start"), hint, local=told.get("kind") == "socket")

    def _last_words(self) -> Failure | None:
        lines = _tail(places.error_file(self._home))
        if not lines and not self._started_again:
            # Killed, by someone or for want of memory: the next one may be luckier.
            self._started_again = True
            self.pid = 0
            return None
        hint = lines.pop().removeprefix("hint:").strip() if lines and lines[-1].startswith("hint:") else self.advice()
        reason = lines[-1].removeprefix("prowess:").strip() if lines else "it said nothing"
        return Failure(f"the hub ended while it started: {reason}", hint)

    def silence(self, seconds: float) -> Failure:
        """The hub has said nothing for so long, or there is none and another process is the one that starts it."""
        if self._place and not self.may_start and not self.is_owned():
            return Failure(
                f"another process{_numbered(_number_in(self._place))} that starts a hub got nowhere in {seconds:g} s",
                f"Let it go on, or end it: it has {self._place} locked.",
            )
        pid = self.pid or places.read_state(self._home).get("pid")
        known = isinstance(pid, int) and is_alive(pid)  # else what was written is of an earlier one
        return Failure(f"the hub{_numbered(pid if known else 0)} did not answer within {seconds:g} s", self.advice())

    def advice(self) -> str:
        """The hint where nothing better is known."""
        log = places.log_file(self._home)
        return f"`prowess hub status` and {log} say more; `prowess hub stop` ends a hub that hangs."


def try_lock(path: str) -> int:
    """A descriptor that holds the lock at ``path``, or -1 when another process has it. Raises OSError."""
    import fcntl

    descriptor = opened(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return -1
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _number_in(path: str) -> int:
    try:
        return int(content(path, LONGEST_NUMBER))
    except (OSError, ValueError):
        return 0


def _numbered(pid: object) -> str:
    return f" (pid {pid})" if pid else ""


def _tail(path: str) -> list[str]:
    """The last lines of a file, blank ones left out."""
    try:
        text = content(path, 4096, end=True).decode("utf-8", "replace")
    except OSError:
        return []
    return [line.strip()[:500] for line in text.splitlines() if line.strip()]
