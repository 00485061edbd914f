"""What a person does to a store, or to its folder, while its hub shares it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chaos import Marked, Process, Shim, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

SYNC = "prowess.server.sync"


def _home(folder: Path, name: str, remote: Path) -> Path:
    home = folder / name
    home.mkdir()
    settings = {"embedder": "none", "turso_url": f"file://{remote}", "sync_seconds": 1, "sync_person": "anna"}
    (home / "config.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    return home


def _run(home: Path, marked: Marked, *words: str) -> tuple[int, Any]:
    command = [sys.executable, "-I", "-m", "prowess.server", *words, "--json", "--store", str(home)]
    done = subprocess.run(command, env=marked.environ, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, json.loads(done.stdout)


def _tasks(home: Path, marked: Marked) -> list[str]:
    return sorted(episode["task_id"] for episode in _run(home, marked, "episodes", "list", "--limit", "100")[1])


def _working(home: Path, marked: Marked) -> Shim:
    shim = marked.shim(home, cwd=home)
    shim.greet()
    return shim


def _track(shim: Shim, task: str) -> None:
    assert "error" not in shim.call("track_execution", {"task_id": task, "action": f"look at {task}"})


def _is_sent(home: Path, marked: Marked) -> bool:
    told = _run(home, marked, "sync", "now")[1]
    return bool(told["state"] == "ok" and told["pushed"] == told["head"] > 0 and told["pulled"] == told["newest"])


def _sent(*homes: Path, marked: Marked) -> None:
    for home in homes:
        wait_for("all was sent and read", lambda home=home: _is_sent(home, marked))  # type: ignore[misc]


def _syncs(marked: Marked) -> list[Process]:
    return [process for process in marked.running() if SYNC in process.command.split("\0")]


def test_a_backup_is_restored_while_the_hub_shares_and_what_was_sent_comes_back(tmp_path: Path, marked: Marked) -> None:
    home = _home(tmp_path, "a", tmp_path / "shared.db")
    agent = _working(home, marked)
    _track(agent, "before")
    code, made = _run(home, marked, "backup", str(tmp_path / "backup"))
    assert code == 0
    _track(agent, "after")
    _sent(home, marked=marked)
    # While an agent is at work nothing is replaced under its hands.
    assert _run(home, marked, "restore", made["path"], "--yes")[0] == 3
    assert _tasks(home, marked) == ["after", "before"]
    agent.close()
    assert _syncs(marked)
    assert _run(home, marked, "restore", made["path"], "--yes")[0] == 0
    assert _syncs(marked) == []
    assert _tasks(home, marked) == ["before"]
    agent = _working(home, marked)
    _track(agent, "new")
    _sent(home, marked=marked)
    wait_for("what was sent came back", lambda: _tasks(home, marked) == ["after", "before", "new"])
    other = _home(tmp_path, "b", tmp_path / "shared.db")
    _track(_working(other, marked), "theirs")
    _sent(other, home, marked=marked)
    for each in (home, other):
        wait_for("both have all", lambda each=each: len(_tasks(each, marked)) == 4)  # type: ignore[misc]


def test_folders_with_one_configuration_are_two_machines_all_the_same(tmp_path: Path, marked: Marked) -> None:
    """The configuration may be copied, even with the machine's own id; what counts is the log."""
    first = _home(tmp_path, "a", tmp_path / "shared.db")
    agent = _working(first, marked)
    _track(agent, "mine")
    second = tmp_path / "b"
    second.mkdir()
    for name in ("config.toml", "machine"):
        shutil.copy(first / name, second / name)
    other = _working(second, marked)
    _track(other, "theirs")
    for number in range(3):
        _track(agent, f"mine {number}")
        _track(other, f"theirs {number}")
    _sent(first, second, first, marked=marked)
    for each in (first, second):
        wait_for("both have all", lambda each=each: len(_tasks(each, marked)) == 8)  # type: ignore[misc]


def test_a_whole_copy_is_refused_says_why_and_goes_on_under_a_name_of_its_own(tmp_path: Path, marked: Marked) -> None:
    first = _home(tmp_path, "a", tmp_path / "shared.db")
    agent = _working(first, marked)
    _track(agent, "common")
    _sent(first, marked=marked)
    agent.close()
    assert _run(first, marked, "hub", "stop")[0] == 0
    second = tmp_path / "b"
    shutil.copytree(first, second, ignore=shutil.ignore_patterns("run"))
    agent, other = _working(first, marked), _working(second, marked)
    _track(agent, "mine")
    _sent(first, marked=marked)
    _track(other, "theirs")
    wait_for("the copy is told", lambda: _run(second, marked, "sync", "status")[1]["state"] == "diverged")
    code, told = _run(second, marked, "status")
    assert (code, told["sync"]["state"]) == (0, "diverged")
    assert "--as-new" in told["sync"]["hint"]
    assert _run(second, marked, "sync", "reset", "--as-new")[0] == 0
    _sent(second, first, marked=marked)
    for each in (first, second):
        wait_for("both have all", lambda each=each: _tasks(each, marked) == ["common", "mine", "theirs"])  # type: ignore[misc]


def test_a_sync_process_that_is_killed_as_it_reads_is_replaced_and_reads_on(tmp_path: Path, marked: Marked) -> None:
    first = _home(tmp_path, "a", tmp_path / "shared.db")
    agent = _working(first, marked)
    for number in range(30):
        _track(agent, f"t{number}")
    _sent(first, marked=marked)
    second = _home(tmp_path, "b", tmp_path / "shared.db")
    _working(second, marked)
    hub = next(process for process in marked.hubs() if str(second) in process.command)
    wait_for("one reads", lambda: hub.pid in {each.parent for each in _syncs(marked)})
    assert [each.kill() for each in _syncs(marked) if each.parent == hub.pid] == [True]
    _sent(second, marked=marked)
    assert len(_tasks(second, marked)) == 30


def test_a_file_that_goes_away_after_a_reset_is_waited_for_as_before(tmp_path: Path, marked: Marked) -> None:
    remote = tmp_path / "shared.db"
    home = _home(tmp_path, "a", remote)
    agent = _working(home, marked)
    _track(agent, "mine")
    _sent(home, marked=marked)
    assert _run(home, marked, "sync", "reset")[0] == 0
    for _ in range(2):  # the first look may have begun before
        _sent(home, marked=marked)
    agent.close()
    assert _run(home, marked, "hub", "stop")[0] == 0
    remote.rename(tmp_path / "away.db")
    _working(home, marked)
    wait_for("its absence is told", lambda: _run(home, marked, "sync", "status")[1]["state"] == "away")
    assert not remote.exists()
