"""The C halves of ``json``, ``socket``, ``signal`` and ``collections``.

The public modules import ``re`` and ``enum``, which takes longer than all the rest of this process's start. Where one
of these is missing (``AF_UNIX`` on Windows) the import fails, and the server runs in the client's own process.
"""

from __future__ import annotations

import os
from _collections import deque  # type: ignore[import-not-found]
from _json import encode_basestring_ascii as quote
from _json import make_scanner
from _json import scanstring as scan_text
from _signal import set_wakeup_fd as set_wakeup  # type: ignore[import-not-found]
from _signal import signal as set_signal
from _socket import AF_UNIX, SOCK_STREAM
from _socket import socket as Socket  # noqa: N812 - a class, whatever C calls it
from _socket import socketpair as _pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Socket", "connect", "deque", "quote", "scan", "scan_text", "set_signal", "set_wakeup", "socket_pair"]


class _Reading:
    """What ``json.JSONDecoder`` hands to the scanner. Control characters in texts are for the hub to judge."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_object = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's, shared by design


# (text, index) → (value, end). Raises ValueError, StopIteration or RecursionError.
scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Reading)  # type: ignore[arg-type]


def connect(path: str) -> Socket:
    """A non-blocking connection to the Unix socket at ``path``. Raises OSError."""
    sock = Socket(AF_UNIX, SOCK_STREAM)
    os.set_inheritable(sock.fileno(), False)
    sock.setblocking(False)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock


def socket_pair() -> tuple[Socket, Socket]:
    """Two connected sockets; the first is non-blocking."""
    ours, theirs = _pair()
    ours.setblocking(False)
    return ours, theirs
