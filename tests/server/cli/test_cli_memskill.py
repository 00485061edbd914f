"""``prowess memskill``: what a person reads and changes of the memory skills."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from clikit import Command

from prowess.server.cli.exits import Exit


def names(prowess: Command, project: str = "") -> list[str]:
    told = prowess("memskill", "show", "--json", "--project", project).json
    return [skill["name"] for skill in told["skills"]]


def edited(prowess: Command, tmp_path: Path, name: str, text: str, *more: str) -> str:
    file = tmp_path / "new.md"
    file.write_text(text)
    done = prowess("memskill", "edit", name, "--file", file, *more)
    return done.out + done.err


def test_the_four_initial_skills_are_shown_and_not_in_use(prowess: Command, filled: str) -> None:
    assert names(prowess) == ["insert", "update", "delete", "skip"]
    assert prowess("memskill", "show").out.startswith("controller none, bank version 1, not in use\n")
    assert prowess("memskill", "show", "skip").out.startswith("---\nname: skip\n")
    assert prowess("memskill", "show", "forget-all").code == Exit.NOT_FOUND


def test_an_edited_skill_is_in_use_and_its_version_before_is_kept(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    text = prowess("memskill", "show", "insert").out
    assert edited(prowess, tmp_path, "insert", text) == "insert: nothing changed\n"
    assert "changed; in use" in edited(prowess, tmp_path, "insert", text.replace("names, dates", "port numbers, dates"))
    told = prowess("memskill", "show", "insert", "--json").json
    assert (told["state"], told["version"]) == ("in use", 2)
    assert "port numbers, dates" in told["text"]
    assert "version: 2" in told["text"]
    assert {each["name"]: each["by_hand"] for each in told["skills"]}["insert"]


def test_a_skill_is_added_and_removed_in_one_project_only(prowess: Command, filled: str, tmp_path: Path) -> None:
    text = "---\nname: keep-ports\ndescription: Ports.\naction: insert\n---\n\n## Instruction\n\nKeep ports.\n"
    edited(prowess, tmp_path, "keep-ports", text, "--project", "shop")
    assert names(prowess, "shop") == ["insert", "update", "delete", "skip", "keep-ports"]
    assert names(prowess) == ["insert", "update", "delete", "skip"]
    assert prowess("memskill", "show").out.endswith("Projects with their own (--project): shop\n")
    assert "Projects with" not in prowess("memskill", "show", "--project", "shop").out
    assert prowess("memskill", "remove", "keep-ports", "--project", "shop").code == Exit.OK
    assert names(prowess, "shop") == ["insert", "update", "delete", "skip"]


def test_a_bad_file_changes_nothing_and_says_where(prowess: Command, filled: str, tmp_path: Path) -> None:
    assert "insert.md: there is no front matter" in edited(prowess, tmp_path, "insert", "keep all")
    other = prowess("memskill", "show", "skip").out
    assert "the text names 'skip', not 'insert'" in edited(prowess, tmp_path, "insert", other)
    assert prowess("memskill", "show", "--json").json["state"] == "not in use"


def test_a_file_that_is_no_text_is_told_as_such(prowess: Command, filled: str, tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes("---\nname: caf\xe9\n---\n".encode("latin-1"))
    done = prowess("memskill", "edit", "insert", "--file", tmp_path / "latin.md")
    assert (done.code, "Traceback" in done.err) == (Exit.FAILED, False)
    assert "latin.md is no UTF-8: invalid continuation byte at byte 13" in done.err
    os.mkfifo(tmp_path / "pipe.md")  # nobody writes to it: reading it would never end
    assert "no ordinary file" in prowess("memskill", "edit", "insert", "--file", tmp_path / "pipe.md").err


def test_a_reset_brings_the_first_four_back(prowess: Command, filled: str, tmp_path: Path) -> None:
    prowess("memskill", "remove", "delete")
    assert names(prowess) == ["insert", "update", "skip"]
    text = "---\nname: skip\ndescription: Mine.\naction: skip\n---\n\n## Instruction\n\nGreetings.\n"
    edited(prowess, tmp_path, "skip", text)
    assert prowess("memskill", "reset").code == Exit.OK
    assert names(prowess) == ["insert", "update", "delete", "skip"]
    told = prowess("memskill", "show", "--json").json
    assert (told["state"], [each["by_hand"] for each in told["skills"]]) == ("in use", [False] * 4)


def test_an_edited_skill_goes_into_a_backup_and_comes_back_elsewhere(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    text = prowess("memskill", "show", "insert").out.replace("names, dates", "port numbers, dates")
    edited(prowess, tmp_path, "insert", text)
    path = prowess("backup", tmp_path / "kept").out.strip()
    other = ("--store", tmp_path / "other")
    assert prowess("restore", path, "--yes", *other).code == Exit.OK
    assert "port numbers, dates" in prowess("memskill", "show", "insert", *other).out


def test_others_may_work_while_the_editor_is_open(
    prowess: Command, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(before: str, extension: str) -> str:
        assert prowess("memskill", "remove", "delete").code == Exit.OK  # what has the store open would refuse it
        return before.replace("names, dates", "port numbers, dates")

    monkeypatch.setattr("click.edit", edit)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert prowess("memskill", "edit", "insert").code == Exit.OK
    assert names(prowess) == ["insert", "update", "skip"]
    assert "port numbers, dates" in prowess("memskill", "show", "insert").out


def test_an_editor_that_is_closed_without_a_change_takes_nothing_back(
    prowess: Command, filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(before: str, extension: str) -> None:
        newer = before.replace("names, dates", "port numbers, dates")
        assert "changed; in use" in edited(prowess, tmp_path, "insert", newer)

    monkeypatch.setattr("click.edit", edit)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert prowess("memskill", "edit", "insert").out == "insert: nothing changed\n"
    assert "port numbers, dates" in prowess("memskill", "show", "insert").out
    monkeypatch.setattr("click.edit", lambda before, extension: None)
    assert prowess("memskill", "edit", "keep-ports").out == "keep-ports: nothing changed\n"
    assert names(prowess) == ["insert", "update", "delete", "skip"]
