"""What a request has to get past before MCP sees it: the names, the token, the rates, the time for its body."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.server.http.body import whole
from prowess.server.http.bounds import Buckets
from prowess.server.http.names import Names
from prowess.server.http.sessions import Sessions
from prowess.server.http.tokens import Token, Tokens
from prowess.storage.errors import StoreError

__all__ = ["PATH", "TOKEN", "Guard"]

PATH = "/mcp"
TOKEN = "prowess.token"  # noqa: S105 - the name of the scope's entry

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"  # in every request but the one that opens a session
METHODS = ("GET", "POST", "DELETE")

PER_SECOND, BURST = 100.0, 400  # requests of one token; an agent makes a few in a second
AT_ONCE = 128  # requests and streams of one token that are under way, of all that there may be connections
SESSIONS = 200  # of one token; an agent has one, and a client that forgets them would fill the places of all
FAILURES_PER_SECOND, FAILURES = 0.2, 20  # wrong tokens from one address
BODY_SECONDS = 30.0  # for a request to arrive in full
LOOK_SECONDS = 5.0  # between looks whether the token of an open stream is still one

_log = logging.getLogger(__name__)


class _LeftError(Exception):
    """The client is gone before all of its request arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Lets requests through to ``app``. ``calling`` is entered around each, so that a hub that leaves waits for it."""

    app: ASGIApp
    tokens: Tokens
    names: Names
    always: bool  # a token is needed even while none was made
    leaving: Callable[[], bool]
    calling: Callable[[], AbstractContextManager[None]]
    clock: Callable[[], float] = time.monotonic
    _asked: Buckets = field(default_factory=lambda: Buckets(PER_SECOND, BURST))
    _failed: Buckets = field(default_factory=lambda: Buckets(FAILURES_PER_SECOND, FAILURES))
    _sessions: Sessions = field(default_factory=lambda: Sessions(SESSIONS, AT_ONCE))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI); the server speaks nothing but HTTP."""
        headers = Headers(scope=scope)
        refusal = await self._judged(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        over: list[str] = []
        with self._sessions.using(_owner(scope), headers.get(SESSION, "")):
            if scope["method"] == "POST":
                with self.calling():
                    await self._bounded(scope, receive, self._noting(scope, send, over))
            else:  # a stream that may stay open for as long as the session
                await self._while_known(scope, receive, self._noting_end(scope, send))
        for session in over:
            await self._end(scope, session)

    async def _judged(self, scope: Scope, headers: Headers) -> Response | None:
        """The refusal, or None where the request may go on."""
        if not self.names.allows_host(headers.get("host", "")):
            return _told(421, "this server has another name")
        if "origin" in headers and not self.names.allows_origin(headers["origin"]):
            return _told(403, "pages of that origin may not ask here")
        address = scope["client"][0] if scope.get("client") else ""
        token, known = await self._token(headers)
        if not known:
            # Only those without a token wait: behind one proxy everybody has the same address.
            if pause := self._failed.take(address, self.clock()):
                return _slower(pause)
            return _told(401, "a token is needed", {"WWW-Authenticate": 'Bearer realm="prowess"'})
        if pause := self._asked.take(token.name if token else address, self.clock()):
            return _slower(pause)
        if scope["path"] != PATH:
            return _told(404, f"MCP is at {PATH}")
        if scope["method"] not in METHODS or (scope["method"] != "POST" and SESSION not in headers):
            return _told(405, "ask by POST; GET and DELETE belong to a session", {"Allow": ", ".join(METHODS)})
        if self.leaving():
            return _told(503, "the hub is leaving; ask again", {"Retry-After": "1"})
        if token is not None:
            scope[TOKEN] = token
            scope["user"] = AuthenticatedUser(_access(token))
        return self._crowded(_owner(scope), headers)

    def _crowded(self, owner: str, headers: Headers) -> Response | None:
        """The refusal where ``owner`` uses as much as one may, so that there is something left for others."""
        opens = SESSION not in headers and VERSION not in headers
        if self._sessions.is_busy(owner) or (opens and self._sessions.is_full(owner)):
            return _told(429, "too much is under way for you", {"Retry-After": "1"})
        return None

    async def _token(self, headers: Headers) -> tuple[Token | None, bool]:
        """Whose token came, and whether the request is known by it, or needs none."""
        try:
            needed = self.always or await anyio.to_thread.run_sync(self.tokens.needed)
            if not needed:
                return None, True
            kind, _, secret = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not secret.strip():
                return None, False
            token = await anyio.to_thread.run_sync(self.tokens.find, secret.strip())
        except StoreError as error:
            _log.error("nobody is let in: %s", error)
            return None, False
        return token, token is not None

    def _noting(self, scope: Scope, send: Send, over: list[str]) -> Send:
        """``send``, which notes in ``over`` the sessions that are to end.

        Those are one that was opened for what was then refused, which nobody uses, and those that had to make room.
        """
        if SESSION in Headers(scope=scope):
            return send

        async def send_on(message: Message) -> None:
            session = Headers(raw=message["headers"]).get(SESSION) if message["type"] == "http.response.start" else None
            if session:
                over.extend([session] if message["status"] >= 400 else self._sessions.opened(_owner(scope), session))
            await send(message)

        return send_on

    def _noting_end(self, scope: Scope, send: Send) -> Send:
        """``send``, which notes that the client has ended its session."""

        async def send_on(message: Message) -> None:
            told = scope["method"] == "DELETE" and message["type"] == "http.response.start"
            if told and (message["status"] < 400 or message["status"] == 404):
                self._sessions.ended(_owner(scope), Headers(scope=scope)[SESSION])
            await send(message)

        return send_on

    async def _end(self, scope: Scope, session: str) -> None:
        """End a session as its client would."""
        headers = [(SESSION.encode(), session.encode()), *scope["headers"]]

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message: Message) -> None:
            pass

        await self.app({**scope, "method": "DELETE", "headers": headers}, receive, send)

    async def _while_known(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request until it ends, or its token is worth nothing any more."""
        headers = Headers(scope=scope)
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                known = True
                while known:
                    await anyio.sleep(LOOK_SECONDS)
                    _, known = await self._token(headers)
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self.app(scope, receive, send)
            tasks.cancel_scope.cancel()

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose body has to arrive in time; after that it may take as long as it takes."""
        until = anyio.current_time() + BODY_SECONDS
        arrived = False

        async def receive_in_time() -> Message:
            nonlocal arrived
            if arrived:
                return await receive()
            with anyio.fail_at(until):
                message = await receive()
            if message["type"] == "http.disconnect":
                raise _LeftError
            arrived = not message.get("more_body", False)
            return message

        try:
            await self.app(scope, whole(receive_in_time), send)
        except _LeftError:
            _log.debug("a client left before its request was whole")
        except TimeoutError:
            if arrived:
                raise
            await _told(408, "the request did not arrive in time", {"Connection": "close"})(scope, receive, send)


def _owner(scope: Scope) -> str:
    """Whose a request is; those who need no token are as one."""
    token: Token | None = scope.get(TOKEN)
    return token.name if token else ""


def _access(token: Token) -> AccessToken:
    # The secret itself is nobody's business from here on; a session belongs to the token's name.
    return AccessToken(token=token.digest, client_id=token.name, scopes=list(token.scopes))


def _told(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(text + "\n", status, headers)


def _slower(seconds: float) -> Response:
    return _told(429, "too many requests", {"Retry-After": str(math.ceil(seconds))})
