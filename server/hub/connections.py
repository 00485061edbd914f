"""Everyone who is connected: the greeting, one MCP session per shim, and their end.

Nothing here is shared between two clients but the store: each has its own queues, so that a slow or silent one keeps
nobody else waiting. A client that goes away in the middle of a call harms nothing; what it wrote is committed.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
from anyio.abc import SocketStream

from prowess.server.app import converse, create_server
from prowess.server.hub.hello import MAX_HELLO, BadHello, Hello, answer, judge, read_hello
from prowess.server.hub.wire import SocketWire, is_ours
from prowess.server.lines import Lines, message_streams
from prowess.server.opening import Opening
from prowess.server.shim.stream import MAX_LINE
from prowess.storage.models import format_time
from prowess.tools.context import Context, Progress

if TYPE_CHECKING:
    from prowess.server.capture.reader import Capture

__all__ = ["Client", "Connections"]

HELLO_SECONDS = 10.0  # a process that connects and says nothing is not one of ours, or hangs

RETIRE_SECONDS = 1.0  # for a newer client to make sure that it and no other starts the next hub

_EARLY = (BadHello, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)

_log = logging.getLogger(__name__)

Control = Callable[[Hello, SocketWire], Awaitable[None]]
ProjectOf = Callable[[Hello], Awaitable[str]]


@dataclass(slots=True, kw_only=True, eq=False)
class Client:
    """One shim's connection. ``name`` is the agent's own, as far as it told one."""

    lines: Lines
    session: str
    project: str = ""
    chosen: bool = False
    version: str = ""
    since: datetime
    told: str = ""

    @property
    def name(self) -> str:
        return self.lines.client or self.told


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What the calls of one client run in."""

    opening: Opening
    client: Client
    capture: Capture | None

    async def context(self, *, client: str, key: str | None, progress: Progress, request: object = None) -> Context:
        self.client.told = client
        runtime = await self.opening.opened()
        context = runtime.context(client=client, session=self.client.session, key=key, progress=progress)
        # A folder says less than the user's own setting, and that less than what this client was started with.
        if not self.client.chosen and context.project:
            self.client.project = context.project
        if self.capture is not None:
            context = await self.capture.bound(context)
        return replace(context, project=self.client.project)


class Connections:
    """Serves every connection, each in a task of its own; ``changed`` is called when someone comes or goes."""

    def __init__(
        self,
        opening: Opening,
        *,
        schema: dict[str, int],
        control: Control,
        project_of: ProjectOf,
        retire: Callable[[str], None],
        capture: Capture | None = None,
    ) -> None:
        self._opening = opening
        self._schema = schema
        self._control = control
        self._project_of = project_of
        self._retire = retire
        self._capture = capture
        self._gone = anyio.Event()
        self._calling = 0
        self.clients: set[Client] = set()
        self.commands = 0  # that use the store through this hub
        self.leaving = False
        self.last_left = time.monotonic()

    async def serve(self, stream: SocketStream) -> None:
        """Serve one connection to its end. Whatever happens in it, the hub goes on."""
        async with stream:
            try:
                await self._meet(stream)
            except _EARLY as error:
                _log.info("a connection ended early (%s)", type(error).__name__)
            except Exception:
                _log.exception("a connection failed")

    async def _meet(self, stream: SocketStream) -> None:
        if not is_ours(stream):
            _log.warning("a connection of another user was refused")
            return
        wire = SocketWire(stream, MAX_HELLO)
        with anyio.fail_after(HELLO_SECONDS):
            hello = read_hello(await wire.next_line() or b"")
        wire.limit(MAX_LINE)
        if hello.kind == "hook":
            await self._serve_hook(hello, wire)
            return
        verdict, reason, hint = judge(hello, leaving=self.leaving)
        client = self._entered(hello, wire) if verdict == "ok" and hello.kind == "shim" else None
        try:
            told = answer(verdict, pid=os.getpid(), schema=self._schema, reason=reason, hint=hint)
            with anyio.fail_after(HELLO_SECONDS):
                await wire.write(told)
            if verdict == "retiring" and not self.leaving:
                await _until_closed(wire)
                self._retire(reason)
            elif client is not None:
                await self._serve_client(client, hello)
            elif verdict == "ok":
                await self._serve_command(hello, wire)
        finally:
            if client is not None:
                self._left(client)

    def _entered(self, hello: Hello, wire: SocketWire) -> Client:
        client = Client(
            lines=Lines(wire),
            session=hello.session,
            chosen=bool(hello.project),
            version=hello.version,
            since=datetime.now(UTC),
        )
        self.clients.add(client)
        _log.info("a client came; clients: %d", len(self.clients))
        return client

    def _left(self, client: Client) -> None:
        self.clients.discard(client)
        self.last_left = time.monotonic()
        _log.info("a client left; clients: %d", len(self.clients))
        if not self.clients:
            self._gone.set()

    async def _serve_client(self, client: Client, hello: Hello) -> None:
        client.project = await self._project_of(hello)
        surroundings = _Surroundings(self._opening, client, self._capture)
        await converse(create_server(surroundings), message_streams(client.lines))

    async def _serve_hook(self, hello: Hello, wire: SocketWire) -> None:
        """No version is asked: what it left says which format it has, and one that is refused asks nobody else."""
        self.last_left = time.monotonic()
        if self._capture is not None and not self.leaving:
            with suppress(*_EARLY):  # one that has waited long enough goes
                await self._capture.serve(hello, wire)

    async def _serve_command(self, hello: Hello, wire: SocketWire) -> None:
        uses = hello.command in ("calls", "http")
        self.commands += uses
        try:
            await self._control(hello, wire)
        finally:
            self.commands -= uses
            self.last_left = time.monotonic()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Around a command's call: a hub that leaves waits for its end."""
        self._calling += 1
        try:
            yield
        finally:
            self._calling -= 1
            self._gone.set()

    async def drain(self) -> None:
        """Greet no one any more, read no further requests, and wait until those that were read are answered."""
        self.leaving = True
        for client in self.clients:
            client.lines.finish()
        while self.clients or self._calling:
            self._gone = anyio.Event()
            await self._gone.wait()

    def describe(self) -> list[dict[str, object]]:
        """The clients as ``hub status`` lists them, the longest connected first."""
        return [
            {
                "name": client.name,
                "session": client.session,
                "project": client.project,
                "version": client.version,
                "since": format_time(client.since),
                "calls": client.lines.open,
            }
            for client in sorted(self.clients, key=lambda client: client.since)
        ]


async def _until_closed(wire: SocketWire) -> None:
    with anyio.move_on_after(RETIRE_SECONDS), suppress(anyio.EndOfStream, anyio.BrokenResourceError, OSError):
        await wire.next_line()
