"""The clients themselves say what `prowess install` and `prowess skills export` put into their folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents import AGENTS, Agent, Task
from loopback import Say
from person import Person

agents = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
WORDS = Task("Say something.")
HOSTS = {"claude-code": "claude", "codex": "codex"}


@agents
def test_the_client_lists_the_server(person: Person, agent: Agent) -> None:
    person.install(agent)
    listed = person.client(agent, "mcp", "list")
    (line,) = [line for line in listed.splitlines() if line.startswith("prowess")]
    assert "shim" in line
    # Claude Code tries it, Codex says whether it would.
    assert ("Connected" in line) if agent.name == "claude-code" else ("enabled" in line)


@agents
def test_an_exported_skill_is_in_the_request_to_the_model(person: Person, agent: Agent, tmp_path: Path) -> None:
    person.install(agent)
    repository = person.repository("greet", {})
    before = person.work(agent, repository, WORDS, [Say("Hello.")])
    assert "zebra" not in before.seen
    skill = tmp_path / "greet" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\nname: greet-politely\ndescription: Greet a zebra politely.\n---\n1. `Bash` bow\n")
    person.prowess("skills", "import", str(tmp_path), "--trust")
    person.prowess("skills", "restore", "greet-politely")
    person.prowess("skills", "export", "--to", HOSTS[agent.name])
    after = person.work(agent, repository, WORDS, [Say("Hello.")])
    assert "greet-politely: Greet a zebra politely." in after.seen
