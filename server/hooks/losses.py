"""How many events could not be left in the spool, and since when; kept where not a byte can be written any more.

It is a file without content: its length, made by cutting it further on, is the number of events, its modification time
the first of them, and the system's own time of its last change the last. None of that takes room on a full disk.
"""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH103, PTH116, PTH118

from __future__ import annotations

import os
import time

from prowess.server.shim.ordinary import opened

__all__ = ["KEPT_SECONDS", "note", "prepare", "told"]

KEPT_SECONDS = 7 * 24 * 3600.0  # after the last one: by then it was told, or nobody looks
TRIES = 20  # of hooks that count at the same moment
PAUSE_SECONDS = 0.002


def _file(home: str) -> str:
    return os.path.join(home, "logs", "hook.lost")


def prepare(home: str) -> None:
    """Make the file before it is needed: a disk may be too full for its name. Raises OSError."""
    os.close(_opened(home))


def _opened(home: str) -> int:
    os.makedirs(os.path.join(home, "logs"), mode=0o700, exist_ok=True)
    return opened(_file(home), os.O_RDWR | os.O_CREAT)


def note(home: str) -> None:
    """One more was lost."""
    try:
        descriptor = _opened(home)
    except OSError:
        return  # not even an empty file can be made
    try:
        _take_turn(descriptor)
        known, now = os.fstat(descriptor), time.time_ns()
        first = known.st_mtime_ns if _counts(known, now / 1e9) else now
        os.ftruncate(descriptor, known.st_size + 1 if first != now else 1)
        os.utime(_file(home), ns=(now, first))  # Windows takes no descriptor
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _take_turn(descriptor: int) -> None:
    """Wait for others that count, a moment at most: rather than hold up an agent it counts one too few."""
    try:
        import fcntl
    except ImportError:
        return  # Windows
    for _ in range(TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_SECONDS)
        else:
            return


def _counts(known: os.stat_result, now: float) -> bool:
    return known.st_size > 0 and now - known.st_ctime < KEPT_SECONDS


def told(home: str, now: float) -> tuple[int, float, float] | None:
    """How many were lost of late, and the times of the first and the last in seconds since 1970; None for none."""
    try:
        known = os.stat(_file(home))
    except OSError:
        return None
    if not _counts(known, now):
        return None
    return known.st_size, known.st_mtime, max(known.st_mtime, known.st_ctime)  # the system's clock is a coarser one
