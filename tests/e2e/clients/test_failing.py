"""A command fails that failed in a session before: the client's model is told at once how it worked then."""

from __future__ import annotations

import json

from agents import Claude, Task
from loopback import Say
from person import Person

BOOT = "test -f key || { echo 'Error: no key of the till'; exit 1; }; echo open"


def test_what_got_over_the_error_is_in_the_next_request(person: Person) -> None:
    with (person.store / "config.toml").open("a") as settings:
        settings.write("hook_start_tokens = 0\n")  # else the start tells it
    agent = Claude()
    person.install(agent)
    repository = person.repository("till", {"boot": BOOT, "make_key": "touch key"})
    boot, key = agent.run("sh boot"), agent.run("sh make_key")
    person.work(agent, repository, Task("Open the till, please."), [boot, key, boot, Say("It is open.")])
    (episode,) = person.prowess("episodes", "list")
    person.prowess("reflect", "--project", episode["project"])
    (repository / "key").unlink()
    worked = person.work(agent, repository, Task("Good morning, begin the day."), [boot, Say("It needs a key.")])
    told = "it worked after `sh make_key`"
    assert told not in worked.seen
    assert told in json.dumps(worked.conversation.requests[1]["messages"])
