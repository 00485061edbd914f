"""``prowess doctor`` tells what waits in the spool, since when, and what takes it in."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from prowess.server.doctor.spool import look_at_spool
from prowess.server.hooks import spool
from prowess.server.shim import places

EVENT = {"client": "codex", "kind": "stop", "session": "s1"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "store"


def left(home: Path, *, before: float = 0.0, **more: object) -> float:
    """One event, and a time that is so many seconds after it."""
    at = spool.left_at(spool.write(str(home), EVENT | more))
    assert at is not None
    return at + before


def test_where_nothing_waits_all_is_well_and_nothing_is_made(home: Path) -> None:
    found = look_at_spool(home)
    assert (found.state, found.said, found.mend) == ("ok", "nothing waits", "")
    assert not home.exists()


def test_what_waits_for_a_moment_is_no_trouble(home: Path) -> None:
    found = look_at_spool(home, left(home, before=299))
    assert (found.state, found.said) == ("ok", "1 event waits for the hub")


def test_what_nobody_takes_in_is_told_with_its_time_and_what_helps(home: Path) -> None:
    first = left(home)
    found = look_at_spool(home, left(home, before=301))
    assert (found.state, found.mend) == ("warn", "prowess hub start")
    assert found.said.startswith("2 events wait since ")
    assert spool.left_at(spool.names(str(home))[0]) == first


def test_a_hub_that_runs_and_takes_nothing_is_asked_for_its_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.server.hub.client.is_running", lambda home: True)
    assert look_at_spool(home, left(home, before=301)).mend == "prowess hub logs"


def test_what_a_newer_version_left_wants_an_upgrade(home: Path) -> None:
    found = look_at_spool(home, left(home, before=301, format=spool.FORMAT + 1))
    assert (found.state, found.mend) == ("warn", "upgrade Prowess, and restart the agents")


def test_a_full_spool_fails(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MAX_WAITING", 2)
    left(home)
    now = left(home)
    with pytest.raises(spool.FullError):
        left(home)
    found = look_at_spool(home, now)
    assert (found.state, "hooks keep nothing more" in found.said) == ("fail", True)
    assert found.mend == "prowess hub start; then `prowess import CLIENT` adds the tool calls that are missing"


def test_a_spool_that_is_full_of_what_was_set_aside_fails_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MAX_WAITING", 1)
    left(home)
    spool.set_aside(str(home), spool.names(str(home))[0])
    found = look_at_spool(home)
    assert found.said == "nothing waits; 1 file was set aside as .bad; it is full, so hooks keep nothing more"
    assert (found.state, found.mend.startswith("remove the files that end in .bad")) == ("fail", True)


def test_what_holds_no_event_is_no_newer_versions(home: Path) -> None:
    now = left(home, before=301)
    (Path(spool.folder(str(home))) / "00000000000000000001-x.json").write_text("junk")
    (waiting,) = [name for name in spool.names(str(home)) if "x" not in name]
    spool.remove(str(home), waiting)
    assert look_at_spool(home, now).mend == "prowess hub start"


def test_what_was_set_aside_is_counted(home: Path) -> None:
    left(home)
    spool.set_aside(str(home), spool.names(str(home))[0])
    assert look_at_spool(home).said == "nothing waits; 1 file was set aside as .bad"


def test_a_hook_that_failed_a_short_time_ago_is_told(home: Path) -> None:
    places.make_run_folder(home)
    spool.note_error(str(home), "OSError (No space left on device) at spool.py:60")
    found = look_at_spool(home)
    assert (found.state, "No space left on device" in found.said) == ("warn", True)
    (home / "logs" / "hook.err").write_text("2026-01-01T00:00:00Z OSError at spool.py:60\n")
    assert look_at_spool(home).state == "ok"
    (home / "logs" / "hook.err").write_text("nonsense\n")
    assert look_at_spool(home).state == "ok"


def test_a_spool_that_cannot_be_read_fails(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(place: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(spool.os, "listdir", refuse)
    found = look_at_spool(home)
    assert (found.state, found.said) == ("fail", "it cannot be read: Permission denied")
