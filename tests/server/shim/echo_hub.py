"""A hub for tests, as a program: ``echo_hub.py HOME MODE``. Answers every request with its method and its own pid.

Modes: echo; dies (an error at start); mute (never listens); deaf (listens, never answers); flaky (ends at the first
request); lone (cannot bind); older (retires for each newer shim). What it was started with is in
run/started.json, one line for each start.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path


def main(home: str, mode: str) -> int:
    run = Path(home, "run")
    note_start(run / "started.json")
    if mode == "dies":
        sys.stderr.write("Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named 'mcp'\n")
        return 1
    lock = os.open(run / "hub.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 3
    if mode == "lone":
        failure = {"kind": "socket", "pid": os.getpid(), "reason": "no sockets on this file system", "hint": "none"}
        write(run / "hub.json", {"failure": failure})
        return 1
    write(run / "hub.json", {"pid": os.getpid()})
    if mode == "mute":
        signal.pause()
    listen(run / "hub.sock", mode)
    return 0


def note_start(path: Path) -> None:
    opened = {link.name: os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
    facts = {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "cwd": str(Path.cwd()),
        "descriptors": {number: target for number, target in opened.items() if "/proc/" not in target},
        "environment": dict(os.environ),
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(facts) + "\n")


def write(path: Path, value: object) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value), encoding="utf-8")
    new.replace(path)


def listen(path: Path, mode: str) -> None:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(32)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, mode), daemon=True).start()


def serve(connection: socket.socket, mode: str) -> None:
    file = connection.makefile("rwb")
    file.readline()
    if mode == "deaf":
        file.read()
        return
    if mode == "older":
        told = {"version": "0.0.9", "pid": os.getpid(), "status": "retiring", "reason": "a newer one is here"}
        reply(file, {"prowess": told})
        os._exit(0)
    reply(file, {"prowess": {"protocol": 1, "version": "0.1.0", "schema": {}, "pid": os.getpid(), "status": "ok"}})
    for line in file:
        message = json.loads(line)
        if mode == "flaky":
            os._exit(1)
        if "id" in message:
            result = {"method": message["method"], "pid": os.getpid(), "params": message.get("params")}
            reply(file, {"jsonrpc": "2.0", "id": message["id"], "result": result})
    connection.shutdown(socket.SHUT_RDWR)


def reply(file, message: object) -> None:  # type: ignore[no-untyped-def]
    file.write(json.dumps(message).encode() + b"\n")
    file.flush()


sys.exit(main(*sys.argv[1:]))
