"""``prowess reflect``, ``find``, ``evolve`` and ``import``: the tools as commands."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from clikit import Command

from prowess.server.cli.exits import Exit

STEPS = [
    {"tool": tool, "args": {"path": "a.log"}, "outcome": "success"} for tool in ("find_log", "read_log", "fix_config")
]


@pytest.fixture
def learnt(prowess: Command, tmp_path: Path) -> Path:
    """A file with three successful episodes of alike tasks, imported."""
    path = tmp_path / "work.jsonl"
    rows = [
        {"task_id": f"ops/{n}", "project": "ops", "task": f"repair the log service {n}", "steps": STEPS, "reward": 9}
        for n in range(3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert prowess("import", "jsonl", path).out == "3 episodes with 9 steps imported\n"
    return path


def test_importing_again_says_so(prowess: Command, learnt: Path) -> None:
    assert prowess("import", "jsonl", learnt).out == "0 episodes with 0 steps imported, 3 known already\n"


def test_a_broken_line_is_told_on_stderr_with_its_place(prowess: Command, learnt: Path) -> None:
    with learnt.open("a") as file:
        file.write('{"task_id": 1\n')
    ended = prowess("import", "jsonl", learnt, "--json")
    assert ended.code == Exit.FAILED
    assert (ended.json["known"], ended.json["broken_lines"], ended.json["broken"][0]["line"]) == (3, 1, 4)
    assert f"{learnt}:4: no JSON" in ended.err


def test_a_file_that_is_not_there_is_not_found(prowess: Command, home: Path) -> None:
    ended = prowess("import", "jsonl", "absent.jsonl", "--json")
    assert (ended.code, ended.json["error"]["exit_code"]) == (Exit.NOT_FOUND, Exit.NOT_FOUND)
    assert prowess("import", "jsonl", home.parent).code == Exit.USAGE  # a folder
    assert not home.exists()


def test_a_skill_is_made_of_what_worked_and_found_again(prowess: Command, learnt: Path) -> None:
    planned = prowess("evolve", "create", "--project", "ops", "--dry-run", "--json").json
    assert planned["total"] > 0
    assert prowess("skills", "list", "--json").json == []
    made = prowess("evolve", "--project", "ops", "--json").json
    assert (made["mode"], made["receipt"]) == ("auto", "committed")
    found = prowess("find", "repair the log service", "--project", "ops", "--limit", "1", "--json").json
    assert found["mode"] == "lexical"
    assert [step["tool"] for step in found["skills"][0]["steps"]] == ["find_log", "read_log", "fix_config"]
    ended = prowess("find", "repair the log service", "--project", "ops")
    assert found["skills"][0]["name"] in ended.out
    assert "lexical search only" in ended.err


def test_reflection_tells_patterns(prowess: Command, learnt: Path) -> None:
    found = prowess("reflect", "--project", "ops", "--kind", "sequence", "--limit", "2", "--json").json
    assert {pattern["kind"] for pattern in found["patterns"]} == {"sequence"}
    assert 0 < len(found["patterns"]) <= 2


def test_a_skill_in_a_persons_words_is_taken_from_a_file(prowess: Command, learnt: Path, tmp_path: Path) -> None:
    file = tmp_path / "skill.json"
    steps = [{"tool": tool, "args_template": {"path": "{path}"}} for tool in ("find_log", "read_log")]
    file.write_text(json.dumps({"name": "look-first", "description": "Look before you leap.", "steps": steps}))
    assert prowess("evolve", "create", "--from", file, "--project", "ops").code == Exit.OK
    assert prowess("skills", "show", "look-first", "--json").json["author"] == "person"


@pytest.mark.parametrize("text", ["{", ""])
def test_a_file_of_skills_that_is_no_json_is_refused(prowess: Command, learnt: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "skill.json"
    file.write_text(text)
    assert prowess("evolve", "create", "--from", file).code == Exit.FAILED


def test_an_unknown_skill_to_roll_back_is_an_error_with_a_hint(prowess: Command, learnt: Path) -> None:
    ended = prowess("evolve", "rollback", "--skill", "nothing", "--json")
    assert ended.code in (Exit.NOT_FOUND, Exit.FAILED)
    assert "nothing" in ended.json["error"]["message"]


@pytest.mark.skipif(find_spec("torch") is not None, reason="the trainer can run here")
def test_training_says_how_it_is_installed(prowess: Command, learnt: Path) -> None:
    ended = prowess("evolve", "train")
    assert ended.code == Exit.FAILED
    assert "training needs torch" in ended.err
    assert "pip install 'prowess[train]'" in ended.err


def test_training_is_told_the_settings_of_the_file_and_of_the_line(
    prowess: Command, learnt: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    async def trained(home: Path, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked.append(arguments)
        return {"structured": {}, "text": "", "notes": []}

    monkeypatch.setattr("prowess.server.trainer.supervisor.check_installed", lambda: None)
    monkeypatch.setattr("prowess.server.hub.starting.start_hub", lambda home, session: asked.append({"hub": home}))
    monkeypatch.setattr("prowess.server.hub.client.is_running", lambda home: True)
    monkeypatch.setattr("prowess.server.hub.client.call_tool", trained)
    file = tmp_path / "settings.json"
    file.write_text('{"iterations": 30, "seed": 1}', encoding="utf-8-sig")  # with the mark that some editors put there
    words = ("--settings", file, "--set", "iterations=3", "--set", "designer=none", "--set", "resume=false")
    assert prowess("evolve", "train", "--project", "ops", *words).code == Exit.OK
    hub, told = asked
    assert hub == {"hub": home}
    assert (told["mode"], told["project"]) == ("train", "ops")
    assert told["settings"] == {"iterations": 3, "seed": 1, "designer": "none", "resume": False}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("auto", "--set", "seed=1"), Exit.USAGE, "mode auto takes no settings"),
        (("train", "--set", "sed=1"), Exit.USAGE, "there is no training setting sed (did you mean 'seed'?)"),
        (("train", "--set", "seed=-1"), Exit.USAGE, "training setting seed: expected `int` >= 0"),
        (("train", "--settings", "{pipe}"), Exit.FAILED, "is no ordinary file"),
        (("train", "--set", "seed"), Exit.USAGE, "--set seed: this is no NAME=VALUE"),
        (("train", "--settings", "{list}"), Exit.FAILED, "holds no JSON object"),
        (("train", "--settings", "{text}"), Exit.FAILED, "is no JSON"),
    ],
)
def test_settings_that_cannot_be_taken_start_nothing(
    prowess: Command, learnt: Path, home: Path, tmp_path: Path, words: tuple[str, ...], code: Exit, message: str
) -> None:
    files = {name: tmp_path / f"{name}.json" for name in ("list", "text", "pipe")}
    os.mkfifo(files["pipe"])  # nobody writes to it: reading it would never end
    files["list"].write_text("[1]", encoding="utf-8")
    files["text"].write_text("iterations: 3", encoding="utf-8")
    ended = prowess("evolve", *(word.format(**files) for word in words), "--json")
    assert ended.code == code
    assert message in ended.json["error"]["message"]
    assert ended.json["error"]["hint"]
    assert not (home / "runs").exists()


def test_training_is_left_to_a_hub_that_stays(prowess: Command, learnt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.server.trainer.supervisor.check_installed", lambda: None)
    assert prowess("hub", "status", "--json").code == Exit.NOT_FOUND
    try:
        prowess("evolve", "train", "--project", "nobody's")  # refused, since nothing is scored there
        assert prowess("hub", "status", "--json").code == Exit.OK
    finally:
        assert prowess("hub", "stop", "--json").json == {"stopped": True}


def test_nothing_is_trained_where_there_is_no_store(
    prowess: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.trainer.supervisor.check_installed", lambda: None)
    assert prowess("evolve", "train").code == Exit.NOT_FOUND
    assert not home.exists()


def test_status_counts(prowess: Command, learnt: Path) -> None:
    assert prowess("evolve", "status", "--json").json["status"]["episodes"] == 3


@pytest.mark.parametrize("words", [("find", " "), ("evolve", "rollback")])
def test_what_says_nothing_is_a_matter_of_the_command_line(prowess: Command, learnt: Path, words: tuple[str]) -> None:
    ended = prowess(*words, "--json")
    assert (ended.code, bool(ended.json["error"]["hint"])) == (Exit.USAGE, True)
