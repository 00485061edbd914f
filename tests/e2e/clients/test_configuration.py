"""The real clients read what ``prowess install`` and the plugin folders say, and write into the same files."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import Claude, Codex
from person import SECONDS, Person

CLAUDE, CODEX = Claude(), Codex()


@pytest.fixture
def plugins(person: Person) -> Path:
    """The folder of the marketplaces; plugins start ``prowess`` from the PATH."""
    person.environment["PATH"] = f"{Path(sys.executable).parent}:{person.environment['PATH']}"
    person.environment.update(CLAUDE.environment(person.home, "http://127.0.0.1:9"))  # nothing is sent to a model
    return Path(person.prowess("config", "plugins")["folder"])


@contextmanager
def app_server(person: Person, programs: Path) -> Iterator[Any]:
    """Codex's own programming interface: a function that asks one question."""
    command = [str(programs / "codex"), "app-server"]
    process = subprocess.Popen(
        command, cwd=person.home, env=person.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(number: int, method: str, params: dict[str, Any]) -> Any:
        process.stdin.write(json.dumps({"id": number, "method": method, "params": params}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            message = json.loads(line)
            if message.get("id") == number:
                return message["result"]
        raise AssertionError("codex ended without an answer")

    try:
        ask(1, "initialize", {"clientInfo": {"name": "test", "version": "1"}})
        yield ask
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(SECONDS)
        process.stdout.close()


def hooks_of(person: Person, programs: Path) -> dict[str, str]:
    """The events at which Codex has a hook, each with how far it is trusted."""
    with app_server(person, programs) as ask:
        (told,) = ask(2, "hooks/list", {"cwds": [str(person.home)]})["data"]
    assert (told["warnings"], told["errors"]) == ([], [])
    return {hook["eventName"]: hook["trustStatus"] for hook in told["hooks"]}


EVENTS = ("sessionStart", "userPromptSubmit", "preToolUse", "postToolUse", "stop", "sessionEnd")


def test_codex_runs_the_hooks_that_a_person_gave_a_word_for_and_no_others(person: Person, programs: Path) -> None:
    person.prowess("install", "codex")
    assert hooks_of(person, programs) == dict.fromkeys(EVENTS, "untrusted")
    person.prowess("install", "codex", "--trust-hooks")
    assert hooks_of(person, programs) == dict.fromkeys(EVENTS, "trusted")
    file = person.home / ".codex" / "hooks.json"
    file.write_text(file.read_text().replace("codex Stop", "codex Stop --store elsewhere"))
    assert hooks_of(person, programs) == {**dict.fromkeys(EVENTS, "trusted"), "stop": "modified"}
    person.prowess("uninstall", "codex")
    assert hooks_of(person, programs) == {}


def test_what_claude_code_writes_meanwhile_stays(person: Person) -> None:
    person.install(CLAUDE)
    person.client(CLAUDE, "mcp", "add", "--scope", "user", "other", "--", "echo", "hi")
    before = json.loads((person.home / ".claude.json").read_text())
    assert set(before["mcpServers"]) == {"prowess", "other"}
    person.prowess("uninstall", "claude-code")
    after = json.loads((person.home / ".claude.json").read_text())
    assert set(after["mcpServers"]) == {"other"}
    assert {**after, "mcpServers": None} == {**before, "mcpServers": None}


def test_what_codex_writes_meanwhile_stays(person: Person) -> None:
    file = person.home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('# mine\n[tui]\ntheme = "x" # dark\n')
    person.prowess("install", "codex", "--trust-hooks")
    person.client(CODEX, "mcp", "add", "other", "--", "echo", "hi")
    assert set(tomllib.loads(file.read_text())["mcp_servers"]) == {"prowess", "other"}
    person.prowess("uninstall", "codex")
    assert tomllib.loads(file.read_text()) == {
        "tui": {"theme": "x"},
        "mcp_servers": {"other": {"command": "echo", "args": ["hi"]}},
    }
    assert file.read_text().startswith('# mine\n[tui]\ntheme = "x" # dark\n')
    person.client(CODEX, "mcp", "remove", "other")
    assert "No MCP servers" in person.client(CODEX, "mcp", "list")


def test_claude_code_takes_the_plugin(person: Person, plugins: Path) -> None:
    for folder in (plugins / "claude-code", plugins):
        assert "Validation passed" in person.client(CLAUDE, "plugin", "validate", "--strict", str(folder))
    person.client(CLAUDE, "plugin", "marketplace", "add", str(plugins))
    person.client(CLAUDE, "plugin", "install", "prowess@prowess")
    details = person.client(CLAUDE, "plugin", "details", "prowess")
    for part in ("Skills (1)", "Hooks (7)", "MCP servers (1)"):
        assert part in details
    assert "Connected" in person.client(CLAUDE, "mcp", "list")


def test_codex_takes_the_plugin(person: Person, programs: Path, plugins: Path) -> None:
    person.client(CODEX, "plugin", "marketplace", "add", str(plugins))
    person.client(CODEX, "plugin", "add", "prowess@prowess")
    assert "installed, enabled" in person.client(CODEX, "plugin", "list")
    assert "prowess" in person.client(CODEX, "mcp", "list")
    assert hooks_of(person, programs) == dict.fromkeys(EVENTS, "untrusted")
