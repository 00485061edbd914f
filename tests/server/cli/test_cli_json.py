"""docs/json.md has every field that ``--json`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clikit import Command

DOCS = Path(__file__).parents[3] / "docs" / "json.md"
_ASIDE = re.compile(r"\([^()]*\)")
_NAME = re.compile(r"`([a-z_]+)`")


def _rows() -> Iterator[tuple[str, str]]:
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith(("| command", "| thing")):
            subject, told = line.strip("| ").split(" | ", 1)
            for one in subject.split(", "):
                yield one.strip("`"), told


TOLD = dict(_rows())


def fields(name: str) -> set[str]:
    """What the documents tell of a thing or a command, without what stands in brackets."""
    return set(_NAME.findall(_ASIDE.sub("", TOLD[name])))


def document(prowess: Command, *words: object) -> Any:
    ended = prowess(*words, "--json")
    assert ended.code == 0, ended.err
    return ended.json


def test_a_list_of_episodes(prowess: Command, filled: str) -> None:
    for episode in document(prowess, "episodes", "list"):
        assert episode.keys() == fields("episode")
        assert all(step.keys() <= fields("step") for step in episode["steps"])


def test_one_episode(prowess: Command, filled: str) -> None:
    episode = document(prowess, "episodes", "show", filled)
    assert episode.keys() == fields("episode") | fields("episodes show")
    assert all(reward.keys() == fields("reward") for reward in episode["rewards"])


def test_skills(prowess: Command, filled: str) -> None:
    [skill] = document(prowess, "skills", "list")
    assert skill.keys() == fields("skill")
    shown = document(prowess, "skills", "show", skill["name"])
    assert shown.keys() == fields("skill") | fields("skills show")
    parts = set(_NAME.findall(TOLD["skill"]))
    assert all(part.keys() <= parts for part in (*skill["steps"], *skill["parameters"]))


def test_memories(prowess: Command, filled: str) -> None:
    added = document(prowess, "memories", "add", "never push to main", "--project", "shop")
    assert added.keys() == fields("memories add")
    [memory] = document(prowess, "memories", "list")
    assert memory.keys() == fields("memory")
    assert document(prowess, "memories", "private", memory["id"]).keys() == fields("memories private")


@pytest.mark.parametrize(
    "words",
    [
        "skills pin return_items",
        "skills private return_items",
        "skills archive return_items",
        "skills restore return_items",
        "memskill show",
        "stats",
        "doctor --skip-hooks",
        "hub stop",
        "token create ci",
        "status",
        "rebuild",
        "forget --task-id shop/1 --yes",
        "install cursor --dry-run",
        "uninstall cursor --dry-run",
    ],
)
def test_a_command(prowess: Command, filled: str, words: str) -> None:
    name = next(name for name in TOLD if words == name or words.startswith(f"{name} "))
    assert document(prowess, *words.split()).keys() == fields(name)


def test_files(prowess: Command, filled: str, tmp_path: Path) -> None:
    exported = document(prowess, "skills", "export", tmp_path / "skills")
    assert exported.keys() == fields("skills export")
    assert document(prowess, "skills", "import", tmp_path / "skills").keys() == fields("skills import")
    assert document(prowess, "backup", tmp_path / "copy").keys() == fields("backup")


def test_tokens(prowess: Command, filled: str) -> None:
    document(prowess, "token", "create", "ci")
    [token] = document(prowess, "token", "list")
    assert token.keys() == fields("token list")
    assert document(prowess, "token", "rotate", "ci").keys() == fields("token rotate")
    assert document(prowess, "token", "revoke", "ci").keys() == fields("token revoke")


def test_the_hub(prowess: Command, filled: str) -> None:
    try:
        assert document(prowess, "hub", "start").keys() == fields("hub start")
        assert document(prowess, "hub", "status").keys() == fields("hub status")
        assert document(prowess, "sync", "status").keys() <= fields("sync status")
        assert document(prowess, "hub", "logs").keys() == fields("hub logs")
    finally:
        prowess("hub", "stop")
    ended = prowess("hub", "status", "--json")
    assert (ended.code, ended.json.keys() <= fields("hub status")) == (4, True)


def test_an_error(prowess: Command, filled: str) -> None:
    ended = prowess("skills", "show", "nothing", "--json")
    assert ended.json["error"].keys() == {"message", "hint", "exit_code"}
    assert ended.json["error"]["exit_code"] == ended.code == 4
