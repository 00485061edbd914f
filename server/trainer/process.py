"""The trainer's process as the system has it: what it is given, what it may take, how it ends."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from prowess.server.shim.places import SETTING_NAMES

__all__ = ["environment", "exited", "how_it_ended", "kill", "limit"]

NICE = 10
THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


async def exited(process: Process) -> None:
    # In some versions of Python waiting ends only with the pipes, which a child of the trainer may hold open.
    while process.returncode is None:
        with anyio.move_on_after(1.0):
            await process.wait()


def kill(process: Process) -> None:
    """The trainer with its children; it leads a group of its own."""
    with suppress(ProcessLookupError):
        if process.returncode is None and hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()


def limit(pid: int, memory: int) -> None:
    """Behind everything else in the queue for a processor; data beyond ``memory`` bytes (0: no limit) is refused."""
    with suppress(OSError):
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, pid, NICE)
        if sys.platform == "linux":
            import resource

            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
            if memory:
                # Not the address space: numeric libraries reserve much more of it than they use.
                resource.prlimit(pid, resource.RLIMIT_DATA, (memory, memory))


def environment(threads: int) -> dict[str, str]:
    """Without what settings know, such as keys: a trainer needs none of it but what ``extra`` tells."""
    passed = {name: value for name, value in os.environ.items() if name not in SETTING_NAMES}
    return {**passed, **dict.fromkeys(THREAD_SETTINGS, str(threads))}


def how_it_ended(code: int | None, errors: Path) -> str:
    """How a trainer ended that told no reason, as one may whose memory was refused while torch was loaded."""
    with suppress(OSError):
        if errors.stat().st_size:
            return f"{_ended(code)}; what it said is in {errors}"
    return _ended(code)


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the trainer was ended by signal {-code}"
    return f"the trainer ended with exit code {code}" if code else "the trainer ended without a result"
