"""What ``prowess uninstall`` tells of skills that were exported into an agent's folder."""

from __future__ import annotations

import json

import pytest
from installkit import Machine


@pytest.mark.parametrize(
    ("client", "host", "folder"),
    [
        ("claude-code", "claude", ".claude/skills"),
        ("codex", "codex", ".agents/skills"),
        ("cursor", "cursor", ".cursor/skills"),
    ],
)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_exported_skills_that_stay_are_told_with_what_takes_them_out(
    machine: Machine, client: str, host: str, folder: str, scope: str
) -> None:
    told = {"id": "a1", "name": "send", "description": "Send.", "steps": [{"tool": "send"}], "status": "active"}
    file = machine.write("skill.json", json.dumps({"prowess_skills": 1, "skills": [told]}))
    machine.did("skills", "import", file, "--trust")
    machine.did("install", client, "--scope", scope)
    place = (machine.home if scope == "user" else machine.project) / folder
    machine.did("skills", "export", "--to", place)
    wanted = ["--to", host, *(["--scope", "project"] if scope == "project" else [])]
    for mode in (["--dry-run"], []):
        notes = machine.did("uninstall", client, "--scope", scope, *mode, "--json").json["notes"]
        remedy = f"`prowess skills export {' '.join(wanted)} --remove` takes out those of this store"
        assert notes == [f"1 exported skill stays in {place}: {remedy}"]
    machine.did("skills", "export", *wanted, "--remove")
    notes = machine.did("uninstall", client, "--scope", scope, "--json").json["notes"]
    assert notes == ["nothing of ours was found"]
