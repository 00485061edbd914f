"""The hub's HTTP side: one listening socket, MCP sessions over it, and their end.

It lives as long as the ``prowess serve --http`` that asked for it stays connected to the hub.
"""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from prowess.server.app import create_server
from prowess.server.http.body import MAX_BODY
from prowess.server.http.connection import MAX_CONNECTIONS, Connection
from prowess.server.http.guard import PATH, TOKEN, Guard
from prowess.server.http.names import Names, bracketed, is_loopback
from prowess.server.http.tokens import Token, Tokens
from prowess.server.hub.hello import OTHER_VERSION
from prowess.server.opening import Opening
from prowess.storage.errors import InvalidInput, StoreError
from prowess.tools.base import Tool
from prowess.tools.confined import confined
from prowess.tools.context import Context, Progress

__all__ = ["Asked", "HttpError", "Served", "serve_http"]

MAX_SESSIONS = 1_000
SESSION_SECONDS = 1_800.0  # without a request
KEEP_ALIVE_SECONDS = 30
END_SECONDS = 3  # for answers that are being sent when the hub leaves
SCOPES = {
    "find_skill": "read",
    "track_execution": "write",
    "score_reward": "write",
    "reflect": "evolve",
    "evolve_skills": "evolve",
}

_log = logging.getLogger(__name__)


class HttpError(StoreError):
    """HTTP cannot be served as it was asked for."""


class Asked(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Where to listen; ``names`` and ``origins`` are let in beside the address itself."""

    host: str
    port: int
    names: list[str] = []
    origins: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where it listens now, whether a token is needed, and whether all were revoked, so that nobody has one."""

    url: str
    port: int
    tokens: bool
    revoked: bool


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What a call over HTTP runs in: the token says in which project, the session whose it is.

    A key is the token's own: others choose theirs without knowing of it.
    """

    opening: Opening

    async def context(
        self, *, client: str, key: str | None, progress: Progress, request: Request | None = None
    ) -> Context:
        assert request is not None, "the transport gives every message its request"
        runtime = await self.opening.opened()
        token = _token(request)
        owner = token.name if token else ""
        own = request.headers.get("mcp-session-id")
        session = f"http:{own or owner}"  # so that no task can be named as those that hooks record
        key = f"{owner}:{key}" if key and owner else key
        context = runtime.context(client=client, session=session, key=key, progress=progress)
        context = replace(context, shared=not own)
        return confined(context, token.project) if token and token.project else context


def _token(request: Request) -> Token | None:
    token: Token | None = request.scope.get(TOKEN)
    return token


def _allows(tool: Tool, request: Request | None) -> bool:
    token = _token(request) if request is not None else None
    return token is None or SCOPES[tool.name] in token.scopes


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # signals are the hub's


@asynccontextmanager
async def serve_http(
    asked: Asked,
    opening: Opening,
    *,
    home: Path,
    leaving: Callable[[], bool],
    calling: Callable[[], AbstractContextManager[None]],
) -> AsyncIterator[Served]:
    """Serve MCP at ``asked`` until the block is left. Raises HttpError where that cannot be, or must not be."""
    tokens = Tokens(home)
    local = is_loopback(asked.host)
    made = bool(await anyio.to_thread.run_sync(tokens.all))
    if not local and not made:
        raise HttpError(
            f"{asked.host} can be reached by others, and no token was made",
            hint="make one first: `prowess token create NAME`",
        )
    server = create_server(_Surroundings(opening), allows=_allows, shared=False)
    manager = StreamableHTTPSessionManager(
        server,
        session_idle_timeout=SESSION_SECONDS,
        max_request_body_size=MAX_BODY,
        max_sessions=MAX_SESSIONS,
    )
    guard = Guard(
        app=manager.handle_request,
        tokens=tokens,
        names=Names(asked.host, asked.names, asked.origins),
        always=not local,
        leaving=leaving,
        calling=calling,
    )
    listening = await anyio.to_thread.run_sync(_bound, asked.host, asked.port)
    port = listening.getsockname()[1]
    async with manager.run(), _running(guard, listening):
        _log.info("serving HTTP")
        needed = await anyio.to_thread.run_sync(tokens.needed)
        revoked = needed and not await anyio.to_thread.run_sync(tokens.all)
        yield Served(url=f"http://{bracketed(asked.host)}:{port}{PATH}", port=port, tokens=needed, revoked=revoked)


@asynccontextmanager
async def _running(guard: Guard, listening: socket.socket) -> AsyncIterator[None]:
    config = uvicorn.Config(
        guard,
        http=Connection,  # written in Python, so that what is sent to it cannot break into the hub's memory
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=END_SECONDS,
    )
    server = _Server(config)
    async with anyio.create_task_group() as tasks:
        ended = anyio.Event()

        async def run() -> None:
            with anyio.CancelScope(shield=True):  # it ends by being told, and then within a bound
                await server.serve([listening])
            ended.set()

        tasks.start_soon(run)
        try:
            yield
        finally:
            server.should_exit = True
            with anyio.CancelScope(shield=True), anyio.move_on_after(2 * END_SECONDS):
                await ended.wait()


def _bound(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise HttpError(f"there is no address {host!r}", hint="give HOST:PORT, such as 127.0.0.1:8484") from error
    family, kind, number, _, address = found[0]
    listening = socket.socket(family, kind, number)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(MAX_CONNECTIONS)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise _not_bound(host, port, error) from error
    return listening


def _not_bound(host: str, port: int, error: OSError) -> HttpError:
    hint = (
        "choose another port"
        if error.errno in (errno.EADDRINUSE, errno.EACCES)
        else "choose an address of this machine"
    )
    return HttpError(f"{host}:{port} cannot be listened at: {error.strerror}", hint=hint)


def read_asked(line: bytes) -> Asked:
    """What ``serve --http`` wrote behind its hello. Raises InvalidInput."""
    try:
        return msgspec.json.decode(line, type=Asked)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the request for HTTP makes no sense: {error}", hint=OTHER_VERSION) from error
