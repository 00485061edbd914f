"""The lock that a hub holds for life, and who holds it.

Its file names the process that took it, so that a hub which hangs can be ended without asking it anything, and nobody
else: what is written there is the holder's own word for as long as the lock is held.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from prowess.server.identity import identity_of, proven
from prowess.server.shim import places
from prowess.server.shim.ordinary import content, opened

__all__ = ["holder", "is_running", "send_signal", "take"]

LOCK_SECONDS = 3.0  # shims try the lock for a moment to see whether a hub lives
TRY_SECONDS = 0.02
LONGEST_SIGNATURE = 1000  # bytes


def take(home: Path) -> int | None:
    """A descriptor that holds the lock, open for as long as this process lives; None while another hub has it.

    Raises OSError.
    """
    from prowess.server.shim.starter import try_lock  # not on Windows

    deadline = time.monotonic() + LOCK_SECONDS
    while (descriptor := try_lock(places.hub_lock(home))) < 0:
        if time.monotonic() > deadline:
            return None
        time.sleep(TRY_SECONDS)
    _sign(descriptor)
    return descriptor


def _sign(descriptor: int) -> None:
    words = f"{os.getpid()} {identity_of(os.getpid())}\n".encode()
    try:
        os.pwrite(descriptor, words, 0)  # over what the last one wrote: on a full disk that is the only room
        os.ftruncate(descriptor, len(words))
    except OSError:
        with suppress(OSError):  # where it is no ordinary file there is nothing to cut
            os.ftruncate(descriptor, 0)


def is_running(home: Path) -> bool:
    """Whether some process holds the lock of the store's hub."""
    try:
        import fcntl

        descriptor = opened(places.hub_lock(home), os.O_RDONLY)  # a disk that cannot be written can have one as well
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder(home: Path) -> tuple[int, str]:
    """Number and identity of the process that holds the lock; 0 where it is not known. Only while it is held."""
    pid, identity = _signature(home)
    if pid and identity == identity_of(pid):
        return pid, identity
    told = places.read_state(home).get("pid")  # a version that signs nothing says it there
    if isinstance(told, int) and (identity := identity_of(told)) and _has_open(told, places.hub_lock(home)):
        return told, identity
    return 0, ""


def _signature(home: Path) -> tuple[int, str]:
    try:
        pid, _, identity = content(places.hub_lock(home), LONGEST_SIGNATURE).decode("ascii").strip().partition(" ")
        return int(pid), identity
    except (OSError, ValueError):
        return 0, ""


def _has_open(pid: int, path: str) -> bool:
    with suppress(OSError):
        meant = Path(path).stat()
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed by now
                if os.path.samestat(descriptor.stat(), meant):
                    return True
    return False


def send_signal(home: Path, number: int) -> None:
    """Send the signal to the process that holds the lock, if that is known for sure."""
    pid, identity = holder(home)
    with suppress(OSError):
        if sys.platform == "linux":
            with proven(pid, identity) as handle:
                if handle is not None:
                    signal.pidfd_send_signal(handle, number)
        elif pid > 1 and is_running(home):  # it lives, so the number is still its own
            os.kill(pid, number)
