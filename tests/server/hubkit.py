"""Hubs in this process and as processes of their own, and raw clients of them."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream

from prowess import __version__
from prowess.server.hub.hello import Hello
from prowess.server.hub.hub import Hub
from prowess.server.hub.schema import schema
from prowess.server.hub.wire import SocketWire
from prowess.server.hub.work import MakeWork
from prowess.server.settings import Settings
from prowess.server.shim import places
from prowess.server.shim.stream import PROTOCOL
from prowess.storage.store import Store

__all__ = [
    "INITIALIZE",
    "SECONDS",
    "Peer",
    "Process",
    "connected",
    "hello_line",
    "holding",
    "hub_in",
    "log_of",
    "process",
    "socket_of",
    "until",
]

SECONDS = 180.0  # a cold Python on a busy machine, and then some
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


async def _told(hello: Hello) -> str:
    return hello.project


def socket_of(home: Path) -> Path:
    return Path(places.socket_path(home))


@asynccontextmanager
async def hub_in(
    home: Path,
    *,
    idle_seconds: float = 0.0,
    works: Sequence[MakeWork] = (),
    settings: Callable[[], Settings] | None = None,
    seconds: float = SECONDS,
) -> AsyncIterator[Hub]:
    """A hub that runs in this process, for ``seconds`` at most; left at the end, which is waited for."""
    places.make_run_folder(home)
    path = socket_of(home)
    raw = socket.socket(socket.AF_UNIX)
    raw.bind(str(path))
    raw.listen(64)
    raw.setblocking(False)
    hub = Hub(
        settings or (lambda: Settings(home=home, embedder="none", withhold=0.0)),
        home=home,
        path=path,
        schema=schema(),
        idle_seconds=idle_seconds,
        project_of=_told,
        works=works,
    )
    hub._bound.interval = 10 * SECONDS  # it ends the process, which here is the tests'
    ready = anyio.Event()
    with anyio.fail_after(seconds):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hub.run, raw, ready.set)
            await ready.wait()
            try:
                yield hub
            finally:
                hub.leave("the test ends")


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something that tells of no event holds."""
    with anyio.fail_after(SECONDS):
        while not holds():  # noqa: ASYNC110
            await anyio.sleep(0.01)


def hello_line(**said: Any) -> bytes:
    told = {"protocol": PROTOCOL, "kind": "shim", "version": __version__, "session": "s1", "cwd": "/", "project": ""}
    return json.dumps({"prowess": {**told, **said}}).encode() + b"\n"


class Peer:
    """The client's end of one connection, in raw lines."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._wire = SocketWire(stream)
        self._ids = itertools.count(1)

    async def send(self, message: Any) -> None:
        await self._wire.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def receive(self) -> Any:
        """The next message. Raises ``anyio.EndOfStream``."""
        with anyio.fail_after(SECONDS):
            return json.loads(await self._wire.next_line() or b"")

    async def ended(self) -> bool:
        """Whether the hub closed the connection without a further line."""
        try:
            with anyio.fail_after(SECONDS):
                await self._wire.next_line()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True
        return False

    async def greet(self, **said: Any) -> Any:
        """Say hello; the hub's answer."""
        await self.send(hello_line(**said))
        return (await self.receive())["prowess"]

    async def ask(self, method: str, params: Any) -> int:
        """Send a request and do not wait; its id."""
        number = next(self._ids)
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    async def request(self, method: str, params: Any) -> Any:
        """The answer to a request; notifications in between are passed over."""
        number = await self.ask(method, params)
        while (message := await self.receive()).get("id") != number:
            pass
        return message

    async def initialize(self, name: str = "raw") -> Any:
        answer = await self.request("initialize", {**INITIALIZE, "clientInfo": {"name": name, "version": "1"}})
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def call(self, tool: str, arguments: Any, key: str | None = None) -> Any:
        """A tool's result."""
        meta = {"_meta": {"prowess/idempotency-key": key}} if key else {}
        return (await self.request("tools/call", {"name": tool, "arguments": arguments, **meta}))["result"]


@asynccontextmanager
async def connected(home: Path, *, initialize: bool = True, **said: Any) -> AsyncIterator[Peer]:
    """A client that has been greeted, and has made the handshake of its session."""
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        assert (await peer.greet(**said))["status"] == "ok"
        if initialize:
            await peer.initialize()
        yield peer


@asynccontextmanager
async def holding(home: Path) -> AsyncIterator[anyio.Event]:
    """Another opener of the store, until the event that is given is set."""
    taken, let_go = anyio.Event(), anyio.Event()

    async def hold() -> None:
        async with Store.open(home):
            taken.set()
            await let_go.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await taken.wait()
        try:
            yield let_go
        finally:
            let_go.set()


class Process:
    """A hub as shims start it."""

    def __init__(self, home: Path, **environ: str) -> None:
        self.home = home
        self.peers: list[Peer] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-m", "prowess.server.hub", "--home", str(home)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={**os.environ, **environ},
            start_new_session=True,
        )

    @property
    def stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode()

    async def peer(self) -> Peer:
        """A connection, as soon as one can be made."""
        with anyio.fail_after(SECONDS):
            while True:
                try:
                    self.peers.append(Peer(await anyio.connect_unix(socket_of(self.home))))
                except OSError:
                    assert self.process.poll() is None, self.stderr
                    await anyio.sleep(0.01)
                else:
                    return self.peers[-1]

    async def client(self, **said: Any) -> Peer:
        """A client that has been greeted, and has made the handshake of its session."""
        peer, told = await self._greeted(**said)
        assert told["status"] == "ok", self.stderr
        await peer.initialize()
        return peer

    async def _greeted(self, **said: Any) -> tuple[Peer, Any]:
        """One that ends before it is answered is made again; why the hub ended, if it did, is told.

        A hub listens before it has loaded the rest; of one that was killed a child may have the socket for a moment.
        """
        with anyio.fail_after(SECONDS):
            while True:
                peer = await self.peer()
                try:
                    return peer, await peer.greet(**said)
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    await anyio.sleep(0.01)

    async def wait(self) -> int:
        """The exit code, once it ended."""
        return await anyio.to_thread.run_sync(self.process.wait, SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS)
        self._errors.close()


@asynccontextmanager
async def process(home: Path, config: str = 'embedder = "none"\n', **environ: str) -> AsyncIterator[Process]:
    """A hub over ``home``, ended at the end with every connection to it."""
    _prepare(home, config)
    made = Process(home, **environ)
    try:
        yield made
    finally:
        for peer in made.peers:
            await peer.stream.aclose()
        made.close()


def _prepare(home: Path, config: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(config)


def log_of(home: Path) -> str:
    """All that the hubs of ``home`` logged."""
    return Path(places.log_file(home)).read_text()
