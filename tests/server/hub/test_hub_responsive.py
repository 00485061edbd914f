"""The event loop belongs to the agents: nothing holds it for more than 50 ms, however much is stored."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from heartbeat import LIMIT, beating
from hubkit import Peer, connected, hub_in, socket_of

from prowess.server.hub.hub import Hub
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

EPISODES, STEPS = 1000, 100
ORIGIN = Origin(client="test", session="s")


async def test_the_watch_sees_a_loop_that_waits_for_something_else() -> None:
    with beating() as heart:
        time.sleep(4 * LIMIT)  # noqa: ASYNC251
        await anyio.sleep(LIMIT)
    assert heart.worst > LIMIT
    assert "test_the_watch" in heart.late[0]


async def test_the_watch_sees_a_thread_that_keeps_the_interpreter_for_itself() -> None:
    with beating() as heart:
        for _ in range(10):  # on a machine with other things to do, it is lenient
            # One long operation in C, which never lets go of the lock.
            await anyio.to_thread.run_sync(lambda: sum(range(20_000_000)))
            await anyio.sleep(LIMIT)
            if heart.late:
                break
    assert heart.worst > LIMIT


async def test_the_watch_is_content_with_a_loop_that_waits_for_its_clients(responsive: None) -> None:
    await anyio.sleep(4 * LIMIT)


async def _fill(home: Path) -> None:
    """100,000 steps in 1,000 scored episodes of 50 tasks."""
    limit = anyio.CapacityLimiter(8)

    async def record(store: Store, number: int) -> None:
        async with limit:
            where = Where(task_id=f"shop/{number}", project="shop", session="s", task=f"Return order {number % 50}")
            await store.track(where, [_step(number, index) for index in range(STEPS)], origin=ORIGIN)
            await store.score(where, [NewReward(value=float(number % 11 - 5))], final=True, origin=ORIGIN)

    async with Store.open(home) as store, anyio.create_task_group() as tasks:
        for number in range(EPISODES):
            tasks.start_soon(record, store, number)


def _step(episode: int, index: int) -> NewStep:
    failed = episode * index % 13 == 5
    return NewStep(
        action=f"call tool {index % 17}",
        tool=f"tool_{index * episode % 17}",
        args={"order": episode, "index": index},
        observation=f"what came of {index} in episode {episode}",
        outcome="failure" if failed else "success",
        error=f"no such order {episode}" if failed else None,
    )


@pytest.fixture
async def loaded(home: Path) -> AsyncIterator[Hub]:
    await _fill(home)
    async with hub_in(home) as hub:
        await hub.opening.opened()
        # What is loaded at first use is loaded by now.
        async with connected(home, project="shop") as peer:
            await peer.call("find_skill", {"query": "return an order"})
            await peer.call("evolve_skills", {"mode": "status"})
        yield hub


async def _call(home: Path, session: str, tool: str, arguments: dict[str, Any], times: int = 1) -> None:
    async with connected(home, session=session, project="shop") as peer:
        for _ in range(times):
            answer = await peer.call(tool, arguments)
            assert not answer.get("isError"), answer


async def _ask(home: Path, asked: dict[str, Any]) -> None:
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        await peer.greet(kind="control", command="calls")
        await peer.send(asked)
        assert "result" in await peer.receive()


async def test_all_tools_at_once_over_a_hundred_thousand_steps_never_hold_the_loop(loaded: Hub, home: Path) -> None:
    many = [{"action": f"step {number}", "observation": "words of a result " * 10} for number in range(2_000)]
    with beating() as heart:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_call, home, "a", "track_execution", {"task_id": "one", "action": "a"}, 30)
            tasks.start_soon(_call, home, "b", "track_execution", {"task_id": "many", "steps": json.dumps(many)})
            tasks.start_soon(_call, home, "c", "track_execution", {"task_id": "list", "steps": many})
            tasks.start_soon(_call, home, "d", "score_reward", {"task_id": "shop/7", "reward": 3}, 5)
            tasks.start_soon(_call, home, "e", "find_skill", {"query": "return an order"}, 10)
            tasks.start_soon(_call, home, "f", "reflect", {})
            tasks.start_soon(_call, home, "g", "evolve_skills", {"mode": "auto"})
            tasks.start_soon(_ask, home, {"store": "episodes"})
            tasks.start_soon(_ask, home, {"store": "verify"})
        await _call(home, "h", "find_skill", {"query": "return an order"}, 10)
        await _ask(home, {"store": "rebuild"})
    assert not heart.late, "the event loop was blocked:\n" + "\n".join(heart.late)
