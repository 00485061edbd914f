"""What a command in the background printed counts where the agent reads it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from agents import Claude, Task
from loopback import Call, Say
from person import Person

AGENT = Claude()
FAILS = {"test_till.py": "def test_till():\n    assert False\n"}


def _told(request: dict[str, Any], pattern: str) -> str:
    return re.findall(pattern, json.dumps(request["messages"]))[-1]


def wait(request: dict[str, Any]) -> Call:
    return Call("TaskOutput", {"task_id": _told(request, r"with ID: (\w+)"), "block": True, "timeout": 30_000})


def read(request: dict[str, Any]) -> Call:
    return Call("Read", {"file_path": _told(request, r"written to: (\S+?\.output)")})


@pytest.mark.parametrize("ways", [[wait], [wait, read]], ids=["waits", "waits and reads"])
def test_tests_that_ran_in_the_background_are_the_task_s_worth(
    person: Person, ways: list[Callable[[dict[str, Any]], Call]]
) -> None:
    person.install(AGENT)
    tests = {"command": f"{sys.executable} -m pytest -q test_till.py", "run_in_background": True, "description": "Run"}
    script = [Call("Bash", tests), *ways, Say("One test fails.")]
    person.work(AGENT, person.repository("till", FAILS), Task("Run the tests of the till."), script)
    (episode,) = person.prowess("episodes", "list")
    (reward,) = person.prowess("episodes", "show", episode["episode_id"])["rewards"]
    assert reward["evidence"]["tests"] == {"passed": 0, "failed": 1}
    told = person.prowess("import", AGENT.name)
    assert (told["steps"], told["known"]) == (0, 1)
