"""A real shim process over pipes, and a hub that does what a test says."""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import prowess.server.shim
from prowess.server.shim import places

__all__ = ["LIMITS", "SECONDS", "Connection", "Hub", "Shim", "fake_hub", "initialize", "is_running", "until"]

SECONDS = 120.0  # a busy machine, and then some
SHIM_PARENT = str(Path(prowess.server.shim.__file__).parents[1])
LIMITS = {"start": 20.0, "hello": 20.0, "end": 20.0, "first_back_off": 0.05, "last_back_off": 0.05}
DRIVER = """
import json, sys
sys.path.append(sys.argv[1])
from shim.command import run
from shim.link import Limits
sys.exit(run(["--store", sys.argv[2]], limits=Limits(**json.loads(sys.argv[3])), hub=json.loads(sys.argv[4])))
"""
NO_HUB = [sys.executable, "-I", "-S", "-c", "import sys; sys.exit('prowess: this test starts no hub')"]

initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "kit", "version": "1"}}


def fake_hub(home: Path, mode: str = "echo") -> list[str]:
    """The command that starts ``echo_hub.py``."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("echo_hub.py")), str(home), mode]


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return ") Z" not in stat


@contextmanager
def until(what: str, seconds: float = SECONDS) -> Iterator[threading.Event]:
    """``while not pause.wait(0.01)`` ends with an error after ``seconds``."""
    end = threading.Event()
    timer = threading.Timer(seconds, end.set)
    timer.start()
    try:
        yield end
        assert not end.is_set(), f"not within {seconds} s: {what}"
    finally:
        timer.cancel()


class Shim:
    """One shim and its lines. A context manager: the process is killed at the end."""

    def __init__(
        self,
        home: Path,
        *,
        hub: Sequence[str] = NO_HUB,
        reading: bool = True,
        listening: bool = True,
        environ: dict[str, str] | None = None,
        **limits: float,
    ) -> None:
        given = [SHIM_PARENT, str(home), json.dumps({**LIMITS, **limits}), json.dumps(list(hub))]
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", DRIVER, *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environ or {})},
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin, self.stdout, self.errors = self.process.stdin, self.process.stdout, self.process.stderr
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._said: list[bytes] = []
        self._threads: list[threading.Thread] = []
        if listening:
            self._start(self._listen)
        if reading:
            self.read()

    def _start(self, work: Any) -> None:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self._threads.append(thread)

    def read(self) -> None:
        """Read stdout from now on."""
        self._start(self._hear)

    def _hear(self) -> None:
        with os.fdopen(os.dup(self.stdout.fileno()), "rb") as file:
            for line in file:
                self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        with os.fdopen(os.dup(self.errors.fileno()), "rb") as file:
            self._said += file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        for pipe in (self.stdin, self.stdout, self.errors):
            pipe.close()

    @property
    def stderr(self) -> str:
        return b"".join(self._said).decode()

    def send(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        view = memoryview(line + b"\n")
        while view:
            view = view[self.stdin.write(view) :]

    def request(self, request_id: int | str, method: str = "tools/call", **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def receive(self) -> Any:
        """The next message; None at the end."""
        line = self._lines.get(timeout=SECONDS)
        return None if line is None else json.loads(line)

    def silent(self) -> bool:
        """Whether nothing was received that was not taken."""
        return self._lines.empty()

    def ends(self) -> int:
        code = self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        return code

    def peak_kilobytes(self) -> int:
        """The most memory it had so far; 0 where the system does not tell."""
        path = Path(f"/proc/{self.process.pid}/status")
        status = path.read_text() if path.exists() else "VmHWM: 0"
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


class Connection:
    """The hub's end of one connection."""

    def __init__(self, raw: socket.socket) -> None:
        raw.settimeout(SECONDS)
        self.raw = raw
        self._file = raw.makefile("rb")
        self.hello: dict[str, Any] = json.loads(self._file.readline())["prowess"]

    def send(self, message: Any) -> None:
        self.raw.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def accept(self) -> None:
        self.send({"prowess": {"protocol": 1, "version": "0.1.0", "schema": {}, "pid": os.getpid(), "status": "ok"}})

    def answer(self, request_id: int | str, result: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "id": request_id, "result": {} if result is None else result})

    def line(self) -> bytes:
        """The next line; empty at the end."""
        return self._file.readline()

    def receive(self) -> dict[str, Any]:
        return dict(json.loads(self.line()))

    def has_ended(self) -> bool:
        return self._file.read() == b""

    def close(self) -> None:
        self._file.close()
        self.raw.close()


class Hub:
    """A socket where a hub's would be. A context manager: nobody listens after it."""

    def __init__(self, home: Path) -> None:
        places.make_run_folder(home)
        self._path = places.socket_path(home)
        Path(self._path).unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen(16)
        self._listener.settimeout(SECONDS)
        self._connections: list[Connection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for connection in self._connections:
            connection.close()
        self._listener.close()
        Path(self._path).unlink(missing_ok=True)

    def meet(self) -> Connection:
        """The next connection, its hello read and not answered."""
        connection = Connection(self._listener.accept()[0])
        self._connections.append(connection)
        return connection

    def accept(self) -> Connection:
        """The next connection, taken."""
        connection = self.meet()
        connection.accept()
        return connection

    def nobody_comes(self, seconds: float = 0.2) -> bool:
        return not select.select([self._listener], [], [], seconds)[0]


def terminate(pid: int) -> None:
    """End a hub that a shim started."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    with until(f"the end of {pid}") as late:
        while is_running(pid) and not late.wait(0.01):
            pass
