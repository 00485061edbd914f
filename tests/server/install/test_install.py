"""What ``prowess install`` writes, refuses and leaves alone."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from installkit import Machine

from prowess.server.hooks import events
from prowess.server.install import Surroundings, installed, targets

SETTINGS = ".claude/settings.json"
OLD = "/old/python -I -S '/old place/server/hooks/__main__.py' claude-code Stop"


def loaded(path: Path) -> Any:
    return json.loads(path.read_text())


def around(machine: Machine, **changes: Any) -> Surroundings:
    told: dict[str, Any] = {"home": machine.home, "project": machine.project, "environment": {}}
    return Surroundings(**{**told, **changes})


def commands(settings: Any) -> dict[str, list[str]]:
    return {
        event: [handler["command"] for group in groups for handler in group["hooks"]]
        for event, groups in settings["hooks"].items()
    }


def test_claude_code_gets_server_hooks_and_instructions(machine: Machine) -> None:
    machine.did("install", "claude-code")
    server = loaded(machine.home / ".claude.json")["mcpServers"]["prowess"]
    assert server["command"] == sys.executable
    assert server["args"][:2] == ["-I", "-S"]
    told = commands(loaded(machine.home / SETTINGS))
    assert {event: [shlex.split(line) for line in lines] for event, lines in told.items()} == {
        event: [events.command("claude-code", event)] for event in events.EVENTS["claude-code"]
    }
    assert "find_skill" in (machine.home / ".claude/CLAUDE.md").read_text()


def test_a_project_gets_its_own_files_and_the_home_folder_none(machine: Machine) -> None:
    for client in ("claude-code", "cursor", "codex"):
        machine.did("install", client, "--scope", "project")
    files = {str(path.relative_to(machine.project)) for path in machine.project.rglob("*") if path.is_file()}
    claude = {".mcp.json", ".claude/settings.local.json", "CLAUDE.md"}
    cursor = {".cursor/mcp.json", ".cursor/hooks.json", ".cursor/rules/prowess.mdc"}
    assert files == claude | cursor | {".codex/hooks.json", ".codex/config.toml", "AGENTS.md"}
    assert list(machine.home.iterdir()) == []


def test_the_folders_that_clients_are_told_by_variables_are_used(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "link"))
    machine.did("install", "claude-code")
    machine.did("install", "codex", "--trust-hooks")
    assert "prowess" in loaded(tmp_path / "claude" / ".claude.json")["mcpServers"]
    assert (tmp_path / "claude" / "settings.json").exists()
    config = tomllib.loads((tmp_path / "real" / "config.toml").read_text())
    assert all(key.startswith(f"{tmp_path / 'real'}/hooks.json:") for key in config["hooks"]["state"])
    assert list(machine.home.iterdir()) == []


def test_the_store_that_was_named_is_in_every_command(machine: Machine, tmp_path: Path) -> None:
    store = tmp_path / "my store"
    machine.did("install", "cursor", "--store", store)
    assert loaded(machine.home / ".cursor/mcp.json")["mcpServers"]["prowess"]["args"][-2:] == ["--store", str(store)]
    hooks = loaded(machine.home / ".cursor/hooks.json")
    assert hooks["version"] == 1
    for handlers in hooks["hooks"].values():
        assert shlex.split(handlers[0]["command"])[-2:] == ["--store", str(store)]


def test_signs_of_the_shell_in_a_path_make_a_hook_nobody_elses(machine: Machine, tmp_path: Path) -> None:
    store = tmp_path / "R&D; it's <a> `b` $(c)\n|"
    settings = machine.write(".claude/settings.json", '{"model": "opus"}\n')
    machine.did("install", "claude-code", "--store", store)
    once = machine.tree()
    machine.did("install", "claude-code", "--store", store)
    assert machine.tree() == once
    settings.write_text(settings.read_text() + "\n")  # edited in between
    machine.did("uninstall", "claude-code", "--store", store)
    assert loaded(settings) == {"model": "opus"}


def test_a_hook_runs_as_a_shell_reads_it(machine: Machine, tmp_path: Path) -> None:
    python = tmp_path / "it's a $HOME" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    target = targets("claude-code", "user", around(machine, python=str(python)))[1]
    line = target.wants[0].command.replace("-I -S", "-I -S -c 'import sys; print(sys.argv[1:])'")
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == repr([events.program(), "claude-code", "SessionStart"])


def test_on_windows_a_command_has_no_backslash_that_a_shell_would_eat(machine: Machine) -> None:
    on_windows = around(machine, platform="win32", python="C:\\Program Files\\py\\python.exe")
    command = targets("claude-code", "user", on_windows)[1].wants[0].command
    assert command.startswith('"C:/Program Files/py/python.exe" -I -S ')


def test_an_entry_of_a_moved_interpreter_is_brought_up_to_date_and_the_rest_of_it_stays(machine: Machine) -> None:
    old = {"command": "/old/python", "args": ["-I", "-S", "/old/server/shim/__main__.py"], "env": {"A": "1"}}
    machine.write(".claude.json", json.dumps({"mcpServers": {"prowess": old}}))
    mine = {"type": "command", "command": OLD, "timeout": 3}
    other = {"type": "command", "command": "beep"}
    machine.write(
        SETTINGS, json.dumps({"hooks": {"Stop": [{"hooks": [other, mine]}], "PreCompact": [{"hooks": [mine]}]}})
    )
    machine.did("install", "claude-code")
    server = loaded(machine.home / ".claude.json")["mcpServers"]["prowess"]
    assert (server["command"], server["env"]) == (sys.executable, {"A": "1"})
    settings = loaded(machine.home / SETTINGS)
    assert settings["hooks"]["Stop"] == [
        {"hooks": [other, {**mine, "command": shlex.join(events.command("claude-code", "Stop"))}]}
    ]
    assert not settings["hooks"].get("PreCompact")
    machine.did("uninstall", "claude-code")
    assert loaded(machine.home / SETTINGS)["hooks"]["Stop"] == [{"hooks": [other]}]
    assert loaded(machine.home / ".claude.json") == {"mcpServers": {}}


def test_an_outdated_table_of_codex_keeps_what_a_person_added(machine: Machine) -> None:
    args = '["-I", "/old/server/shim/__main__.py"]'
    text = f'[mcp_servers.prowess]\ncommand = "/old"  # mine\nargs = {args}\nenabled = false\n'
    machine.write(".codex/config.toml", text)
    machine.did("install", "codex")
    told = tomllib.loads((machine.home / ".codex/config.toml").read_text())["mcp_servers"]["prowess"]
    assert told["command"] == sys.executable
    assert told["enabled"] is False
    machine.did("uninstall", "codex")
    assert (machine.home / ".codex/config.toml").read_text() == ""


@pytest.mark.parametrize(
    ("client", "file", "text", "line"),
    [
        ("claude-code", ".claude.json", '{\n  "a": 1,\n  "b" 2\n}\n', 3),
        ("claude-code", SETTINGS, '{\n  "a": "\n', 2),
        ("claude-code", SETTINGS, '{"hooks": {}} x', 1),
        ("claude-code", SETTINGS, '{\n"hooks": {"Stop":\n {}}}', 3),
        ("claude-code", SETTINGS, "[]", 1),
        ("cursor", ".cursor/hooks.json", "[" * 100_000, 1),
        ("codex", ".codex/config.toml", 'a = 1\n[mcp_servers.x\ncommand = "x"\n', 2),
        ("codex", ".codex/AGENTS.md", "hi\n<!-- prowess:begin -->\n", 2),
        ("claude-code", ".claude/CLAUDE.md", b"a\n\xff\xfe\n", 2),
    ],
)
def test_what_does_not_parse_is_refused_with_its_line_and_no_file_is_changed(
    machine: Machine, client: str, file: str, text: str | bytes, line: int
) -> None:
    machine.write(file, text)
    before = machine.tree()
    ended = machine.prowess("install", client)
    assert ended.code == 1
    assert f"{machine.home / file}, line {line}: " in ended.err
    assert "nothing was changed" in ended.err
    assert machine.tree() == before
    assert not machine.store.exists()


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("claude-code", ".claude.json", '{"mcpServers": {"prowess": {"command": "other"}}}'),
        (
            "cursor",
            ".cursor/mcp.json",
            '{"mcpServers": {"prowess": {"command": "node", "args": ["/x/server/shim/__main__.py"]}}}',
        ),
        ("codex", ".codex/config.toml", '[mcp_servers.prowess]\ncommand = "other"\n'),
    ],
)
def test_an_entry_by_our_name_that_is_not_ours_is_never_touched(
    machine: Machine, client: str, file: str, text: str
) -> None:
    machine.write(file, text)
    before = machine.tree()
    ended = machine.prowess("install", client)
    assert ended.code == 1
    assert "is not an entry of Prowess" in ended.err
    assert "give that entry another name" in ended.err
    machine.did("uninstall", client)
    assert machine.tree() == before


def test_a_rule_of_cursor_that_a_person_wrote_is_kept(machine: Machine) -> None:
    rule = machine.project / ".cursor/rules/prowess.mdc"
    rule.parent.mkdir(parents=True)
    rule.write_text("mine\n")
    assert machine.prowess("install", "cursor", "--scope", "project").code == 1
    machine.did("uninstall", "cursor", "--scope", "project")
    assert rule.read_text() == "mine\n"
    assert not (machine.project / ".cursor/mcp.json").exists()


def test_a_dry_run_shows_a_diff_and_writes_nothing(machine: Machine) -> None:
    machine.write(".claude.json", '{\n  "a": 1\n}\n')
    before = machine.tree()
    ended = machine.did("install", "claude-code", "--dry-run")
    assert f"--- {machine.home / '.claude.json'}" in ended.out
    assert '-  "a": 1\n+  "a": 1,\n+  "mcpServers": {' in ended.out
    assert "next session" not in ended.err
    assert machine.tree() == before
    assert not machine.store.exists()
    assert "next session" in machine.did("install", "claude-code").err
    again = machine.did("install", "claude-code", "--dry-run").out.splitlines()
    assert [line.partition(":")[0] for line in again] == ["unchanged"] * 3


def test_backups_are_for_this_user_only_and_go_with_the_uninstallation(machine: Machine) -> None:
    machine.write(".claude.json", '{"oauth": "x"}')
    machine.did("install", "claude-code")
    folder = machine.store / "backups" / "install"
    modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert (folder.stat().st_mode & 0o777, modes) == (0o700, {0o600})
    assert b'{"oauth": "x"}' in [path.read_bytes() for path in folder.iterdir()]
    machine.did("uninstall", "claude-code")
    assert not folder.exists()


def test_when_one_file_cannot_be_written_all_are_put_back(machine: Machine) -> None:
    machine.write(".claude.json", "{}")
    (machine.home / ".claude" / ".CLAUDE.md.prowess-new").mkdir(parents=True)  # in the way of the last of three
    before = machine.tree()
    assert machine.prowess("install", "claude-code").code != 0
    assert machine.tree() == before
    machine.did("uninstall", "claude-code")
    assert machine.tree() == before


def test_a_file_that_changes_between_plan_and_writing_is_not_overwritten(machine: Machine) -> None:
    from prowess.server.install import Records, Refused, carry_out, installing

    file = machine.write(".claude.json", "{}")
    records = Records(machine.store)
    changes = installing(targets("claude-code", "user", around(machine)), records)
    file.write_text('{"by": "claude"}')
    with pytest.raises(Refused, match="changed by another program"):
        carry_out(changes, records)
    assert file.read_text() == '{"by": "claude"}'
    assert not (machine.home / ".claude").exists()


def test_without_records_uninstalling_still_takes_out_what_is_ours(machine: Machine) -> None:
    machine.write(SETTINGS, '{\n  "model": "opus"\n}\n')
    machine.did("install", "claude-code")
    for path in (machine.store / "backups" / "install").iterdir():
        path.unlink()
    machine.did("uninstall", "claude-code")
    assert loaded(machine.home / SETTINGS) == {"model": "opus", "hooks": {e: [] for e in events.EVENTS["claude-code"]}}
    assert "prowess" not in (machine.home / ".claude.json").read_text()


def test_an_upgrade_keeps_the_first_backup(machine: Machine) -> None:
    file = machine.write(SETTINGS, '{"model":"opus"}')
    python = machine.home / "python"
    python.symlink_to(sys.executable)
    from prowess.server.install import Records, carry_out, installing

    for interpreter in (str(python), sys.executable):
        records = Records(machine.store)
        carry_out(installing(targets("claude-code", "user", around(machine, python=interpreter)), records), records)
    assert sys.executable in file.read_text()
    machine.did("uninstall", "claude-code")
    assert file.read_text() == '{"model":"opus"}'


def test_all_means_the_clients_that_are_here(machine: Machine) -> None:
    ended = machine.prowess("install", "all", "--json")
    assert ended.code == 4
    assert "claude-code, cursor" in ended.json["error"]["hint"]
    for name in (".claude", ".codex"):
        (machine.home / name).mkdir()
    changes = machine.did("install", "all", "--json").json["changes"]
    assert {change["client"] for change in changes} == {"claude-code", "codex"}
    machine.did("uninstall", "all")
    assert [path for path in machine.home.rglob("*") if path.is_file()] == []


def test_what_a_client_wants_of_a_person_for_a_project_is_told(machine: Machine) -> None:
    notes = machine.did("install", "claude-code", "--scope", "project", "--json").json["notes"]
    assert "asks you once" in notes[1]
    notes = machine.did("install", "codex", "--scope", "project", "--json").json["notes"]
    assert "once you trust the project" in notes[1]
    ended = machine.prowess("install", "codex", "--scope", "project", "--trust-hooks")
    assert (ended.code, "with /hooks" in ended.err) == (2, True)


def test_the_home_folder_is_no_project(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine.home)
    ended = machine.prowess("install", "claude-code", "--scope", "project")
    assert ended.code == 1
    assert "not a project" in ended.err


def test_what_another_folder_or_project_still_has_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    machine.did("install", "codex")
    monkeypatch.delenv("CODEX_HOME")
    notes = machine.did("uninstall", "codex", "--json").json["notes"]
    assert notes[0] == "nothing of ours was found"
    assert [note for note in notes if f"{tmp_path / 'codex' / 'config.toml'} " in note]
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert machine.did("uninstall", "codex", "--json").json["notes"] == []
    assert not (tmp_path / "codex").exists()


def test_codex_trust_is_recorded_on_a_persons_word_alone(machine: Machine) -> None:
    first = machine.did("install", "codex", "--json").json
    assert "open /hooks, or give your word now" in first["notes"][1]
    assert "hooks" not in tomllib.loads((machine.home / ".codex/config.toml").read_text())
    assert [(found.state, found.client) for found in installed(around(machine))] == [("untrusted", "codex")]
    second = machine.did("install", "codex", "--trust-hooks", "--json").json
    assert not [note for note in second["notes"] if "/hooks" in note]
    assert [found.state for found in installed(around(machine))] == ["ok"]
    assert machine.did("install", "codex", "--json").json["notes"] == []
    machine.did("uninstall", "codex")
    assert not (machine.home / ".codex").exists()


@pytest.mark.parametrize(
    ("client", "file", "text", "switch"),
    [
        ("claude-code", SETTINGS, '{"disableAllHooks": true}', '"disableAllHooks"'),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
    ],
)
def test_hooks_that_a_client_is_told_not_to_run_are_told(
    machine: Machine, client: str, file: str, text: str, switch: str
) -> None:
    machine.write(file, text)
    machine.did("install", client)
    (found,) = installed(around(machine))
    assert (found.state, found.hint) == ("disabled", f"take out {switch} in {machine.home / file}")


def test_a_file_that_the_system_does_not_let_be_read_hides_no_other_client(machine: Machine) -> None:
    machine.did("install", "cursor")
    refused = "/" + "a" * 3000  # longer than a name may be, as a file of another user is an OSError
    found = installed(around(machine, environment={"CLAUDE_CONFIG_DIR": refused}))
    assert [(one.client, one.state) for one in found] == [("claude-code", "unreadable"), ("cursor", "ok")]
    assert "File name too long: see that you may read it" in found[0].hint


def test_a_users_file_that_does_not_parse_is_told_of_a_project_too(machine: Machine) -> None:
    machine.did("install", "codex", "--scope", "project")
    machine.write(".codex/config.toml", "a = \n")
    told = installed(around(machine))
    assert [(found.scope, found.state) for found in told] == [("user", "unreadable"), ("project", "unreadable")]
    assert all("config.toml, line 1" in found.hint for found in told)


def test_what_is_installed_is_told_with_its_state_and_what_mends_it(machine: Machine) -> None:
    assert installed(around(machine)) == []
    machine.did("install", "claude-code")
    machine.did("install", "cursor", "--scope", "project")
    first, second = installed(around(machine))
    assert (first.client, first.scope, first.state, first.hint) == ("claude-code", "user", "ok", "")
    assert (second.client, second.scope, second.state) == ("cursor", "project", "ok")
    assert shlex.split(first.hooks["Stop"]) == events.command("claude-code", "Stop")
    (machine.home / ".claude" / "CLAUDE.md").unlink()
    assert installed(around(machine))[0].state == "partial"
    told = installed(around(machine, python="/new/python"))
    assert {found.state for found in told} == {"outdated"}
    assert told[1].hint == "prowess install cursor --scope project"
    (machine.home / ".claude.json").write_text("{")
    assert installed(around(machine))[0].state == "unreadable"
