"""What hook, agent and import tell of a call is one step, whoever tells first."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from inspect import isfunction, signature
from itertools import permutations
from pathlib import Path
from typing import Any

import anyio
import pytest
from capturekit import TRACK, Client, call
from hubkit import connected, hub_in

from prowess.server.capture.binding import BoundStore
from prowess.server.hub.hub import Hub
from prowess.server.transcripts import claude_code
from prowess.server.transcripts.importer import import_sessions
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store
from prowess.tools.remembering import mark_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def agent(hub: Hub, home: Path) -> Client:
    return Client(hub, home)


async def test_what_hook_agent_and_import_tell_is_stored_once(agent: Client, hub: Hub, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s", call="toolu_1")
    async with connected(home, project="shop") as peer:
        await call(peer, "track_execution", {"task_id": "claude-code:s1", **TRACK})
    agent.leave("SessionEnd")
    await agent.episodes()
    transcript = home.parent / "s1.jsonl"
    common = {"sessionId": "s1", "cwd": "/", "version": "2.1.197", "timestamp": "2026-11-29T10:00:00Z"}
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pytest -q"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3 passed in 0.1s"}
    missed = {**use, "id": "toolu_2", "input": {"command": "git push"}}
    records = [
        {"type": "user", "uuid": "u1", "promptId": "p1", "message": {"content": "Mend the failing till of the shop"}},
        {"type": "assistant", "uuid": "u2", "message": {"content": [use]}},
        {"type": "user", "uuid": "u3", "promptId": "p1", "message": {"content": [result]}},
        {"type": "assistant", "uuid": "u4", "message": {"content": [missed]}},
        {"type": "user", "uuid": "u5", "message": {"content": [{**result, "tool_use_id": "toolu_2", "content": "ok"}]}},
    ]
    await anyio.Path(transcript).write_text("".join(json.dumps({**common, **record}) + "\n" for record in records))
    ctx = (await hub.opening.opened()).context(project="shop", actor="person")
    imported = await import_sessions(claude_code, transcript, ctx)
    assert (imported.steps, imported.notes.broken_lines) == (1, 0)
    assert len(await agent.episodes()) == 1
    told = {step.external_id for step in await agent.steps()}
    assert told == {"claude-code:s1:toolu_1", "claude-code:s1:toolu_2"}
    assert len(await agent.steps()) == 2
    again = await import_sessions(claude_code, transcript, ctx)
    assert (again.steps, again.known) == (0, 1)


async def transcript_of(home: Path, *calls: str) -> Path:
    """A session that ran the tests once for each of ``calls``."""
    records: list[dict[str, Any]] = [{"type": "user", "message": {"content": "Mend the failing till of the shop"}}]
    for name in calls:
        use = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "pytest -q"}}
        result = {"type": "tool_result", "tool_use_id": name, "content": "3 passed in 0.1s"}
        records.append({"type": "assistant", "message": {"content": [use]}})
        records.append({"type": "user", "message": {"content": [result]}})
    common = {"sessionId": "s1", "cwd": "/", "version": "2.1.197", "timestamp": "2026-11-29T10:00:00Z"}
    lines = [{**common, "uuid": f"u{number}", "promptId": "p1", **record} for number, record in enumerate(records)]
    transcript = home.parent / "s1.jsonl"
    await anyio.Path(transcript).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return transcript


@pytest.mark.parametrize("order", [" ".join(order) for order in permutations(("agent", "hook", "import"))])
async def test_in_whatever_order_a_call_is_told_it_is_stored_once(
    agent: Client, hub: Hub, home: Path, order: str
) -> None:
    """The agent may be the first: it tells side by side with the call, or while the hub is busy with other events."""
    transcript = await transcript_of(home, "toolu_1")
    agent.prompt("Mend the failing till of the shop")
    for teller in order.split() * 2:
        if teller == "hook":
            agent.shell("pytest -q", "3 passed in 0.1s", call="toolu_1")
            await agent.episodes()
        elif teller == "agent":
            async with connected(home, project="shop") as peer:
                await call(peer, "track_execution", {"task_id": "claude-code:s1", **TRACK})
        else:
            ctx = (await hub.opening.opened()).context(project="shop", actor="person")
            await import_sessions(claude_code, transcript, ctx)
    assert len(await agent.episodes()) == 1
    assert [step.external_id for step in await agent.steps()] == ["claude-code:s1:toolu_1"]


async def test_what_the_agent_told_first_gains_what_the_hook_knows(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    async with connected(home, project="shop") as peer:
        steps = {"tool": "bash", "action": "run the tests", "args": {"command": "pytest -q"}}
        told = await call(peer, "track_execution", {"task_id": "claude-code:s1", **steps})
        agent.shell("pytest -q", "2 failed, 1 passed in 0.2s", call="toolu_1", failed=True)
        again = await call(peer, "track_execution", {"task_id": "claude-code:s1", **steps})
    assert [(answer["stored"], answer["duplicates"]) for answer in (told, again)] == [(1, 0), (0, 1)]
    (step,) = await agent.steps()
    assert (step.action, step.tool, step.outcome) == ("run the tests", "bash", "failure")
    assert step.error == step.observation == "Exit code 1\n2 failed, 1 passed in 0.2s"
    agent.leave("Stop")
    assert await agent.evidence() == {"tests": pytest.approx(-5.333)}


async def test_two_runs_of_one_command_are_two_steps_when_the_agent_told_one_of_them_first(
    agent: Client, home: Path
) -> None:
    agent.prompt("Mend the failing till of the shop")
    async with connected(home, project="shop") as peer:
        await call(peer, "track_execution", {"task_id": "claude-code:s1", **TRACK})
    for number in (1, 2):
        agent.shell("pytest -q", "3 passed in 0.1s", call=f"toolu_{number}")
    told = [(step.action, step.external_id) for step in await agent.steps()]
    assert told == [
        ("run the tests", "claude-code:s1:toolu_1"),
        ("Bash: pytest -q", "claude-code:s1:toolu_2"),
    ]


async def test_of_calls_that_the_agent_told_first_each_is_one(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    edit = {"action": "mend", "tool": "Edit", "args": {"file_path": "/till.py"}}
    async with connected(home, project="shop") as peer:
        await call(peer, "track_execution", {"task_id": "claude-code:s1", "steps": [TRACK, edit, TRACK]})
    agent.shell("pytest -q", "1 failed in 0.1s", call="a", failed=True)
    told = {"file_path": "/till.py", "new_string": "x"}
    for name in ("b", "c"):
        agent.leave("PostToolUse", tool_name="Edit", tool_use_id=name, tool_input=told, tool_response={})
    agent.shell("pytest -q", "3 passed in 0.1s", call="d")
    numbered = sorted((step.number, str(step.external_id)[-1]) for step in await agent.steps())
    assert numbered == [(1, "a"), (2, "b"), (3, "d"), (4, "c")]


@pytest.mark.parametrize(
    "told",
    [
        {"action": "will see what pytest -q says"},
        {"action": "run", "tool": "Bash", "args": {"command": "pytest -q tests"}},
        {"action": "run", "tool": "Shell", "args": {"command": "pytest -q"}},
        {"action": "run", "tool": "Bash", "args": {"command": "pytest -q"}, "timestamp": "2026-01-01T00:00:00Z"},
    ],
    ids=["words alone", "another command", "another tool", "long before the call"],
)
async def test_no_hooks_step_is_lost_to_what_the_agent_told_of_something_else(
    agent: Client, home: Path, told: dict[str, Any]
) -> None:
    agent.prompt("Mend the failing till of the shop")
    async with connected(home, project="shop") as peer:
        await call(peer, "track_execution", {"task_id": "claude-code:s1", **told})
    agent.shell("pytest -q", "3 passed in 0.1s", call="toolu_1")
    assert {step.external_id for step in await agent.steps()} == {None, "claude-code:s1:toolu_1"}
    assert len(await agent.steps()) == 2


async def test_an_import_takes_no_step_for_a_call_that_is_another_step(agent: Client, hub: Hub, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    async with connected(home, project="shop") as peer:
        await call(peer, "track_execution", {"task_id": "claude-code:s1", "steps": [TRACK, TRACK]})
    agent.shell("pytest -q", "3 passed in 0.1s", call="a")
    await agent.episodes()
    ctx = (await hub.opening.opened()).context(project="shop", actor="person")
    imported = [await import_sessions(claude_code, await transcript_of(home, *"abc"), ctx) for _ in range(2)]
    assert [result.steps for result in imported] == [1, 0]
    told = sorted((step.number, str(step.external_id)[-1]) for step in await agent.steps())
    assert told == [(1, "a"), (2, "b"), (3, "c")]


async def test_what_agent_and_hook_tell_at_once_is_stored_once(agent: Client, hub: Hub) -> None:
    agent.prompt("Mend the failing till of the shop")
    opened = await hub.opening.opened()
    store = (await hub.capture.bound(opened.context())).store
    agent.shell("pytest -q", "3 passed in 0.1s", call="toolu_1")
    mine = NewStep(action="run the tests", tool="Bash", args={"command": "pytest -q"})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.store)
        where = Where(task_id="claude-code:s1", project="shop")
        tasks.start_soon(partial(store.track, where, [mine], origin=Origin()))
    assert [step.external_id for step in await agent.steps()] == ["claude-code:s1:toolu_1"]


async def test_a_later_hub_knows_what_the_agent_told_an_earlier_one(home: Path) -> None:
    async with hub_in(home) as hub:
        first = Client(hub, home)
        first.prompt("Mend the failing till of the shop")
        async with connected(home, project="shop") as peer:
            await call(peer, "track_execution", {"task_id": "claude-code:s1", **TRACK})
    async with hub_in(home) as hub:
        second = Client(hub, home)
        second.shell("pytest -q", "3 passed in 0.1s", call="toolu_1")
        assert [step.external_id for step in await second.steps()] == ["claude-code:s1:toolu_1"]


async def test_an_agent_whose_hooks_are_at_work_can_reflect(agent: Client, hub: Hub, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s", call="toolu_1")
    async with connected(home, project="shop") as peer:
        for task in ("one", "two"):
            await call(peer, "track_execution", {"task_id": task, "task": "Close the till", **TRACK})
            await call(peer, "score_reward", {"task_id": task, "reward": 8, "final": True})
        await call(peer, "reflect", {})
    store = (await hub.opening.opened()).context(project="shop", actor="person").store
    assert 0 < await store.mark(mark_of("shop")) <= store.head


def test_a_bound_store_is_called_as_a_store_is() -> None:
    own = {name for name, kind in vars(BoundStore).items() if not name.startswith("_") and isfunction(kind)}
    assert {"track", "score", "append", "find_episode"} <= own
    for name in own:
        assert _parameters(getattr(BoundStore, name)) == _parameters(getattr(Store, name)), name


def _parameters(method: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    return [(one.name, one.kind, one.default) for one in signature(method).parameters.values()]


async def test_one_call_is_no_more_than_one_of_the_steps_that_an_agent_tells(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s")
    await agent.store()
    async with connected(home, project="shop") as peer:
        told = await call(peer, "track_execution", {"task_id": "claude-code:s1", "steps": [TRACK, TRACK]})
    assert (told["stored"], told["duplicates"]) == (1, 1)


async def test_the_words_of_another_tools_step_tell_of_no_command(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s")
    await agent.store()
    step = {"tool": "Read", "action": "read how pytest -q is called"}
    async with connected(home, project="shop") as peer:
        told = await call(peer, "track_execution", {"task_id": "claude-code:s1", **step})
        assert (told["stored"], told["duplicates"]) == (1, 0)
        told = await call(peer, "track_execution", {"task_id": "claude-code:s1", **step, "tool": "Bash"})
        assert (told["stored"], told["duplicates"]) == (0, 1)


@pytest.mark.parametrize("first_told", ["by the agent", "by a hook"])
async def test_a_call_that_is_sent_again_gets_its_answer_though_a_hook_told_of_part_of_it(
    agent: Client, home: Path, first_told: str
) -> None:
    """A hub that was killed before it answered is asked again, under the same key."""
    agent.prompt("Mend the failing till of the shop")
    steps = [TRACK, {"tool": "Look", "action": "look around", "args": {"at": "till"}}]
    async with connected(home, project="shop") as peer:
        asked = ("track_execution", {"task_id": "claude-code:s1", "steps": steps}, "k1")
        if first_told == "by a hook":
            agent.shell("pytest -q", "3 passed in 0.1s")
        first = await peer.call(*asked)
        if first_told == "by the agent":
            agent.shell("pytest -q", "3 passed in 0.1s")
        await agent.store()
        assert await peer.call(*asked) == first
    assert [step.external_id for step in await agent.steps()] == ["claude-code:s1:c1", None]


async def test_a_step_of_the_end_of_time_keeps_no_other_out(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("ls", "a", call="toolu_0")
    await agent.store()
    async with connected(home, project="shop") as peer:
        await call(peer, "track_execution", {"task_id": "claude-code:s1", **TRACK, "timestamp": "9999-12-31T23:59:59Z"})
    agent.shell("pytest -q", "3 passed in 0.1s", call="toolu_1")
    told = [step.external_id for step in await agent.steps()]
    assert told == ["claude-code:s1:toolu_0", "claude-code:s1:toolu_1"]


async def test_what_an_import_recognised_meanwhile_stands_in_no_calls_way(agent: Client, hub: Hub, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    async with connected(home, project="shop") as peer:
        for _ in range(2):
            await call(peer, "track_execution", {"task_id": "claude-code:s1", **TRACK})
    agent.shell("ls", "a", call="toolu_0")  # so that what the agent told is read
    await agent.store()
    ctx = (await hub.opening.opened()).context(project="shop", actor="person")
    await import_sessions(claude_code, await transcript_of(home, "toolu_1"), ctx)
    for name in ("toolu_1", "toolu_2"):
        agent.shell("pytest -q", "3 passed in 0.1s", call=name)
        await agent.store()
    told = [step.external_id for step in await agent.steps()]
    assert told == [f"claude-code:s1:toolu_{number}" for number in (1, 2, 0)]
