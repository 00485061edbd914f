"""A client that costs little: JSON lines over a process's pipes, so that a load measures the server, not its caller."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["IN_PROCESS", "NO_OP", "Session", "session"]

IN_PROCESS = ("-I", "-m", "prowess.server", "serve", "--in-process")
NO_OP = ("-I", str(Path(__file__).with_name("_noop.py")))
_LONGEST = 1 << 24
_HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Session:
    """One session with a server. Any number of tasks may call at once."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._waiting: dict[int, tuple[anyio.Event, list[Any]]] = {}
        self._last = 0

    def cpu_seconds(self) -> float:
        """Processor time that the server has used so far; NaN where the system does not tell."""
        return _cpu_seconds(self._process.pid)

    def cpu_seconds_in_all(self) -> float:
        """The same with the server's child processes."""
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            return self.cpu_seconds() + sum(_cpu_seconds(int(child)) for child in children)
        return math.nan

    async def read(self) -> None:
        """Hand each answer to its caller, until the server ends."""
        assert self._process.stdout is not None
        lines = BufferedByteReceiveStream(self._process.stdout)
        with contextlib.suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError):
            while True:
                message = json.loads(await lines.receive_until(b"\n", _LONGEST))
                if waiting := self._waiting.pop(message.get("id"), None):
                    waiting[1].append(message)
                    waiting[0].set()

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """The result of ``method``."""
        self._last += 1
        number, answered, answers = self._last, anyio.Event(), list[Any]()
        self._waiting[number] = answered, answers
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        await answered.wait()
        assert "result" in answers[0], answers[0]
        return answers[0]["result"]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The result of a tool that has to succeed."""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result

    async def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(json.dumps(message).encode() + b"\n")

    async def shake_hands(self) -> None:
        await self.request("initialize", _HANDSHAKE)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def _cpu_seconds(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return math.nan


@contextlib.asynccontextmanager
async def session(home: Path, server: Sequence[str] = IN_PROCESS) -> AsyncIterator[Session]:
    """A session with ``server`` (its command's arguments) on the store ``home``, past the handshake."""
    environment = {**os.environ, "PROWESS_HOME": str(home)}
    command = [sys.executable, *server]
    async with await anyio.open_process(command, stdin=subprocess.PIPE, stderr=None, env=environment) as process:
        opened = Session(process)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opened.read)
            await opened.shake_hands()
            yield opened
            assert process.stdin is not None
            await process.stdin.aclose()
            await process.wait()
