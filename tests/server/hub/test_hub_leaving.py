"""Why a hub leaves, and that nothing is lost by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import pytest
from hubkit import SECONDS, Peer, connected, holding, hub_in, process, socket_of, until

from prowess import __version__
from prowess.server.hub import connections
from prowess.server.hub import hub as hubs
from prowess.server.hub.client import ask
from prowess.server.hub.hub import Hub
from prowess.server.hub.work import MakeWork
from prowess.server.opening import Opening
from prowess.storage.errors import StoreError
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

TRACK = {"name": "track_execution", "arguments": {"task_id": "t", "action": "a"}}


class _Work:
    """Background work under a test's control."""

    def __init__(self, doing: Sequence[str] = (), failure: Exception | None = None) -> None:
        self.doing = list(doing)
        self.failure = failure
        self.begun = anyio.Event()
        self.ended = False

    def make(self, opening: Opening) -> _Work:
        return self

    async def run(self) -> None:
        self.begun.set()
        if self.failure:
            raise self.failure
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            self.ended = True

    def working(self) -> list[str]:
        return self.doing


def _made(*works: _Work) -> tuple[MakeWork, ...]:
    return tuple(work.make for work in works)


async def _greeting(home: Path, **said: object) -> object:
    async with await anyio.connect_unix(socket_of(home)) as stream:
        return (await Peer(stream).greet(**said))["status"]


async def test_calls_under_way_are_answered_and_those_that_come_later_are_left_for_the_next_hub(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "DRAIN_SECONDS", SECONDS)
    async with holding(home) as let_go, hub_in(home) as hub, connected(home) as peer:
        number = await peer.ask("tools/call", TRACK)
        await until(lambda: hub.connections.describe()[0]["calls"] == 1)
        hub.leave("a test")
        await until(lambda: hub.connections.leaving)
        await anyio.wait_all_tasks_blocked()
        await peer.ask("tools/call", {**TRACK, "arguments": {"task_id": "t", "action": "later"}})
        let_go.set()
        answer = await peer.receive()
        assert (answer["id"], answer["result"].get("isError", False)) == (number, False)
        assert await peer.ended()
    async with Store.open(home) as store:
        (episode,) = await store.episodes()
        assert episode.steps == 1


async def test_a_call_that_outlasts_the_bound_gets_no_answer_rather_than_an_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "DRAIN_SECONDS", 0.05)
    async with holding(home) as let_go, hub_in(home) as hub, connected(home) as peer:
        await peer.ask("tools/call", TRACK)
        await until(lambda: hub.connections.describe()[0]["calls"] == 1)
        hub.leave("a test")
        assert await peer.ended()
        let_go.set()


async def test_who_comes_while_the_hub_leaves_is_told_to_come_again(home: Path) -> None:
    async with holding(home) as let_go, hub_in(home) as hub, connected(home) as peer:
        await peer.ask("tools/call", TRACK)
        await until(lambda: hub.connections.describe()[0]["calls"] == 1)
        hub.leave("a test")
        assert await _greeting(home) == "retiring"
        assert await _greeting(home, kind="control", command="status") == "ok"
        assert (await ask(home, "stop"))["leaving"]  # a second stop waits like the first, and ends nobody
        let_go.set()
    assert not socket_of(home).exists()


async def test_a_newer_client_makes_the_hub_leave_and_the_others_come_again(home: Path) -> None:
    async with hub_in(home), connected(home, session="old") as old:
        assert await _greeting(home, version="99.0") == "retiring"
        assert await old.ended()


async def test_the_others_are_let_go_only_when_the_newer_client_is_ready_to_start_its_hub(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "RETIRE_SECONDS", SECONDS)
    async with hub_in(home) as hub, connected(home, session="old") as old:
        async with await anyio.connect_unix(socket_of(home)) as newer:
            assert (await Peer(newer).greet(version="99.0"))["status"] == "retiring"
            assert not (await old.call("track_execution", TRACK["arguments"])).get("isError")
            assert not hub.connections.leaving
        assert await old.ended()


async def test_an_older_client_is_served_unless_its_protocol_is_another(hub: Hub, home: Path) -> None:
    async with connected(home, version="0.0.1") as old:
        assert not (await old.call("track_execution", TRACK["arguments"])).get("isError")
        assert await _greeting(home, version="0.0.1", protocol=0) == "refused"
        assert not (await old.call("track_execution", TRACK["arguments"])).get("isError")


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Awaitable[None]]:
    """Waits until a hub in this process has looked once more whether to leave; it looks all the time."""
    seen = 0
    owns = hubs.owns

    def look(path: Path, file: tuple[int, int]) -> bool:
        nonlocal seen
        seen += 1
        return owns(path, file)

    async def once_more() -> None:
        enough = seen + 2  # the end of a look is the beginning of the next
        await until(lambda: seen >= enough)

    monkeypatch.setattr(hubs, "WATCH_SECONDS", 0.02)
    monkeypatch.setattr(hubs, "owns", look)
    return once_more


AT_ONCE = 1e-9  # seconds; only after what keeps a hub has begun, since a busy machine takes long to connect


async def test_an_idle_hub_leaves_by_itself_and_not_while_someone_is_connected(
    home: Path, looked: Callable[[], Awaitable[None]]
) -> None:
    async with hub_in(home, idle_seconds=SECONDS) as hub:
        async with connected(home) as peer:
            hub._idle_seconds = AT_ONCE
            await looked()
            assert not hub.connections.leaving
            assert await peer.request("tools/list", {})
        await until(lambda: hub.connections.leaving)


async def test_a_hub_that_a_command_uses_does_not_leave_for_idleness(
    home: Path, looked: Callable[[], Awaitable[None]]
) -> None:
    async with hub_in(home, idle_seconds=SECONDS) as hub:
        async with await anyio.connect_unix(socket_of(home)) as stream:
            peer = Peer(stream)
            await peer.greet(kind="control", command="calls")
            await until(lambda: hub.connections.commands == 1)
            hub._idle_seconds = AT_ONCE
            await looked()
            assert not hub.connections.leaving
        await until(lambda: hub.connections.leaving)


async def test_the_call_of_a_command_is_answered_before_the_hub_leaves(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "DRAIN_SECONDS", SECONDS)
    async with holding(home) as let_go, hub_in(home) as hub, await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        await peer.greet(kind="control", command="calls")
        await peer.send({"store": "stats"})
        await until(lambda: hub.connections._calling == 1)
        hub.leave("a test")
        let_go.set()
        assert (await peer.receive())["result"]["episodes"] == 0
        assert await peer.ended()


async def test_a_hub_with_work_does_not_leave_for_idleness(home: Path, looked: Callable[[], Awaitable[None]]) -> None:
    work = _Work(["training"])
    async with hub_in(home, idle_seconds=SECONDS, works=_made(work)) as hub:
        await work.begun.wait()
        assert hub.describe()["work"] == ["training"]
        hub._idle_seconds = AT_ONCE
        await looked()
        assert not hub.connections.leaving
        work.doing.clear()
        await until(lambda: hub.connections.leaving)


async def test_background_work_is_ended_and_its_end_waited_for(home: Path) -> None:
    work = _Work()
    async with hub_in(home, works=_made(work)):
        await work.begun.wait()
    assert work.ended


async def test_background_work_that_fails_takes_nobody_with_it(home: Path) -> None:
    failing, other = _Work(failure=RuntimeError("x")), _Work()
    async with hub_in(home, works=_made(failing, other)), connected(home) as peer:
        await other.begun.wait()
        assert not (await peer.call("track_execution", TRACK["arguments"])).get("isError")
    assert other.ended


async def test_a_hub_whose_socket_nobody_can_find_any_more_leaves(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "WATCH_SECONDS", 0.02)
    async with hub_in(home) as hub:
        socket_of(home).unlink()
        socket_of(home).write_text("another's")
        await until(lambda: hub.connections.leaving)
    assert socket_of(home).read_text() == "another's"


async def test_a_call_after_the_end_is_told_that_the_store_is_closed(home: Path) -> None:
    async with hub_in(home) as hub:
        await hub.opening.opened()
    with anyio.fail_after(SECONDS), pytest.raises(StoreError):
        await hub.opening.opened()


async def test_hubs_of_two_versions_hand_the_store_over_and_keep_every_step(home: Path) -> None:
    async with process(home) as old:
        peer = await old.client(session="s1")
        await peer.call("track_execution", {"task_id": "t", "action": "by the old"}, key="s1:1")
        told = await (await old.peer()).greet(session="s2", version="99.0")
        assert (told["status"], told["version"]) == ("retiring", __version__)
        assert await peer.ended()
        assert await old.wait() == 0
    async with process(home) as new:
        peer = await new.client(session="s1", version="0.0.1")
        again = await peer.call("track_execution", {"task_id": "t", "action": "by the old"}, key="s1:1")
        later = await peer.call("track_execution", {"task_id": "t", "action": "by the new"}, key="s1:2")
        assert (again["structuredContent"]["step"], later["structuredContent"]["step"]) == (1, 2)
