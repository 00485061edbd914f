"""Agents that work through real shims while someone kills what they work through; and who is left behind.

Every process that a test starts inherits a mark in its environment, as do their children: so hubs and workers are found
however they were started, and no others are.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prowess.server.shim

__all__ = ["MARK", "SECONDS", "Gone", "Marked", "Process", "Shim", "shim_command", "wait_for"]

SECONDS = 120.0  # for one answer: two cold hubs on a busy machine, and then some
POLL_SECONDS = 0.02
SHIM = str(Path(prowess.server.shim.__file__).with_name("__main__.py"))
MARK = "PROWESS_TEST_MARK"
HUB = "prowess.server.hub"
LEGACY, MODERN = "2025-06-18", "2026-07-28"


class Gone(Exception):
    """The shim ended before it answered."""


def wait_for(what: str, found: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Look until ``found``; fails after ``seconds``."""
    late = threading.Event()
    timer = threading.Timer(seconds, late.set)
    timer.start()
    try:
        while not found():
            assert not late.wait(POLL_SECONDS), f"not within {seconds:g} s: {what}"
    finally:
        timer.cancel()


@dataclass(frozen=True)
class Process:
    """One running process, told from a later one of the same pid by when it started."""

    pid: int
    parent: int
    started: str
    command: str

    @property
    def is_hub(self) -> bool:
        words = self.command.split("\0")
        return words[2:4] == ["-m", HUB] or (len(words) > 2 and words[2].endswith("newer_hub.py"))

    def kill(self, number: int = signal.SIGKILL) -> bool:
        """Whether it was there to get the signal."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True


class Marked:
    """All processes that came from one test."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex
        self._shims: list[Shim] = []

    @property
    def environ(self) -> dict[str, str]:
        """For the processes that the test starts itself."""
        return {**os.environ, MARK: self._mark}

    def running(self) -> list[Process]:
        """What runs now; processes that ended and wait to be collected do not."""
        wanted = f"{MARK}={self._mark}".encode()
        found = (_look_at(entry, wanted) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [process for process in found if process is not None]

    def hubs(self) -> list[Process]:
        """From the moment that they are Python processes of their own."""
        return [process for process in self.running() if process.is_hub]

    def shim(self, home: Path, **options: Any) -> Shim:
        """A shim that is ended with the rest."""
        shim = Shim(home, self.environ, **options)
        self._shims.append(shim)
        return shim

    def end(self) -> None:
        """Kill whatever is left."""
        for shim in self._shims:
            shim.dispose()
        for process in self.running():
            process.kill()
        wait_for("the end of what was killed", lambda: not self.running())


def _look_at(entry: Path, wanted: bytes) -> Process | None:
    try:
        if wanted not in (entry / "environ").read_bytes().split(b"\0"):
            return None
        command = (entry / "cmdline").read_text()
        state, parent, *others = (entry / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None  # it ended meanwhile, or belongs to someone else
    return None if state == "Z" else Process(int(entry.name), int(parent), others[17], command)


def shim_command(home: Path) -> list[str]:
    """As installers write it."""
    return [sys.executable, "-I", "-S", SHIM, "--store", str(home)]


class Shim:
    """A shim over pipes and a client of either era, in raw lines; one thread asks, and any may kill."""

    def __init__(
        self,
        home: Path,
        environ: Mapping[str, str],
        *,
        name: str = "chaos",
        version: str = LEGACY,
        cwd: Path | None = None,
        command: list[str] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            command or shim_command(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            cwd=cwd,
            bufsize=0,
        )
        self._name = name
        self._version = version
        self._number = 0
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._answers: dict[int, dict[str, Any]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with os.fdopen(os.dup(self.process.stdout.fileno()), "rb") as file:
            for line in file:
                # A line that the kill cut was never said.
                if line.endswith(b"\n"):
                    self._lines.put(line)
        self._lines.put(None)

    def greet(self) -> dict[str, Any]:
        """Make the handshake of the older era; the newer one has none. Raises Gone."""
        if self._version == MODERN:
            return {}
        hello = {"protocolVersion": self._version, "capabilities": {}}
        answer = self.request("initialize", {**hello, "clientInfo": {"name": self._name, "version": "1"}})
        if "error" not in answer:
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        """The whole answer to a tool's call. Raises Gone."""
        meta: dict[str, Any] = {"prowess/idempotency-key": key} if key else {}
        return self.request("tools/call", {"name": tool, "arguments": arguments}, meta)

    def request(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer, a result or an error. Raises Gone, and AssertionError when none comes in time."""
        return self.answer(self._ask(method, params, meta), method)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> int:
        """Send a tool's call and do not wait; its id. Raises Gone."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments}, {})

    def _ask(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any] | None) -> int:
        self._number += 1
        told = {**(meta or {}), **self._era()}
        sent = {**params, "_meta": told} if told else params
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": sent})
        return self._number

    def answer(self, number: int, what: str) -> dict[str, Any]:
        """The answer to request ``number``, in whatever order they come. Raises Gone, and AssertionError."""
        while number not in self._answers:
            try:
                line = self._lines.get(timeout=SECONDS)
            except queue.Empty:
                raise AssertionError(f"{self._name} hangs: no answer to {what} within {SECONDS:g} s") from None
            if line is None:
                raise Gone
            message: dict[str, Any] = json.loads(line)
            assert message["jsonrpc"] == "2.0", line
            if "method" not in message:
                assert message["id"] not in self._answers, f"answered twice: {line!r}"
                self._answers[message["id"]] = message
        return self._answers.pop(number)

    def _era(self) -> dict[str, Any]:
        if self._version != MODERN:
            return {}
        prefix = "io.modelcontextprotocol/"
        said = {"protocolVersion": MODERN, "clientInfo": {"name": self._name, "version": "1"}, "clientCapabilities": {}}
        return {prefix + name: value for name, value in said.items()}

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        view = memoryview(json.dumps(message).encode() + b"\n")
        try:
            while view:
                view = view[self.process.stdin.write(view) :]
        except BrokenPipeError:
            raise Gone from None

    def kill(self) -> bool:
        """Whether it was there to be killed."""
        if self.process.poll() is not None:
            return False
        self.process.kill()
        return True

    def close(self) -> int:
        """End its input as a client does that leaves, and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return self.process.wait(SECONDS)
        finally:
            self.dispose()

    def dispose(self) -> None:
        """Leave nothing of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        self.process.stdin.close()
        self.process.stdout.close()
