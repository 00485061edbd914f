"""The hub as a hook sees it: told to look into the spool, asked for context, started where it is away."""

from __future__ import annotations

import json
import os
import time

from prowess.server.shim import places
from prowess.server.shim.stream import PROTOCOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["ask", "poke", "start"]

CONNECT_SECONDS = 0.1  # a Unix socket answers at once, unless a hundred others wait in its queue
POLL_SECONDS = 0.02
MAX_ANSWER = 1 << 20


def poke(home: str) -> bool:
    """Tell the hub to look into the spool; False where none is there. It answers nothing and is not waited for."""
    connection = _connected(home, "spool", CONNECT_SECONDS)
    if connection is None:
        return False
    connection.close()
    return True


def ask(home: str, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The hub's answer within ``seconds``, in which it may still be starting; empty for none."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return {}
        connection = _connected(home, "context", min(left, CONNECT_SECONDS))
        if connection is not None:
            try:
                return _answer(connection, {**question, "seconds": round(left, 3)}, deadline)
            finally:
                connection.close()
        time.sleep(min(POLL_SECONDS, left))


def _connected(home: str, command: str, seconds: float) -> Any:
    """A connection on which the hello was said; None where no hub takes it."""
    try:
        from _socket import AF_UNIX, SOCK_STREAM
        from _socket import socket as Socket  # noqa: N812 - a class, whatever C calls it
    except ImportError:
        return None  # Windows
    connection = Socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(places.socket_path(home))
        hello = {"protocol": PROTOCOL, "kind": "hook", "version": "", "command": command}
        connection.sendall(json.dumps({"prowess": hello}).encode() + b"\n")
    except OSError:
        connection.close()
        return None
    return connection


def _answer(connection: Any, question: Mapping[str, Any], deadline: float) -> dict[str, Any]:
    received = b""
    try:
        connection.sendall(json.dumps(question).encode() + b"\n")
        while b"\n" not in received and len(received) < MAX_ANSWER:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = connection.recv(65536)
            if not chunk:
                return {}
            received += chunk
        told = json.loads(received.partition(b"\n")[0])
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def start(home: str) -> None:
    """Start a hub unless one has the store or somebody else is starting one. It outlives this process."""
    from prowess.server.shim.starter import Starter

    starter = Starter(home, os.environ)
    try:
        starter.take_lock()
        if starter.may_start and not starter.is_owned():
            starter.start()
    except (OSError, places.PlaceError):
        pass  # the shim or `prowess doctor` tells why; the event lies safe in the spool
    finally:
        starter.release()
