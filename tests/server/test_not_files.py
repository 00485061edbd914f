"""A pipe, a folder or a device that has the name of a small file of the store keeps nobody waiting."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from notfiles import KINDS, put_no_file

from prowess.server.background.backups import _newest
from prowess.server.capture.sessions import Sessions
from prowess.server.hooks import spool
from prowess.server.hub import lock
from prowess.server.hub.logs import start_logging
from prowess.server.settings import BadSetting, Settings, load
from prowess.server.shim import places
from prowess.server.shim.ordinary import content
from prowess.server.shim.spawn import start_detached
from prowess.server.shim.starter import Starter, try_lock
from prowess.server.sync.address import read_address
from prowess.server.sync.known import is_known, note_known
from prowess.server.trainer.language import Paid
from prowess.server.trainer.runs import read_runs
from prowess.storage.models import parse_time

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_settings_tell_it(tmp_path: Path, kind: str) -> None:
    put_no_file(kind, tmp_path / "config.toml")
    with pytest.raises(BadSetting, match=r"config\.toml cannot be read: it is no ordinary file"):
        load({"home": tmp_path})


def test_settings_that_nest_without_end_are_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("project = " + "[" * 100_000)
    with pytest.raises(BadSetting, match="cannot be read"):
        load({"home": tmp_path})


def test_settings_too_long_to_be_any_are_told_and_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b" " * 1_000_001)
    with pytest.raises(BadSetting, match="it has more than 1 MB"):
        load({"home": tmp_path})
    assert len(content(str(tmp_path / "config.toml"))) == 1_000_000


def test_a_hub_starts_without_a_place_for_its_first_words(tmp_path: Path, kind: str) -> None:
    places.make_run_folder(tmp_path)
    errors = put_no_file(kind, Path(places.error_file(tmp_path)))
    done = tmp_path / "done"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; print(1, file=sys.stderr); open({str(done)!r}, 'w')"]
    assert start_detached(command, dict(os.environ), str(tmp_path), str(errors)) > 1
    starter = Starter(str(tmp_path), {})
    assert starter._last_words() is None


def test_a_pipe_is_no_log_of_a_hub(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="it is no ordinary file: move it away"):
        start_logging(put_no_file("pipe", tmp_path / "logs" / "hub.log"), "INFO")


def test_who_holds_the_lock_of_the_hub_is_not_known(tmp_path: Path, kind: str) -> None:
    places.make_run_folder(tmp_path)
    put_no_file(kind, Path(places.hub_lock(tmp_path)))
    assert lock.holder(tmp_path) == (0, "")


def test_what_kept_a_hook_from_its_work_is_not_told(tmp_path: Path, kind: str) -> None:
    put_no_file(kind, tmp_path / "logs" / "hook.err")
    spool.note_error(str(tmp_path), "it failed")
    assert spool.newest_error(str(tmp_path)) == ""


def test_sessions_begin_anew(tmp_path: Path, kind: str) -> None:
    for name in ("a.json", "quiet"):
        put_no_file(kind, tmp_path / "sessions" / name)
    sessions = Sessions(tmp_path)
    sessions.load()
    assert (len(sessions), sessions.quiet) == (0, {})


@pytest.mark.parametrize("name", ["{}", ".{}.prowess-new", "quiet", ".hidden", ""])
def test_a_folder_among_the_sessions_keeps_no_other_from_being_kept(tmp_path: Path, name: str) -> None:
    sessions = Sessions(tmp_path)
    name = name.format(sessions._path(sessions.get("codex", "first")).name)
    if name:
        (tmp_path / "sessions" / name / "inside").mkdir(parents=True)
    else:
        (tmp_path / "sessions").write_text("no folder")
    sessions.load()
    for session in ("first", "second"):
        sessions.worked(sessions.get("codex", session))
    sessions.save()
    after = Sessions(tmp_path)
    after.load()
    kept = {"first", "second"} - ({"first"} if "json" in name else set())
    assert {session.id for session in after} == (kept if name else set())
    sessions.drop(sessions.get("codex", "first"))
    assert sessions.find("codex", "first") is None


@pytest.mark.parametrize("place", [places.hub_lock, lambda home: places.start_lock(f"{home}/log.redb")])
def test_what_is_no_file_locks_nothing(tmp_path: Path, kind: str, place: Callable[[Path], str]) -> None:
    places.make_run_folder(tmp_path)
    path = put_no_file(kind, Path(place(tmp_path)))
    with pytest.raises(OSError, match="it is no ordinary file") as refused:
        try_lock(str(path))
    assert refused.value.filename == str(path)


def test_the_remote_counts_as_new(tmp_path: Path, kind: str) -> None:
    put_no_file(kind, tmp_path / "sync-file")
    address = read_address(f"file://{tmp_path}/remote.db")
    note_known(tmp_path, address) if kind == "folder" else None
    assert not is_known(tmp_path, address)


def test_runs_and_backups_are_passed_over(tmp_path: Path, kind: str) -> None:
    put_no_file(kind, tmp_path / "runs" / "r" / "run.json")
    put_no_file(kind, tmp_path / "runs" / "r" / "out" / "spend.jsonl")
    put_no_file(kind, tmp_path / "backups" / "prowess-1" / "manifest.json")
    assert read_runs(tmp_path / "runs") == []
    told = Paid(Settings(home=tmp_path, api_key="k", train_usd=2.0)).environment(tmp_path / "runs", "new")
    assert told["PROWESS_TRAIN_USD"] == "2.0"
    assert _newest(tmp_path / "backups", parse_time("2026-01-01T00:00:00.000Z")) is None
