"""Processes told apart: a number alone may be another's by now."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["identity_of", "proven"]


def identity_of(pid: int) -> str:
    """What tells the process from a later one with the same number; "" where the system does not say."""
    try:
        # The name, in parentheses, may hold anything; the start time is the 20th field after it.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{int(fields[19])}"
    except (OSError, ValueError, IndexError):
        return ""


@contextmanager
def proven(pid: int, identity: str) -> Iterator[int | None]:
    """A handle of the process if it is the one meant, else None; one that ends meanwhile is not mistaken for the next.

    Raises OSError where there is no process of this number. The handle is for ``signal.pidfd_send_signal``.
    """
    if sys.platform != "linux" or not identity:
        yield None
        return
    handle = os.pidfd_open(pid)
    try:
        yield handle if identity_of(pid) == identity else None
    finally:
        os.close(handle)
