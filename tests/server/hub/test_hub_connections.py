"""Many clients of one hub: each its own session, one store, and none in another's way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from hubkit import SECONDS, Peer, connected, hello_line, holding, hub_in, socket_of, until

from prowess.server.hub import connections, wire
from prowess.server.hub import hub as hubs
from prowess.server.hub.hub import Hub
from prowess.server.settings import BadSetting, Settings
from prowess.storage.models import EpisodeFilter

pytestmark = pytest.mark.anyio

MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


async def _episodes(hub: Hub, **wanted: Any) -> Any:
    return await (await hub.opening.opened()).store.episodes(EpisodeFilter(**wanted))


async def test_two_clients_share_a_store_and_keep_their_own_sessions(hub: Hub, home: Path) -> None:
    async with connected(home, session="s-a", project="shop") as a, connected(home, session="s-b") as b:
        await a.call("track_execution", {"task_id": "t", "action": "one"})
        await b.call("track_execution", {"task_id": "t", "action": "two"})
        found = {(episode.session, episode.project, episode.agent) for episode in await _episodes(hub)}
    assert found == {("s-a", "shop", "raw"), ("s-b", "", "raw")}


async def test_clients_of_both_eras_work_at_once(hub: Hub, home: Path) -> None:
    async with connected(home) as old, connected(home, initialize=False) as new:
        listed = await new.request("tools/list", MODERN)
        called = await new.request(
            "tools/call", {"name": "track_execution", "arguments": {"task_id": "n", "action": "a"}, **MODERN}
        )
        assert not (await old.call("track_execution", {"task_id": "o", "action": "a"})).get("isError")
    assert len(listed["result"]["tools"]) == 5
    assert not called["result"].get("isError")
    assert {episode.agent for episode in await _episodes(hub)} == {"raw", "modern"}


async def test_the_same_call_sent_again_over_another_connection_is_stored_once(hub: Hub, home: Path) -> None:
    arguments = {"task_id": "t", "action": "a"}
    async with connected(home) as peer:
        first = await peer.call("track_execution", arguments, key="s1:1")
    async with connected(home) as peer:
        again = await peer.call("track_execution", arguments, key="s1:1")
    assert first["structuredContent"]["step"] == again["structuredContent"]["step"] == 1
    (episode,) = await _episodes(hub)
    assert episode.steps == 1


async def test_a_client_that_asks_and_never_reads_slows_nobody_else(hub: Hub, home: Path) -> None:
    async with (
        connected(home) as silent,
        connected(home, session="s2") as other,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_flood, silent)
        for number in range(20):
            result = await other.call("track_execution", {"task_id": "t", "action": str(number)})
            assert not result.get("isError")
        (busy,) = [client for client in hub.connections.clients if client.session == "s1"]
        assert busy.lines.open <= 128
        tasks.cancel_scope.cancel()


async def _flood(peer: Peer) -> None:
    for _ in range(5_000):
        await peer.ask("tools/list", {})


async def test_a_client_that_goes_away_in_the_middle_of_a_call_loses_no_write(hub: Hub, home: Path) -> None:
    async with connected(home) as peer:
        await peer.ask("tools/call", {"name": "track_execution", "arguments": {"task_id": "t", "action": "a"}})
    await until(lambda: not hub.connections.clients)
    (episode,) = await _episodes(hub)
    assert episode.steps == 1


async def test_a_client_that_closes_its_side_still_gets_its_answers(hub: Hub, home: Path) -> None:
    async with connected(home) as peer:
        number = await peer.ask("tools/call", {"name": "track_execution", "arguments": {"task_id": "t", "action": "a"}})
        await peer.stream.send_eof()
        assert (await peer.receive())["id"] == number
        assert await peer.ended()


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b"x" * 100_000 + b"\n"])
async def test_a_stranger_is_sent_away_and_the_hub_goes_on(hub: Hub, home: Path, line: bytes) -> None:
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        await peer.send(line)
        assert await peer.ended()
    async with connected(home) as peer:
        assert await peer.request("tools/list", {})


async def test_who_connects_and_says_nothing_is_sent_away(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HELLO_SECONDS", 0.05)
    async with await anyio.connect_unix(socket_of(home)) as stream:
        assert await Peer(stream).ended()


async def test_another_users_process_gets_no_word(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "peer_uid", lambda _raw: 4_000_000)
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        await peer.send(hello_line())
        assert await peer.ended()


async def test_a_line_that_is_no_message_is_answered(hub: Hub, home: Path) -> None:
    async with connected(home) as peer:
        await peer.send(b'{"id": 7, "method":\n')
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (7, -32700)
        assert "result" in await peer.request("tools/list", {})


async def test_lines_sent_together_with_the_hello_are_read(hub: Hub, home: Path) -> None:
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        listed = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": MODERN}).encode()
        await peer.send(hello_line() + listed + b"\n")
        assert (await peer.receive())["prowess"]["status"] == "ok"
        assert (await peer.receive())["id"] == 1


async def test_the_handshake_is_answered_while_the_store_is_not_open_and_calls_wait_for_it(home: Path) -> None:
    async with holding(home) as let_go, hub_in(home), connected(home) as peer:
        assert "result" in await peer.request("tools/list", {})
        number = await peer.ask("tools/call", {"name": "track_execution", "arguments": {"task_id": "t", "action": "a"}})
        let_go.set()
        answer = await peer.receive()
    assert answer["id"] == number
    assert not answer["result"].get("isError")


async def test_a_store_that_another_process_keeps_open_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "OPEN_SECONDS", 0.05)
    async with holding(home) as let_go, hub_in(home), connected(home) as peer:
        told = await peer.call("find_skill", {"query": "a"})
        assert told["isError"]
        assert "open in" in told["content"][0]["text"]
        let_go.set()
        with anyio.fail_after(SECONDS):
            while (await peer.call("find_skill", {"query": "a"})).get("isError"):
                pass


async def test_a_setting_that_makes_no_sense_is_told_until_it_is_mended(home: Path) -> None:
    wrong = [BadSetting("keep_days makes no sense", hint="a whole number")]

    def settings() -> Settings:
        if wrong:
            raise wrong[0]
        return Settings(home=home, embedder="none")

    async with hub_in(home, settings=settings), connected(home) as peer:
        told = await peer.call("track_execution", {"task_id": "t", "action": "a"})
        assert told["isError"]
        assert "a whole number" in told["content"][0]["text"]
        wrong.clear()
        assert not (await peer.call("track_execution", {"task_id": "t", "action": "a"})).get("isError")
