"""A question that is answered in words is no part of the task that comes after it in the same session."""

from __future__ import annotations

import pytest
from agents import AGENTS, Agent, Task
from loopback import Say
from person import Person

QUESTION = Task("What is the value of discount in till.py?")
WISH = Task("Raise the discount of regular customers to ten.")


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_task_begins_where_work_is_asked_for(person: Person, agent: Agent) -> None:
    person.install(agent)
    repository = person.repository("till", {"till.py": "discount = 5\n"})
    asked = person.work(agent, repository, QUESTION, [Say("It is five.")])
    person.work(agent, repository, WISH, [agent.run("cat till.py"), Say("Done.")], again=True)
    (episode,) = person.prowess("episodes", "list")
    assert (episode["session"], episode["task"]) == (asked.session, WISH.prompt)
    told = person.prowess("import", agent.name)
    assert (told["sessions"], told["steps"], told["known"]) == (1, 0, 1)
