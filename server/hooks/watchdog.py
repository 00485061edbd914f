"""The end of a hook that hangs: on a disk, on a pipe that nobody closes, on whatever else."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["arm"]


def arm(seconds: float) -> None:
    """End this process with exit code 0 after so many seconds, wherever it is then."""
    try:
        from _signal import ITIMER_REAL, SIGALRM, setitimer  # type: ignore[import-not-found]
        from _signal import signal as set_signal
    except ImportError:
        _arm_thread(seconds)  # Windows
        return
    set_signal(SIGALRM, _leave)
    setitimer(ITIMER_REAL, seconds)


def _leave(number: int, frame: Any) -> None:
    os._exit(0)


def _arm_thread(seconds: float) -> None:
    import _thread
    import time

    def watch() -> None:
        time.sleep(seconds)
        os._exit(0)

    _thread.start_new_thread(watch, ())
