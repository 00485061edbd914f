"""A client mends a failing test: what its hooks told is in the store, once, with what it was worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import AGENTS, Agent, Task, mend
from person import Person, Worked

ADD = Task("The test of add fails. Mend it.", "calc.py", "    return a - b", "    return a + b", "test_calc.py")
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
}
agents = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)


def mended(person: Person, agent: Agent, name: str = "calc") -> tuple[Worked, Path]:
    repository = person.repository(name, FILES)
    return person.work(agent, repository, ADD, mend(agent, repository, ADD)), repository


@agents
def test_the_store_has_each_tool_use_once_with_its_outcome_and_a_reward(person: Person, agent: Agent) -> None:
    person.install(agent)
    _, repository = mended(person, agent)
    assert "a + b" in (repository / "calc.py").read_text()
    (episode,) = person.prowess("episodes", "list")
    print(episode)
