"""What an installation meets where somebody prepared it, a disk is full or a client writes at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from installkit import Machine

from prowess.server.install import Surroundings, installed, targets

SETTINGS = ".claude/settings.json"


def around(machine: Machine) -> Surroundings:
    return Surroundings(home=machine.home, project=machine.project, environment={})


def test_a_file_that_changes_while_others_are_written_keeps_the_change(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prowess.server.install import Records, Refused, carry_out, installing, writing

    servers, settings = machine.write(".claude.json", "{}"), machine.write(SETTINGS, "{}")
    changes = installing(targets("claude-code", "user", around(machine)), Records(machine.store))
    write = writing.write_whole

    def and_the_client_writes(path: Path, content: bytes, **how: Any) -> None:
        write(path, content, **how)
        servers.write_text('{"by": "claude"}')
        settings.write_text('{"by": "claude"}')

    monkeypatch.setattr(writing, "write_whole", and_the_client_writes)
    with pytest.raises(Refused, match="changed by another program"):
        carry_out(changes, Records(machine.store))
    assert [file.read_text() for file in (servers, settings)] == ['{"by": "claude"}'] * 2
    assert not (machine.store / "backups").exists()


def test_an_installation_loses_no_record_of_one_that_ran_while_a_person_was_asked(machine: Machine) -> None:
    from prowess.server.install import Records, Refused, carry_out, installing

    machine.write(SETTINGS, '{"mine": 1}\n')
    before = machine.tree()
    shown = Records(machine.store)
    changes = installing(targets("cursor", "user", around(machine)), shown)
    machine.did("install", "claude-code")
    with pytest.raises(Refused, match="another prowess install"):
        carry_out(changes, shown)
    assert len(Records(machine.store).files) == 3
    machine.did("uninstall", "claude-code")
    assert machine.tree() == before


def test_a_full_disk_leaves_every_file_and_no_backups(machine: Machine, tmp_path: Path) -> None:
    machine.write(".claude.json", json.dumps({"history": "x" * 20_000}))
    before = machine.tree()
    code = (
        "import resource, runpy, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)\n"
        "runpy.run_module('prowess.server', run_name='__main__')\n"
    )
    for limit in (10_000, 20_050):  # too small for the backup, and for the file with our entry
        words = [sys.executable, "-I", "-B", "-c", code, str(limit), "install", "claude-code"]  # -B: no half bytecode
        ended = subprocess.run(words, capture_output=True, check=False, cwd=machine.project)
        assert (ended.returncode != 0, b"too large" in ended.stderr) == (True, True), ended.stderr
        assert b"error: /" in ended.stderr  # the file is named
        assert machine.tree() == before
        assert not (machine.store / "backups").exists()


def test_no_link_that_came_with_a_project_is_written_through(machine: Machine) -> None:
    precious = machine.write(".bashrc", "mine\n")
    (machine.project / "..mcp.json.prowess-new").symlink_to(precious)
    machine.did("install", "claude-code", "--scope", "project")
    assert precious.read_text() == "mine\n"
    machine.did("uninstall", "claude-code", "--scope", "project")
    (machine.project / "CLAUDE.md").symlink_to(precious)
    before = machine.tree()
    for command in ("install", "uninstall"):
        ended = machine.prowess(command, "claude-code", "--scope", "project")
        assert (ended.code != 0, "leads out of the project" in ended.err) == (True, True)
        assert machine.tree() == before


def test_one_file_by_two_names_is_written_and_restored(machine: Machine) -> None:
    (machine.project / "AGENTS.md").write_text("mine\n")
    (machine.project / "CLAUDE.md").symlink_to("AGENTS.md")
    for name in (".claude", ".codex"):
        (machine.home / name).mkdir()
    before = machine.tree()
    machine.did("install", "all", "--scope", "project")
    assert (machine.project / "AGENTS.md").read_text().count("prowess:begin") == 1
    machine.did("uninstall", "all", "--scope", "project")
    assert machine.tree() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# mine\nmcp_servers = 3\n", "line 2: mcp_servers is not a table"),
        ("[[mcp_servers]]\na = 1\n", "line 1: mcp_servers is not a table"),
        ("[hooks]\nstate = 3\n", "line 2: hooks.state is not a table"),
    ],
)
def test_a_value_where_codex_has_a_table_is_refused_with_its_line(machine: Machine, text: str, said: str) -> None:
    machine.write(".codex/config.toml", text)
    before = machine.tree()
    ended = machine.prowess("install", "codex", "--trust-hooks")
    assert (ended.code != 0, said in ended.err) == (True, True), ended.err
    machine.did("uninstall", "codex")
    assert machine.tree() == before


@pytest.mark.parametrize("name", [".claude.json", SETTINGS, ".claude/CLAUDE.md"])
def test_links_in_a_circle_are_refused(machine: Machine, name: str) -> None:
    file = machine.write(name, "")
    file.unlink()
    file.symlink_to(file.name)
    before = machine.tree()
    ended = machine.prowess("install", "claude-code")
    assert (ended.code != 0, "is a link to nowhere" in ended.err) == (True, True), ended.err
    assert machine.tree() == before


@pytest.mark.parametrize(
    ("file", "text"), [(".codex/config.toml", "features = 3\n"), (".codex/hooks.json", '"timeout": "10"')]
)
def test_values_of_another_kind_than_codex_knows_harm_no_look(machine: Machine, file: str, text: str) -> None:
    machine.did("install", "codex")
    path = machine.home / file
    path.write_text(text + path.read_text() if "=" in text else path.read_text().replace('"timeout": 3', text))
    assert [one.state for one in installed(around(machine))] == ["untrusted"]


@pytest.mark.parametrize(
    "mine",
    [
        "log-it; /opt/prowess hook claude-code Stop",
        "/opt/prowess hook claude-code Stop && notify-send done",
        "/opt/prowess hook claude-code Stop > /dev/null",
        "tee -a log | python -I -S /x/server/hooks/__main__.py claude-code Stop",
        "nice /opt/prowess hook claude-code Stop",
        "it's /opt/prowess hook claude-code Stop",
    ],
)
def test_a_hook_that_does_more_than_ours_is_a_persons_and_stays(machine: Machine, mine: str) -> None:
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": mine}]}]}}
    settings = machine.write(".claude/settings.json", json.dumps(hooks))
    machine.did("install", "claude-code")
    told = json.loads(settings.read_text())["hooks"]["Stop"]
    assert [group["hooks"][0]["command"] == mine for group in told] == [True, False]
    settings.write_text(settings.read_text() + "\n")  # edited in between
    machine.did("uninstall", "claude-code")
    assert json.loads(settings.read_text()) == hooks


@pytest.mark.parametrize(
    "ours",
    [
        "C:/Python/python.exe -I -S C:/x/server/hooks/__main__.py claude-code Stop",
        '"C:\\Program Files\\python.exe" -I -S "C:\\x y\\server\\hooks\\__main__.py" claude-code Stop',
        "/a/python -I -S '/x'\"'\"'y/server/hooks/__main__.py' claude-code Stop --store '/a b'",
        "prowess hook claude-code Stop",
    ],
)
def test_our_hook_of_any_installation_is_known(machine: Machine, ours: str) -> None:
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": ours}]}]}}
    settings = machine.write(".claude/settings.json", json.dumps(hooks))
    machine.did("install", "claude-code")
    (group,) = json.loads(settings.read_text())["hooks"]["Stop"]
    assert group["hooks"][0]["command"].startswith(sys.executable)
