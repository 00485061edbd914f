"""Agents for benchmarks: each a shim over pipes and a client in raw lines, which costs less than the SDK's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prowess.server import shim
from prowess.server.shim import places

__all__ = ["Session", "hub", "rss_mb", "sessions"]

SHIM = str(Path(shim.__file__).with_name("__main__.py"))
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
SECONDS = 120.0  # for one answer
LONGEST_LINE = 1 << 24
POLL_SECONDS = 0.02


class Session:
    """One agent's."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._number = 0

    @classmethod
    async def open(cls, home: Path) -> Session:
        """Started, and the handshake made."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", SHIM, "--store", str(home)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        session = cls(process)
        await session.request("initialize", HELLO)
        await session._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return session

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The result. Raises RuntimeError with the error."""
        self._number += 1
        await self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        async with asyncio.timeout(SECONDS):
            while True:
                answer = json.loads(await self._stdout.readline())
                if answer.get("id") == self._number:
                    break
        result = answer.get("result")
        if result is None or result.get("isError"):
            raise RuntimeError(str(answer)[:500])
        return result

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """The result of a tool's call."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def _send(self, message: Any) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")
        await self._stdin.drain()

    async def close(self) -> None:
        self._stdin.close()
        try:
            async with asyncio.timeout(SECONDS):
                await self.process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()


@contextlib.asynccontextmanager
async def sessions(home: Path, number: int) -> AsyncIterator[list[Session]]:
    """So many agents on the store ``home``."""
    async with contextlib.AsyncExitStack() as stack:
        opened = []
        for _ in range(number):
            session = await Session.open(home)
            stack.push_async_callback(session.close)
            opened.append(session)
        yield opened


@contextlib.asynccontextmanager
async def hub(home: Path, command: Sequence[str] = ("-m", "prowess.server.hub")) -> AsyncIterator[int]:
    """A hub over ``home`` that runs, without an embedding model; its pid."""
    _prepare(home)
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", *command, "--home", str(home))
    try:
        async with asyncio.timeout(SECONDS):
            while places.read_state(home).get("pid") != process.pid:
                assert process.returncode is None, "the hub did not start"
                await asyncio.sleep(POLL_SECONDS)
        yield process.pid
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _prepare(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text('embedder = "none"\n')


def rss_mb(pid: int) -> float:
    """Resident memory in MB (10^6 bytes), where /proc tells it."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 2)
