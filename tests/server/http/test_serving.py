from __future__ import annotations

import json
import logging
import random
from pathlib import Path
from typing import Any

import anyio
import pytest
from clikit import run
from httpkit import (
    HEADERS,
    INITIALIZE,
    SECONDS,
    asked,
    bearer,
    call_tool,
    exchange,
    message_of,
    opened,
    post,
    served,
    stream_of,
    until_closed,
)

from prowess.server.http import connection, front, guard, serving
from prowess.server.http.tokens import Tokens
from prowess.server.hub.client import HubError, ask, http_served
from prowess.server.hub.hub import Hub
from prowess.storage.errors import InvalidInput, StoreError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": ""}, {"Authorization": "Bearer"}, {"Authorization": "Basic eDp5"}, bearer("no")]
)
async def test_without_the_right_token_nothing_is_told(hub: Hub, home: Path, headers: dict[str, str]) -> None:
    Tokens(home).create("ci")
    async with served(hub) as port:
        for path, method in (("/mcp", "POST"), ("/mcp", "GET"), ("/mcp", "DELETE"), ("/", "GET"), ("/x", "PUT")):
            answer = await post(port, INITIALIZE, headers, path=path, method=method)
            assert answer.status == 401
            assert answer.body == b"a token is needed\n"
            assert set(answer.headers) == {"www-authenticate", "content-type", "content-length", "date"}


async def test_a_token_opens_and_its_rotation_closes_at_once(hub: Hub, home: Path) -> None:
    tokens = Tokens(home)
    secret = tokens.create("ci", project="shop")
    async with served(hub) as port:
        session = await opened(port, bearer(secret))
        assert not (await call_tool(port, session, "track_execution", task_id="t", action="look")).get("isError")
        new = tokens.rotate("ci")
        assert (await post(port, INITIALIZE, session)).status == 401
        # The session belongs to the token's name, so it goes on under the new secret.
        told = await call_tool(port, {**session, **bearer(new)}, "track_execution", task_id="t", action="look again")
        assert told["structuredContent"]["step"] == 2
    store = (await hub.opening.opened()).store
    (episode,) = await store.episodes()
    assert episode.project == "shop"


async def test_a_session_is_of_no_use_to_another_token(hub: Hub, home: Path) -> None:
    first, second = Tokens(home).create("a"), Tokens(home).create("b")
    async with served(hub) as port:
        session = await opened(port, bearer(first))
        answer = await post(port, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, {**session, **bearer(second)})
        assert answer.status == 404


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", {"find_skill"}),
        ("write", {"track_execution", "score_reward"}),
        ("evolve", {"reflect", "evolve_skills"}),
    ],
)
async def test_a_scope_shows_and_lets_call_its_own_tools_only(
    hub: Hub, home: Path, scope: str, allowed: set[str]
) -> None:
    secret = Tokens(home).create("ci", scopes=(scope,))
    async with served(hub) as port:
        session = await opened(port, bearer(secret))
        listed = message_of(await post(port, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, session))
        assert {tool["name"] for tool in listed["result"]["tools"]} == allowed
        for name in serving.SCOPES:
            told = await call_tool(port, session, name, task_id="t", action="a", reward=1, query="a")
            refused = "your token does not allow" in told["content"][0]["text"]
            assert refused == (name not in allowed)
            assert bool(told.get("isError")) == refused


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost.evil.example:80"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "localhost"}, 200),
    ],
)
async def test_a_page_whose_name_was_rebound_is_refused(hub: Hub, headers: dict[str, str], status: int) -> None:
    async with served(hub) as port:
        answer = await post(port, INITIALIZE, headers)
        assert answer.status == status
        assert (b"prowess" in answer.body) == (status == 200)


async def test_others_are_not_listened_to_before_there_is_a_token(hub: Hub, home: Path) -> None:
    with pytest.raises(StoreError, match="no token was made"):
        async with http_served(home, asked(host="0.0.0.0")):
            pass
    secret = Tokens(home).create("ci")
    async with served(hub, host="0.0.0.0") as port:
        assert (await post(port, INITIALIZE)).status == 401
        assert (await post(port, INITIALIZE, bearer(secret))).status == 200
        Tokens(home).revoke("ci")
        assert (await post(port, INITIALIZE, bearer(secret))).status == 401
        assert (await post(port, INITIALIZE)).status == 401


async def test_that_all_tokens_were_revoked_is_told(hub: Hub, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with http_served(home, asked()) as (told, _):
        assert (told["tokens"], told["revoked"]) == (False, False)
    Tokens(home).create("ci")
    Tokens(home).revoke("ci")
    async with http_served(home, asked()) as (told, _):
        assert (told["tokens"], told["revoked"]) == (True, True)
        front._say_where(told, "127.0.0.1")
    assert "all tokens were revoked, so nobody may ask" in capsys.readouterr().err


def test_the_list_tells_that_all_were_revoked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "token", "list", "--store", home).out == "no token was made\n"
    Tokens(home).create("ci")
    Tokens(home).revoke("ci")
    assert "all tokens were revoked" in run(capsys, "token", "list", "--store", home).out


async def test_tokens_that_cannot_be_read_let_nobody_in(hub: Hub, home: Path) -> None:
    secret = Tokens(home).create("ci")
    async with served(hub) as port:
        (home / "tokens.json").write_text("{")
        assert (await post(port, INITIALIZE, bearer(secret))).status == 401
        assert (await post(port, INITIALIZE)).status == 401


async def test_who_guesses_tokens_has_to_wait_and_nobody_else(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "FAILURES", 3)
    secret = Tokens(home).create("ci")
    async with served(hub) as port:
        answers = [await post(port, INITIALIZE, bearer("x")) for _ in range(5)]
        assert [answer.status for answer in answers] == [401, 401, 401, 429, 429]
        assert answers[-1].headers["retry-after"] == "5"
        # Behind a proxy all have one address; who has a token is let in.
        assert (await post(port, INITIALIZE, bearer(secret))).status == 200


async def test_a_stream_ends_with_its_token(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "LOOK_SECONDS", 0.02)
    tokens = Tokens(home)
    secret = tokens.create("ci")
    async with served(hub) as port:
        session = await opened(port, bearer(secret))
        async with stream_of(port, session) as stream:
            tokens.revoke("ci")
            await until_closed(stream)
        # The last token was revoked, which lets in nobody rather than everybody.
        assert (await post(port, INITIALIZE)).status == 401


@pytest.mark.parametrize("said", [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"])
async def test_who_does_not_say_what_they_want_loses_their_place(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 600)
    async with served(hub) as port:
        with anyio.fail_after(SECONDS):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                if said:
                    await stream.send(said)
                if said.endswith(b"1"):  # refused by its Host; then its body goes on without end
                    assert (await stream.receive()).startswith(b"HTTP/1.1 421")
                    await stream.send(b"2")
                await until_closed(stream)
        assert (await post(port, INITIALIZE)).status == 200


async def test_a_body_that_is_too_long_is_refused_unread(hub: Hub) -> None:
    async with served(hub) as port:
        told = await post(port, b"", {"Content-Length": str(serving.MAX_BODY + 1)})
        assert told.status == 413
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()) + "\r\n"
        said = await exchange(port, head.encode() + chunk * 17)
        assert not said or said.startswith(b"HTTP/1.1 413")


async def test_a_call_of_ten_megabytes_is_answered_as_over_stdio(hub: Hub) -> None:
    async with served(hub) as port:
        session = await opened(port)
        told = await call_tool(port, session, "track_execution", task_id="t", action="a", observation="x" * 10_000_000)
        assert told["structuredContent"]["receipt"] == "committed"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"a \\ud800 b", "a \ufffd b"),
        (b"a \xff b", "a \ufffd b"),
        (b"a \\ud83d\\ude00 b", "a \U0001f600 b"),
        (b"a \\u0000 b", "a \ufffd b"),
        (b"\xf0\x9f\x98\x80 \\udc00", "\U0001f600 \ufffd"),
    ],
)
async def test_what_is_no_unicode_is_stored_as_over_stdio(hub: Hub, sent: bytes, kept: str) -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "track_execution", "arguments": {}}}
    told = json.dumps(call).encode().replace(b"{}", b'{"task_id": "t", "action": "a", "observation": "%s"}' % sent)
    async with served(hub) as port:
        session = await opened(port)
        answer = message_of(await post(port, told, session))["result"]["structuredContent"]
        assert answer["receipt"] == "committed"
    store = (await hub.opening.opened()).store
    (step,) = await store.steps(answer["episode_id"])
    assert step.observation == kept


@pytest.mark.parametrize("sent", [b"{", b"\xff", b'"\\ud800', b'{"a":' * 5_000 + b'"\\ud800"'])
async def test_what_is_no_json_either_is_refused(hub: Hub, sent: bytes) -> None:
    async with served(hub) as port:
        assert (await post(port, sent)).status == 400
        assert (await post(port, INITIALIZE)).status == 200


async def test_a_body_that_does_not_come_is_not_waited_for(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)
    async with served(hub) as port:
        answer = await post(port, b"{", {"Content-Length": "100"})
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert (await post(port, INITIALIZE)).status == 200


async def test_a_client_that_leaves_before_its_request_is_whole_is_no_error(
    hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    more = {**HEADERS, "Host": "localhost", "Content-Length": "100000"}
    async with served(hub) as port:
        session = await opened(port)
        for headers in (more, {**more, **session}, {**more, "MCP-Protocol-Version": "2026-07-28"}):
            lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send("\r\n".join([*lines, "", '{"jsonrpc"']).encode())
        assert not (await call_tool(port, session, "find_skill", query="anything at all")).get("isError")
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.INFO] == []


async def test_what_is_refused_leaves_no_session_behind(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MAX_SESSIONS", 2)
    async with served(hub) as port:
        for method in ("HEAD", "OPTIONS", "TRACE", "PUT", "GET", "DELETE"):
            answer = await post(port, b"", method=method)
            assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, DELETE")
        for body in (b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', b"\xff"):
            assert (await post(port, body)).status < 500
        assert [(await post(port, INITIALIZE)).status for _ in range(3)] == [200, 200, 503]


async def test_garbage_crashes_nothing(hub: Hub) -> None:
    chance = random.Random(7)
    whole = json.dumps(INITIALIZE).encode()
    async with served(hub) as port:
        for _ in range(150):
            body = bytearray(whole)
            for _ in range(chance.randint(1, 6)):
                body[chance.randrange(len(body))] = chance.randrange(256)
            answer = await post(port, bytes(body), _some_headers(chance))
            assert answer.status < 500, (bytes(body), answer)
        for raw in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01" * 50, b"POST /mcp HTTP/9.9\r\n\r\n", b"x" * 70_000):
            await exchange(port, raw)
        assert (await post(port, INITIALIZE)).status == 200


def _some_headers(chance: random.Random) -> dict[str, str]:
    made = {
        "Content-Type": ["application/json", "text/plain", "application/json; charset=utf-16", ""],
        "Accept": ["*/*", "application/json", "text/event-stream", "x"],
        "Mcp-Session-Id": ["", "x", "a" * 5_000, "../../etc", "%00"],
        "Mcp-Protocol-Version": ["", "2025-06-18", "2026-07-28", "9999-99-99", "x" * 1_000],
    }
    return {name: chance.choice(made[name]) for name in chance.sample(sorted(made), chance.randint(0, 3))}


async def test_two_servers_do_not_get_one_port(hub: Hub, home: Path) -> None:
    async with served(hub) as port:
        with pytest.raises(StoreError, match="cannot be listened at"):
            async with http_served(home, asked(port=port)):
                pass


@pytest.mark.parametrize("wrong", [{"host": "no such host"}, {"port": "x"}, {"more": 1}])
async def test_an_address_that_is_none_is_told(hub: Hub, home: Path, wrong: dict[str, Any]) -> None:
    Tokens(home).create("ci")
    with pytest.raises((StoreError, InvalidInput), match=r"no address|makes no sense"):
        async with http_served(home, asked(**wrong)):
            pass


async def test_it_is_served_as_long_as_the_one_who_asked_stays(hub: Hub, home: Path) -> None:
    async with served(hub) as port:
        assert (await ask(home, "status"))["http"] == [f"http://127.0.0.1:{port}/mcp"]
        assert not hub.idle()
    with anyio.fail_after(30):
        while not hub.idle():  # noqa: ASYNC110 - its end tells of no event
            await anyio.sleep(0.01)
    with pytest.raises(OSError, match=r"refused|failed"):
        await anyio.connect_tcp("127.0.0.1", port)
    assert (await ask(home, "status"))["http"] == []


async def test_a_hub_that_leaves_takes_no_new_request(hub: Hub) -> None:
    async with served(hub) as port:
        hub.connections.leaving = True
        answer = await post(port, INITIALIZE)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_a_hub_that_leaves_answers_what_it_has_read(hub: Hub, home: Path) -> None:
    async with http_served(home, asked()) as (told, wire):
        session = await opened(told["port"])
        async with anyio.create_task_group() as tasks:
            answers: list[dict[str, Any]] = []

            async def call() -> None:
                answers.append(await call_tool(told["port"], session, "track_execution", task_id="t", action="a"))

            tasks.start_soon(call)
        hub.leave("the test says so")
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError, HubError)):
            await wire.next_line()
        assert answers[0]["structuredContent"]["receipt"] == "committed"
