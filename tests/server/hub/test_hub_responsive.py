"""The event loop belongs to the agents: nothing holds it for more than 50 ms, however much is stored."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from heartbeat import LIMIT, Look, beating, lost, never_late
from hubkit import SECONDS, Peer, connected, hub_in, socket_of

from prowess.server.hub.hub import Hub
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

EPISODES, STEPS = 1000, 100
ORIGIN = Origin(client="test", session="s")


async def test_the_watch_sees_a_loop_that_waits_for_something_else() -> None:
    with beating(excuse=False) as heart:
        for _ in range(int(SECONDS / LIMIT)):
            time.sleep(2 * LIMIT)  # noqa: ASYNC251
            if heart.doing:  # the watch has a turn late on a busy machine
                break
        await anyio.sleep(LIMIT)
    assert heart.worst > LIMIT
    assert any("test_the_watch" in told for told in heart.late)


async def test_the_watch_sees_a_thread_that_keeps_the_interpreter_for_itself() -> None:
    with beating(excuse=False) as heart:
        # One long operation in C, which never lets go of the lock.
        await anyio.to_thread.run_sync(lambda: sum(range(20_000_000)))
        await anyio.sleep(LIMIT)
    assert heart.worst > LIMIT


async def test_the_watch_is_content_with_a_loop_that_waits_for_its_clients() -> None:
    await never_late(lambda: anyio.sleep(4 * LIMIT))


async def test_the_watch_is_not_content_with_a_loop_that_is_late_each_time() -> None:
    async def work() -> None:
        sum(range(20_000_000))
        await anyio.sleep(LIMIT)

    for _ in range(5):  # a machine that is busy enough excuses one of the attempts
        try:
            await never_late(work)
        except AssertionError:
            return
    pytest.fail("the watch was content each time")


async def test_one_step_with_many_arguments_holds_up_nobody(home: Path) -> None:
    many = {f"name{number}": number for number in range(30_000)}
    async with hub_in(home), connected(home) as peer:
        await peer.call("track_execution", {"task_id": "t", "action": "first"})

        async def track() -> None:
            answer = await peer.call("track_execution", {"task_id": "t", "action": "a", "args": many})
            assert answer["structuredContent"]["receipt"] == "committed"

        await never_late(track)


LOOP, LOCKED, OTHER = 1, 2, 3


def test_others_took_what_the_loop_and_the_one_before_it_were_kept_from_and_what_the_host_took() -> None:
    before = Look(at=10.0, queued={LOOP: 1.0, LOCKED: 5.0, OTHER: 2.0}, stolen=0.5, worked=1.0)
    now = Look(at=10.2, queued={LOOP: 1.03, LOCKED: 5.04, OTHER: 2.01, 4: 0.02}, stolen=0.52, worked=1.1)
    assert lost(before, now, LOOP) == pytest.approx(0.03 + 0.04 + 0.02)


def test_where_nobody_counts_only_what_this_process_worked_is_its_own() -> None:
    before, now = (Look(at=at, queued={}, stolen=0.0, worked=worked) for at, worked in ((10.0, 1.0), (10.2, 1.08)))
    assert lost(before, now, LOOP) == pytest.approx(0.2 - 0.08)


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
    async with hub_in(home, seconds=20 * SECONDS) as hub:
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


async def _use_everything(home: Path) -> None:
    many = [{"action": f"step {number}", "observation": "words of a result " * 10} for number in range(2_000)]
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


async def test_all_tools_at_once_over_a_hundred_thousand_steps_never_hold_the_loop(loaded: Hub, home: Path) -> None:
    await never_late(lambda: _use_everything(home))
