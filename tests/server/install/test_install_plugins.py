"""The plugin folders say the same as the installer does."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from installkit import Machine

import prowess
from prowess.server import install
from prowess.server.hooks import events
from prowess.server.install import Surroundings, targets
from prowess.server.skills.markdown import folder_name

PLUGINS = Path(install.__file__).with_name("plugins")
MANIFESTS = {
    "claude-code": ".claude-plugin/plugin.json",
    "codex": ".codex-plugin/plugin.json",
    "cursor": ".cursor-plugin/plugin.json",
}
MARKETPLACES = (
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".cursor-plugin/marketplace.json",
)


def loaded(*parts: str) -> Any:
    return json.loads(PLUGINS.joinpath(*parts).read_text())


def starts(hooks: dict[str, Any]) -> dict[str, Any]:
    """The hooks of a configuration without the command lines, which name the interpreter there and ``prowess`` here."""
    text = re.sub(r'"command": ".*? (\S+ \S+)"', r'"command": "\1"', json.dumps(hooks))
    return dict(json.loads(text))


@pytest.mark.parametrize("client", MANIFESTS)
def test_a_plugin_has_the_version_of_the_program(client: str) -> None:
    manifest = loaded(client, MANIFESTS[client])
    assert (manifest["name"], manifest["version"]) == ("prowess", prowess.__version__)
    for key in ("skills", "mcpServers", "hooks"):
        assert (PLUGINS / client / manifest.get(key, ".")).exists()


@pytest.mark.parametrize("client", MANIFESTS)
def test_a_plugin_has_the_hooks_that_the_installer_writes(machine: Machine, client: str) -> None:
    machine.did("install", client)
    around = Surroundings(home=machine.home, project=machine.project, environment={})
    file = next(t.path for t in targets(client, "user", around) if t.path.name in ("hooks.json", "settings.json"))  # type: ignore[arg-type]
    written = loaded(client, "hooks/hooks.json")
    assert starts(written) == starts(json.loads(file.read_text()))
    for event in events.EVENTS[client]:
        assert f'prowess hook {client} {event}"' in json.dumps(written["hooks"][event])


@pytest.mark.parametrize("client", MANIFESTS)
def test_a_plugin_starts_the_server_and_explains_the_tools(client: str) -> None:
    servers = loaded(client, "mcp.json" if client == "cursor" else ".mcp.json")
    assert servers == {"mcpServers": {"prowess": {"command": "prowess", "args": ["serve"]}}}
    skill = (PLUGINS / client / "skills/prowess/SKILL.md").read_text()
    name, description = re.findall(r"^(?:name|description): (.*)$", skill, re.MULTILINE)
    assert name == folder_name(name) == "prowess"
    assert len(description) <= 1024
    for tool in ("track_execution", "score_reward", "reflect", "find_skill", "evolve_skills"):
        assert f"`{tool}`" in skill


def test_all_plugins_have_the_same_skill_and_cursors_rule_is_the_installers(machine: Machine) -> None:
    assert len({(PLUGINS / client / "skills/prowess/SKILL.md").read_text() for client in MANIFESTS}) == 1
    machine.did("install", "cursor", "--scope", "project")
    rule = (machine.project / ".cursor/rules/prowess.mdc").read_text()
    plain = re.sub(r"<!-- prowess:.*-->\n", "", rule)
    assert (PLUGINS / "cursor/rules/prowess.mdc").read_text() == plain


@pytest.mark.parametrize("file", MARKETPLACES)
def test_a_marketplace_leads_to_a_plugin(file: str) -> None:
    (plugin,) = loaded(file)["plugins"]
    source = plugin["source"]
    folder = PLUGINS / (source["path"] if isinstance(source, dict) else source)
    assert any((folder / manifest).exists() for manifest in MANIFESTS.values())


def test_the_command_tells_where_they_are(machine: Machine) -> None:
    told = machine.did("config", "plugins", "--json").json
    assert told["folder"] == str(PLUGINS)
    assert set(told["commands"]) == set(MANIFESTS)
    assert str(PLUGINS) in machine.did("config", "plugins").out


def test_the_commands_for_cursor_work_in_a_home_without_cursor_and_again(machine: Machine, tmp_path: Path) -> None:
    lines = machine.did("config", "plugins", "--json").json["commands"]["cursor"]
    home = tmp_path / "Jo's home"
    home.mkdir()
    for _ in range(2):
        subprocess.run(["sh", "-ec", "\n".join(lines)], env={**os.environ, "HOME": str(home)}, check=True, timeout=30)
    copied = home / ".cursor/plugins/local/prowess"
    made = {path.relative_to(copied) for path in copied.rglob("*") if path.is_file()}
    assert made == {path.relative_to(PLUGINS / "cursor") for path in (PLUGINS / "cursor").rglob("*") if path.is_file()}
