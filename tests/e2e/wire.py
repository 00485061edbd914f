"""A real server process, spoken to in raw lines."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["SECONDS", "Wire", "command"]

SECONDS = 180.0  # a cold Python on a busy machine, and then some


def command(home: Path) -> list[str]:
    return [sys.executable, "-I", "-m", "prowess.server", "serve", "--in-process", "--store", str(home)]


class Wire:
    """One process and its lines. ``stderr`` is what it said beside the protocol, once it has ended."""

    def __init__(self, home: Path, **environ: str) -> None:
        environment = {**os.environ, "PROWESS_EMBEDDER": "none", "PROWESS_WITHHOLD": "0", **environ}
        self.process = subprocess.Popen(
            command(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._said: list[bytes] = []
        self._number = 0
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._hear, self._listen)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def _hear(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self._said += self.process.stderr

    @property
    def stderr(self) -> str:
        return b"".join(self._said).decode("utf-8", "replace")

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        """The next message; None at the end."""
        line = self._lines.get(timeout=SECONDS)
        return None if line is None else json.loads(line)

    def request(self, method: str, params: Any) -> int:
        """Send a request and return its id. Lone surrogates and NaN go out as Python's JSON writes them."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(json.dumps(message).encode())
        return self._number

    def answer(self, number: int | str | None) -> dict[str, Any]:
        """The answer to request ``number``; what comes before it is dropped."""
        while (message := self.receive()) is not None:
            if message.get("id") == number and "method" not in message:
                return dict(message)
        raise AssertionError(f"the server ended without an answer: {self.stderr}")

    def initialize(self) -> dict[str, Any]:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        answer = self.answer(self.request("initialize", client))
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[bool, str, dict[str, Any]]:
        """Whether the tool answered without an error, its text, and its structured content."""
        result = self.answer(self.request("tools/call", {"name": tool, "arguments": arguments}))["result"]
        return not result.get("isError"), result["content"][0]["text"], result.get("structuredContent") or {}

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ends(self) -> int:
        """Wait for the end of the process and return its exit code."""
        code = self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        return code

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)
