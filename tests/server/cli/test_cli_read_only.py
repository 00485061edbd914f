"""Commands over a store whose folder cannot be written."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clikit import Command

from prowess.server.cli.exits import Exit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there a folder's mode keeps nobody from writing")

SECONDS = 120.0
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def _as_anybody() -> None:
    """Root may write what nobody may, unless it gave that up."""
    if sys.platform == "linux" and os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)


def _prowess(home: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-m", "prowess.server", *map(str, words), "--json", "--store", str(home)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=SECONDS,
        preexec_fn=_as_anybody,
    )


@pytest.fixture
def closed(home: Path, filled: str, prowess: Command) -> Iterator[Path]:
    prowess("memories", "add", "always use tabs", "--project", "shop")
    (home / "log.redb.lock").unlink()
    home.chmod(0o500)
    yield home
    home.chmod(0o700)


LOOKING: list[tuple[tuple[str, ...], Any]] = [
    (("stats",), lambda told: told["episodes"] == 2),
    (("status",), lambda told: told["store"]["skills"] == {"active": 1}),
    (("find", "return the kettle", "--project", "shop"), lambda told: told["skills"][0]["name"] == "return_items"),
    (("skills", "list"), lambda told: [skill["name"] for skill in told] == ["return_items"]),
    (("skills", "show", "return_items"), lambda told: told["name"] == "return_items"),
    (("episodes", "list"), lambda told: len(told) == 2),
    (("episodes", "show", "shop/1"), lambda told: len(told["steps"]) == 2),
    (("memories", "list"), lambda told: [memory["kind"] for memory in told] == ["constraint"]),
    (("memskill", "show"), lambda told: len(told["skills"]) == 4),
    (("evolve", "status"), lambda told: told["status"]["skills"] == {"active": 1}),
]


@pytest.mark.parametrize(("words", "holds"), LOOKING, ids=lambda value: " ".join(value) if type(value) is tuple else "")
def test_those_that_look_work(closed: Path, words: tuple[str, ...], holds: Any) -> None:
    ended = _prowess(closed, *words)
    assert ended.returncode == Exit.OK, ended.stderr
    assert holds(json.loads(ended.stdout)), ended.stdout
    assert ended.stderr.startswith("the store is read-only: ")


@pytest.mark.parametrize("name", ["log.redb", "log.redb.lock"])
def test_they_do_where_one_file_cannot_be_written(home: Path, filled: str, name: str) -> None:
    (home / name).chmod(0o400)
    ended = _prowess(home, "stats")
    assert ended.returncode == Exit.OK, ended.stderr
    assert json.loads(ended.stdout)["episodes"] == 2
    refused = _prowess(home, "memories", "add", "always use tabs", "--project", "shop")
    assert refused.returncode == Exit.UNAVAILABLE, refused.stdout
    assert name in json.loads(refused.stdout)["error"]["message"]


def test_they_do_where_every_file_but_not_the_folder_can_be_written(home: Path, filled: str) -> None:
    home.chmod(0o500)
    try:
        ended, refused = _prowess(home, "stats"), _prowess(home, "forget", "--task-id", "shop/1", "--yes")
    finally:
        home.chmod(0o700)
    assert ended.returncode == Exit.OK, ended.stderr
    assert json.loads(ended.stdout)["episodes"] == 2
    assert refused.returncode == Exit.UNAVAILABLE, refused.stdout
    assert json.loads(refused.stdout)["error"]["message"].startswith("the store is read-only: ")


def test_an_own_catalog_is_made_one_that_can_be_written(home: Path, filled: str) -> None:
    (home / "catalog.db").chmod(0o400)
    assert _prowess(home, "memories", "add", "always use tabs", "--project", "shop").returncode == Exit.OK
    ended = _prowess(home, "stats")
    assert (ended.returncode, ended.stderr) == (Exit.OK, "")
    told = json.loads(ended.stdout)
    assert (told["episodes"], told["memories"]) == (2, 1)


def test_what_was_shown_is_not_told_to_be_unrecorded(closed: Path) -> None:
    ended = _prowess(closed, "find", "return the kettle", "--project", "shop")
    assert ended.returncode == Exit.OK, ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert "exposure_id" not in json.loads(ended.stdout)


def test_skills_are_written_elsewhere(closed: Path, tmp_path: Path) -> None:
    assert _prowess(closed, "skills", "export", tmp_path / "skills").returncode == Exit.OK
    assert (tmp_path / "skills" / "return-items" / "SKILL.md").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("memories", "add", "never"),
        ("skills", "pin", "return_items"),
        ("forget", "--task-id", "shop/1", "--yes"),
        ("reflect",),
        ("evolve",),
        ("rebuild",),
        ("backup", "{}"),
        ("token", "create", "ci"),
    ],
)
def test_those_that_write_say_why_they_cannot(closed: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = _prowess(closed, *(word.format(tmp_path / "backup") for word in words))
    assert ended.returncode == Exit.UNAVAILABLE, ended.stderr
    told = json.loads(ended.stdout)["error"]
    assert told["message"].startswith("the store is read-only: ")
    assert "commands that only look work" in told["hint"]
