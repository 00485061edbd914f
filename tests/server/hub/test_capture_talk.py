"""Where an agent's own calls go while hooks record it, and how hooks are answered."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from capturekit import TRACK, Client, ask, call
from hubkit import Peer, connected, hello_line, socket_of

from prowess.server.hub.hub import Hub

pytestmark = pytest.mark.anyio


@pytest.fixture
def agent(hub: Hub, home: Path) -> Client:
    return Client(hub, home)


# ---- the agent's own calls


async def test_a_step_that_the_agent_tells_as_well_is_stored_once(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s")
    agent.leave("PreToolUse", tool_name="mcp__prowess__track_execution", tool_input={"task_id": "till"})
    async with connected(home, project="shop") as peer:
        told = await call(peer, "track_execution", {"task_id": "till", **TRACK})
    assert (told["stored"], told["duplicates"], told["step"]) == (0, 1, 1)
    assert [step.action for step in await agent.steps()] == ["Bash: pytest -q"]
    assert len(await agent.episodes()) == 1


async def test_a_name_that_an_agent_gave_its_task_is_another_task_in_another_project(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    agent.leave("PreToolUse", tool_name="mcp__prowess__track_execution", tool_input={"task_id": "till"})
    async with connected(home, project="bank") as peer:
        told = await call(peer, "track_execution", {"task_id": "till", **TRACK})
    assert (await (await agent.store()).episode(told["episode_id"])).project == "bank"
    assert [step.action for step in await agent.steps()] == ["Bash: make"]


async def test_a_task_that_the_agent_tracks_in_another_project_stays_there_when_it_names_none(
    agent: Client, home: Path
) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    agent.leave("PreToolUse", tool_name="mcp__prowess__track_execution", tool_input={"task_id": "till"})
    async with connected(home, project="shop") as peer:
        told = await call(peer, "track_execution", {"task_id": "till", "project": "bank", **TRACK})
        again = await call(peer, "track_execution", {"task_id": "till", **TRACK})
        scored = await call(peer, "score_reward", {"task_id": "till", "reward": 4})
        await call(peer, "find_skill", {"task_id": "till", "query": "mend the till"})
    assert told["episode_id"] == again["episode_id"] == scored["episode_id"]
    assert [step.action for step in await agent.steps()] == ["Bash: make"]
    (exposure,) = await (await agent.store()).exposures()
    assert (exposure.project, exposure.episode_id, exposure.task_id) == ("bank", told["episode_id"], "till")


async def test_what_only_the_agent_tells_joins_what_hooks_record(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s")
    agent.leave("PreToolUse", tool_name="mcp__prowess__track_execution", tool_input={"task_id": "till"})
    steps = [{"action": "thought about the till", "step": 1}, {"action": "ran pytest -q: all pass"}]
    async with connected(home, project="shop") as peer:
        told = await call(peer, "track_execution", {"task_id": "till", "steps": steps})
    assert (told["stored"], told["duplicates"]) == (1, 1)
    agent.shell("git commit -m till", "[main 1a2b3c4] till")
    assert [step.action for step in await agent.steps()] == [
        "Bash: pytest -q",
        "thought about the till",
        "Bash: git commit -m till",
    ]


async def test_what_an_agent_says_of_a_task_takes_no_prompts_place_once_its_words_are_forgotten(
    agent: Client, home: Path
) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    assert [episode.task for episode in await agent.episodes()] == ["Mend the failing till of the shop"]
    await agent._hub.capture.forget()
    async with connected(home, project="shop") as peer:
        told = {"task_id": "claude-code:s1", "action": "thought", "task": "no, never push to main"}
        await call(peer, "track_execution", told)
    assert [(episode.task, episode.steps) for episode in await agent.episodes()] == [
        ("Mend the failing till of the shop", 2)
    ]


async def test_two_runs_of_one_command_are_two_steps_when_both_are_told(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "1 failed in 0.1s", failed=True)
    agent.shell("pytest -q", "3 passed in 0.1s")
    async with connected(home, project="shop") as peer:
        told = await call(peer, "track_execution", {"task_id": "claude-code:s1", "steps": [TRACK, TRACK]})
    assert (told["stored"], told["duplicates"]) == (0, 2)
    assert len(await agent.steps()) == 2


async def test_the_sessions_own_name_means_the_task_at_work(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    async with connected(home, project="shop") as peer:
        told = await call(peer, "score_reward", {"task_id": "claude-code:s1", "reward": 4, "final": True})
    assert told["reward"] == 4
    assert not told.get("closed")
    agent.shell("make install")
    (episode,) = await agent.episodes()
    assert (episode.steps, episode.closed_at) == (2, None)


async def test_a_final_word_without_a_score_is_answered_and_closes_nothing(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    async with connected(home, project="shop") as peer:
        told = await call(peer, "score_reward", {"task_id": "claude-code:s1", "final": True})
        unknown = await peer.call("score_reward", {"task_id": "claude-code:other", "final": True})
    assert told["outcome"] == "unknown"
    assert unknown["isError"]


async def test_tasks_that_no_hook_records_are_the_agents_own(agent: Client, home: Path) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s")
    async with connected(home, project="shop") as peer:
        told = await call(peer, "track_execution", {"task_id": "till", **TRACK})
    assert told["stored"] == 1
    assert len(await agent.episodes()) == 2


async def test_two_sessions_at_once_in_one_folder_are_two_tasks(agent: Client, hub: Hub, home: Path) -> None:
    other = Client(hub, home, session="s2")
    for one, words in ((agent, "Mend the failing till"), (other, "Paint the door")):
        one.prompt(words)
    for _ in range(3):
        agent.shell("make till")
        other.shell("make door")
    assert [(episode.session, episode.task) for episode in await agent.episodes()] == [
        ("s1", "Mend the failing till"),
        ("s2", "Paint the door"),
    ]
    assert [step.action for step in await agent.steps(0)] == ["Bash: make till"] * 3
    assert [step.action for step in await agent.steps(1)] == ["Bash: make door"] * 3


async def test_a_poke_gets_no_answer(agent: Client, home: Path) -> None:
    agent.shell("make")
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        await peer.send(hello_line(kind="hook", command="spool", protocol=99))
        assert await peer.ended()
    assert len(await agent.steps()) == 1


@pytest.mark.parametrize("line", [b"[]\n", b"no json\n", b'{"kind": "prompt", "seconds": "long"}\n', b"{}\n"])
async def test_a_question_that_makes_no_sense_harms_nobody(agent: Client, home: Path, line: bytes) -> None:
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        await peer.send(hello_line(kind="hook", command="context"))
        await peer.send(line)
        await stream.send_eof()
        assert await peer.receive() == {}
    agent.shell("make")
    assert len(await agent.steps()) == 1


async def test_a_hook_that_does_not_wait_for_its_answer_is_nothing_to_log(
    agent: Client, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "prowess.server.hub")
    agent.prompt("Mend the failing till of the shop")
    for question in (b'{"kind": "prompt", "client": "claude-code", "session": "s1"}\n', b"{", b""):
        async with await anyio.connect_unix(socket_of(home)) as stream:
            await stream.send(hello_line(kind="hook", command="context") + question)
    await ask(home, "prompt", "e1")
    assert [record.getMessage() for record in caplog.records] == []
