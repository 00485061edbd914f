"""Both clients at once on one store; a hub that dies while a client works, and a store that cannot be."""

from __future__ import annotations

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agents import AGENTS, Agent, mend
from chaos import wait_for
from loopback import Say
from person import Person, Worked
from tasks import CALCULATIONS, mended

from prowess.server.hub.client import is_running
from prowess.server.shim import places

TOOLS = {"claude-code": ["Bash", "Read", "Edit", "Bash"], "codex": ["exec_command", "apply_patch", "exec_command"]}
agents = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)


def stored(person: Person) -> dict[str, Any]:
    """Every episode by the client's session."""
    return {episode["session"]: episode for episode in person.prowess("episodes", "list")}


def check(episode: dict[str, Any], worked: Worked) -> None:
    assert [step["tool"] for step in episode["steps"]] == TOOLS[worked.agent.name]
    told = [f"{worked.agent.name}:{worked.session}:{call}" for call in worked.conversation.calls]
    assert [step["external_id"] for step in episode["steps"]] == told
    assert (episode["outcome"], episode["reward"]) == ("success", 10)


def test_both_clients_at_once_share_one_store(person: Person) -> None:
    for agent in AGENTS:
        person.install(agent)

    def work(agent: Agent) -> list[Worked]:
        return [mended(person, agent, calculation) for calculation in CALCULATIONS[:2]]

    with ThreadPoolExecutor() as pool:
        sessions = [worked for done in pool.map(work, AGENTS) for worked in done]
    episodes = stored(person)
    assert len(episodes) == len(sessions) == 4
    for worked in sessions:
        check(episodes[worked.session], worked)
    learned = [change["name"] for change in person.prowess("evolve")["changes"] if change["action"] == "create"]
    with ThreadPoolExecutor() as pool:
        after = list(pool.map(lambda agent: mended(person, agent, CALCULATIONS[2]), AGENTS))
    for worked in after:
        assert any(f"{name} (" in worked.seen for name in learned)
    for agent in AGENTS:
        assert person.prowess("import", agent.name)["steps"] == 0


@agents
def test_a_hub_that_is_killed_in_the_middle_loses_nothing(person: Person, agent: Agent) -> None:
    person.install(agent)
    calculation = CALCULATIONS[0]
    repository = person.repository("killed", calculation.files)
    killed = list[int]()

    def kill(number: int) -> None:
        if number == 2:
            wait_for("a hub", lambda: is_running(person.store))
            killed.append(places.read_state(person.store)["pid"])
            os.kill(killed[0], signal.SIGKILL)

    script = mend(agent, repository, calculation.task)
    worked = person.work(agent, repository, calculation.task, script, before=kill)
    assert len(killed) == 1
    assert places.read_state(person.store)["pid"] != killed[0]
    check(stored(person)[worked.session], worked)


@agents
def test_a_client_works_as_ever_where_no_store_can_be(person: Person, agent: Agent) -> None:
    person.install(agent)
    shutil.rmtree(person.store)
    person.store.write_text("a file where the folder should be")
    assert "Prowess records" not in mended(person, agent, CALCULATIONS[0]).seen
    assert person.store.read_text() == "a file where the folder should be"


@agents
def test_what_the_agent_tells_itself_and_its_hook_tells_too_is_stored_once(person: Person, agent: Agent) -> None:
    person.install(agent)
    repository = person.repository("told", {})
    command = "echo 3 passed in 0.1s"
    args = {"command": command} if agent.name == "claude-code" else {"cmd": command}
    step = {"task_id": "mine", "action": "run the tests", "tool": TOOLS[agent.name][0], "args": args}
    told = agent.ask("track_execution", {**step, "observation": "3 passed in 0.1s", "outcome": "success"})
    script = [agent.run("sleep 3"), agent.run(command), told, Say("Done.")]
    worked = person.work(agent, repository, CALCULATIONS[0].task, script)
    assert "committed" in json.dumps(worked.conversation.requests[-1])
    (episode,) = stored(person).values()
    assert [step["args"].get("command", step["args"].get("cmd")) for step in episode["steps"]] == ["sleep 3", command]
    assert person.prowess("import", agent.name)["steps"] == 0
    assert worked.session == episode["session"]
