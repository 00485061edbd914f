"""What is said to people, on stderr."""

from __future__ import annotations

import os
import select

__all__ = ["say"]


def say(text: str) -> None:
    """Write ``text`` to stderr if that can be done at once: a client that does not read it must not stop us."""
    poller = select.poll()
    poller.register(2, select.POLLOUT)
    if not poller.poll(0):
        return
    try:
        os.write(2, text.encode("utf-8", "replace")[: select.PIPE_BUF])
    except OSError:
        return  # it is closed
