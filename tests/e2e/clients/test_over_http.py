"""The clients over HTTP, as on a machine where no store is: configured by their own commands, with a token."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from agents import AGENTS, Agent, Task
from loopback import Say
from person import SECONDS, Person

TASK = Task("Say how the build is made.")


@contextmanager
def _served(person: Person) -> Iterator[str]:
    command = [sys.executable, "-I", "-m", "prowess.server", "serve", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, env=person.environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:[0-9]+/mcp", said)
            assert found, said
            yield found[0]
        finally:
            process.terminate()
            process.wait(SECONDS)


def _add(person: Person, agent: Agent, url: str, secret: str) -> None:
    if agent.name == "codex":
        person.environment["PROWESS_TEST_TOKEN"] = secret
        person.client(agent, "mcp", "add", "prowess", "--url", url, "--bearer-token-env-var", "PROWESS_TEST_TOKEN")
    else:
        header = f"Authorization: Bearer {secret}"
        person.client(agent, "mcp", "add", "--transport", "http", "--scope", "user", "prowess", url, "--header", header)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_a_client_reaches_the_store_with_a_token(person: Person, agent: Agent) -> None:
    agent.prepare(person.home)
    secret = person.prowess("token", "create", "ci", "--project", "shop")["token"]
    repository = person.repository("elsewhere", {"a.txt": "a\n"})
    with _served(person) as url:
        _add(person, agent, url, secret)
        call = agent.ask("track_execution", {"task_id": "build", "action": "make build", "tool": "bash"})
        person.work(agent, repository, TASK, [call, Say("It is made by make.")])
    (episode,) = person.prowess("episodes", "list")
    assert (episode["task_id"], episode["project"]) == ("build", "shop")
    assert [step["action"] for step in episode["steps"]] == ["make build"]
