"""What a subagent does is stored once, in the episode of the one that started it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from agents import AGENTS, Agent, Task
from loopback import Call, Say
from person import Person

TASK = Task("Let somebody look around in this folder.")
AGENTS_TOOLS = "multi_agent_v1"


def claude_s_parent(request: str) -> Say | Call:
    if '"Agent", "input"' in request:
        return Say("Done.")
    return Call("Agent", {"description": "Look", "prompt": "List the files.", "subagent_type": "Explore"})


def codex_s_parent(request: str) -> Say | Call:
    if "wait_agent" in request:
        return Say("Done.")
    if started := re.search(r"agent_id\W+([0-9a-f-]{36})", request):
        return Call("wait_agent", {"targets": [started[1]], "timeout_ms": 60_000}, AGENTS_TOOLS)
    return Call("spawn_agent", {"message": "List the files."}, AGENTS_TOOLS)


def script(agent: Agent, parent: Callable[[str], Say | Call], turns: int) -> list[Any]:
    """What parent and child are told, whichever of them asks."""

    def turn(request: dict[str, Any]) -> Say | Call:
        said = json.dumps(request.get("input") or request["messages"])
        if TASK.prompt in said:
            return parent(said)
        return Say("There is one file.") if "pytest.ini" in said else agent.run("ls")

    return [turn] * turns


@pytest.mark.parametrize(
    ("agent", "parent", "tools"),
    [
        (AGENTS[0], claude_s_parent, ["Agent", "Bash"]),
        (AGENTS[1], codex_s_parent, ["exec_command", "spawn_agent", "wait_agent"]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_subagent_s_work_is_in_the_episode_of_its_parent(
    person: Person, agent: Agent, parent: Callable[[str], Say | Call], tools: list[str]
) -> None:
    person.install(agent)
    turns = script(agent, parent, len(tools) + 2)
    worked = person.work(agent, person.repository("look", {}), TASK, turns)
    (episode,) = person.prowess("episodes", "list")
    assert (episode["session"], episode["task"]) == (worked.session, TASK.prompt)
    assert sorted(step["tool"] for step in episode["steps"]) == tools
    told = person.prowess("import", agent.name)
    assert (told["sessions"], told["steps"], told["known"]) == (1, 0, 1)
