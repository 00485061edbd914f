"""Nobody takes what is there for all: connections, sessions, and the hub's time."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import anyio
import pytest
from httpkit import (
    HEADERS,
    INITIALIZE,
    SECONDS,
    bearer,
    exchange,
    opened,
    post,
    served,
    stream_of,
    until_closed,
)
from hubkit import until

from prowess.server.http import connection, guard, serving
from prowess.server.http.tokens import Tokens
from prowess.server.hub.hub import Hub

pytestmark = pytest.mark.anyio


async def test_too_many_connections_are_sent_away_at_once(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 3)
    async with served(hub) as port:
        sessions = [await opened(port) for _ in range(3)]
        async with AsyncExitStack() as stack:
            for session in sessions:
                await stack.enter_async_context(stream_of(port, session))
            assert (await exchange(port, b"")).startswith(b"HTTP/1.1 503")
        with anyio.fail_after(SECONDS):
            while (await post(port, INITIALIZE)).status != 200:  # noqa: ASYNC110 - a close tells of no event
                await anyio.sleep(0.01)


@pytest.mark.parametrize("asking", [False, True])
async def test_connections_that_ask_nothing_make_room_for_those_that_do(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch, asking: bool
) -> None:
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 3)
    secret = bearer(Tokens(home).create("ci"))
    async with served(hub) as port, AsyncExitStack() as stack:
        await stack.enter_async_context(stream_of(port, await opened(port, secret)))
        held = []
        for _ in range(20):
            held.append(await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port)))
            if asking:  # and then keep what they have, without a token
                await held[-1].send(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert (await held[-1].receive()).startswith((b"HTTP/1.1 401", b"HTTP/1.1 429"))
        assert (await post(port, INITIALIZE, secret)).status == 200
        with anyio.fail_after(SECONDS):
            await until_closed(held[0])


async def test_a_body_in_crumbs_is_not_read(hub: Hub, home: Path) -> None:
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()) + "\r\n"
    crumbs = b"1\r\n \r\n"
    message = json.dumps(INITIALIZE).encode()
    whole = b"%x\r\n%s\r\n0\r\n\r\n" % (len(message), message)
    async with served(hub) as port:
        assert (await exchange(port, head.encode() + crumbs * 900 + whole)).startswith(b"HTTP/1.1 200")
        assert (await exchange(port, head.encode() + crumbs * 1100)).startswith(b"HTTP/1.1 400")
        # Also where the answer was given long before the body is there.
        Tokens(home).create("ci")
        with anyio.fail_after(SECONDS):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(head.encode())
                assert (await stream.receive()).startswith(b"HTTP/1.1 401")
                with suppress(anyio.BrokenResourceError):
                    await stream.send(crumbs * 1100)
                await until_closed(stream)


async def test_who_does_not_read_the_answer_loses_the_connection(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READ_SECONDS", 0.5)
    async with served(hub) as port:
        session = await opened(port)
        body = json.dumps({"jsonrpc": "2.0", "id": "x" * 12_000_000, "method": "ping"}).encode()
        fields = {"Host": "localhost", **HEADERS, **session, "Content-Length": str(len(body))}
        head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
        with anyio.fail_after(SECONDS):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(head.encode() + body)
                assert (await stream.receive()).startswith(b"HTTP/1.1 200")  # of which it reads no more
                assert hub.connections._calling == 1
                await until(lambda: hub.connections._calling == 0)


async def test_who_asks_too_often_is_told_when_to_come_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BURST", 2)
    monkeypatch.setattr(guard, "PER_SECOND", 0.001)
    async with served(hub) as port:
        assert [(await post(port, INITIALIZE)).status for _ in range(3)] == [200, 200, 429]


async def test_one_token_does_not_take_the_sessions_of_all(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MAX_SESSIONS", 6)
    monkeypatch.setattr(guard, "SESSIONS", 3)
    greedy, modest = bearer(Tokens(home).create("greedy")), bearer(Tokens(home).create("modest"))
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    async with served(hub) as port:
        mine = await opened(port, modest)
        kept = await opened(port, greedy)
        others = []
        for _ in range(10):
            others.append(await opened(port, greedy))
            # A session that is asked in now and then goes on; those that were forgotten make room.
            assert (await post(port, listing, kept)).status == 200
        alive = [(await post(port, listing, session)).status for session in others]
        assert alive == [404] * 8 + [200] * 2
        assert (await post(port, listing, mine)).status == 200
        await opened(port, modest)
        # What the client ended itself leaves its place, and takes nobody else's.
        assert (await post(port, b"", others[-1], method="DELETE")).status == 200
        await opened(port, greedy)
        assert [(await post(port, listing, session)).status for session in (kept, others[-2])] == [200, 200]


async def test_a_session_that_is_in_use_does_not_end_for_another(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "SESSIONS", 1)
    secret = bearer(Tokens(home).create("ci"))
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    async with served(hub) as port:
        session = await opened(port, secret)
        async with stream_of(port, session):
            assert (await post(port, INITIALIZE, secret)).status == 429
            # Nor where it says that it opens none.
            answer = await post(port, INITIALIZE, {**secret, "MCP-Protocol-Version": "2025-06-18"})
            over = {**secret, "Mcp-Session-Id": answer.headers["mcp-session-id"]}
            with anyio.fail_after(SECONDS):
                while (await post(port, listing, over)).status != 404:  # noqa: ASYNC110 - it ends behind its answer
                    await anyio.sleep(0.01)
            assert (await post(port, listing, session)).status == 200
        with anyio.fail_after(SECONDS):
            while (await post(port, INITIALIZE, secret)).status != 200:  # noqa: ASYNC110 - a close tells of no event
                await anyio.sleep(0.01)


async def test_one_token_does_not_take_the_connections_of_all(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "AT_ONCE", 2)
    greedy, modest = bearer(Tokens(home).create("greedy")), bearer(Tokens(home).create("modest"))
    async with served(hub) as port:
        first, second = await opened(port, greedy), await opened(port, greedy)
        async with stream_of(port, first), stream_of(port, second):
            refused = await post(port, INITIALIZE, greedy)
            assert (refused.status, refused.headers["retry-after"]) == (429, "1")
            assert (await post(port, INITIALIZE, modest)).status == 200
