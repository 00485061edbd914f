"""``prowess doctor`` sends a made-up session through the hooks that are installed, and leaves nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clikit import Command, run

from prowess.server.doctor import clients

CLIENTS = ("claude-code", "cursor", "codex")


@pytest.fixture
def prowess(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Commands of a user whose store is the default one. The hub that hooks start leaves at the end."""
    home, project = tmp_path / "home", tmp_path / "project"
    store = home / ".local" / "share" / "prowess"
    for folder in (project, store):
        folder.mkdir(parents=True)
    store.chmod(0o700)
    (store / "config.toml").write_text('embedder = "none"\n')
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "PROWESS_HOME",
        "PROWESS_PROJECT",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(project)
    yield lambda *words: run(capsys, *words)
    run(capsys, "hub", "stop")


def findings(prowess: Command, *words: str) -> dict[str, dict[str, Any]]:
    told = prowess("doctor", "--json", *words).json
    assert "findings" in told, told
    return {finding["check"]: finding for finding in told["findings"]}


def test_a_step_is_followed_through_each_clients_hooks_and_forgotten(prowess: Command) -> None:
    for client in CLIENTS:
        assert prowess("install", client).code == 0
    found = findings(prowess)
    for client in CLIENTS:
        assert found[f"{client} hook"]["state"] == "ok", found[f"{client} hook"]
        assert "log, catalog and find_skill" in found[f"{client} hook"]["said"]
    assert not {"clean-up", "claude-desktop", "claude-desktop (project)"} & found.keys()
    assert (found["claude-code"]["state"], found["codex"]["state"]) == ("ok", "warn")
    assert "/hooks" in found["codex"]["mend"]
    counts = prowess("stats", "--json").json
    assert {name: counts[name] for name in ("episodes", "steps", "rewards", "exposures", "skills")} == {
        **dict.fromkeys(("episodes", "steps", "rewards", "exposures"), 0),
        "skills": {},
    }


def test_an_interpreter_that_is_gone_is_told_with_the_command_that_mends_it(prowess: Command) -> None:
    prowess("install", "claude-code")
    settings = Path.home() / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace('"command": "/', '"command": "/gone/'))
    found = findings(prowess)
    assert found["claude-code"]["state"] == "warn"
    hook = found["claude-code hook"]
    assert (hook["state"], hook["mend"]) == ("fail", "prowess install claude-code")
    assert "its hook at SessionStart ended with 127: " in hook["said"]


def test_a_hook_that_leaves_nothing_is_told(prowess: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "FOLLOW_SECONDS", 0.5)
    prowess("install", "claude-code")
    settings = Path.home() / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace(sys.executable, "/usr/bin/true"))
    hook = findings(prowess)["claude-code hook"]
    assert (hook["state"], hook["mend"]) == ("fail", "prowess install claude-code")
    assert "did not arrive in" in hook["said"]


def test_a_step_that_no_hub_takes_is_told_and_taken_back(prowess: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "FOLLOW_SECONDS", 0.5)
    prowess("install", "claude-code")
    store = Path.home() / ".local/share/prowess"
    (store / "run").write_text("in the way of the hub's socket")
    found = findings(prowess)["claude-code hook"]
    assert found["state"] == "fail"
    assert "lies in the spool" in found["said"]
    assert list((store / "spool").iterdir()) == []


def test_a_hook_that_was_taken_out_is_told(prowess: Command) -> None:
    prowess("install", "cursor", "--scope", "project")
    hooks = Path(".cursor/hooks.json")
    hooks.write_text(hooks.read_text().replace('postToolUse"', 'postToolUseNever"'))
    assert prowess("hub", "start").code == 0  # one that hooks only begin to start would outlive the test
    found = findings(prowess)
    assert found["cursor (project)"]["state"] == "warn"
    hook = found["cursor (project) hook"]
    assert (hook["state"], hook["mend"]) == ("fail", "prowess install cursor --scope project")
    assert "no hook at posttooluse" in hook["said"]


@pytest.mark.parametrize(
    "line",
    [
        "{marker} -I -S /x/server/hooks/__main__.py claude-code {event}",
        "{marker}; /usr/bin/prowess hook claude-code {event}",
        "/x/prowess hook claude-code {event} --store $({marker})",
    ],
)
def test_no_command_that_came_with_a_project_is_run(prowess: Command, tmp_path: Path, line: str) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch '{tmp_path / 'ran'}'\n")
    evil.chmod(0o755)
    prowess("install", "claude-code", "--scope", "project")
    settings = Path(".claude", "settings.local.json")
    told = json.loads(settings.read_text())
    for event, groups in told["hooks"].items():
        groups[0]["hooks"][0]["command"] = line.format(marker=evil, event=event)
    settings.write_text(json.dumps(told))
    assert findings(prowess)["claude-code (project)"]["state"] == "warn"
    assert not (tmp_path / "ran").exists()


def test_nothing_is_sent_where_it_is_not_wanted(prowess: Command) -> None:
    prowess("install", "claude-code")
    found = findings(prowess, "--skip-hooks")
    assert found["claude-code"]["state"] == "ok"
    assert "claude-code hook" not in found
    assert not (Path.home() / ".local/share/prowess/spool").exists()


def test_nothing_is_sent_into_another_store_than_the_one_looked_at(prowess: Command, tmp_path: Path) -> None:
    prowess("install", "claude-code")
    prowess("import", "jsonl", os.devnull)  # the default store is there, and nothing in it
    other = tmp_path / "other store"
    prowess("import", "jsonl", os.devnull, "--store", other)
    found = findings(prowess, "--store", str(other))
    again = f"prowess install claude-code --store '{other}'"
    assert (found["claude-code"]["state"], found["claude-code"]["mend"]) == ("warn", again)
    hook = found["claude-code hook"]
    assert (hook["state"], hook["mend"]) == ("warn", again)
    assert hook["said"].endswith("serve another store, " + str(Path.home() / ".local/share/prowess"))
    assert prowess("hub", "status").code == 4


def test_hooks_that_name_the_store_are_followed_in_it(prowess: Command, tmp_path: Path) -> None:
    other = tmp_path / "other store"
    other.mkdir(mode=0o700)
    (other / "config.toml").write_text('embedder = "none"\n')
    prowess("install", "claude-code", "--store", other)
    try:
        found = findings(prowess, "--store", str(other))
    finally:
        prowess("hub", "stop", "--store", other)
    assert (found["claude-code"]["state"], found["claude-code hook"]["state"]) == ("ok", "ok")


def test_commands_that_mend_name_the_store_that_was_looked_at(prowess: Command, tmp_path: Path) -> None:
    other, kept = tmp_path / "other store", tmp_path / "kept"
    prowess("import", "jsonl", os.devnull, "--store", other)
    prowess("backup", kept, "--store", other)
    shutil.rmtree(kept)
    named = f" --store '{other}'"
    found = findings(prowess, "--store", str(other))
    assert found["store"]["mend"] == f"prowess backup DIR{named}"
    assert f"`prowess hub start{named}`" in found["hub"]["said"] + found["hub"]["mend"]
