"""Programs of this version and of the next one meet at one store: nothing is lost, and nothing goes back.

The next version is this one with a later number, and with a later schema of its catalog or of its log.
"""

from __future__ import annotations

import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redb
from chaos import Marked, Shim, wait_for
from newer_hub import VERSION, newer_shim

from prowess.server.shim import places
from prowess.storage.log.codec import decode_step
from prowess.storage.log.tables import STEPS
from prowess.version import __version__

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")


def _greeted(home: Path, marked: Marked, command: list[str] | None = None) -> Shim:
    shim = marked.shim(home, command=command)
    answer = shim.greet()
    assert "result" in answer, answer
    return shim


def _track(shim: Shim, action: str) -> None:
    _is_committed(shim.call("track_execution", {"task_id": "t", "action": action}))


def _is_committed(answer: dict[str, Any]) -> None:
    assert "result" in answer, answer
    assert not answer["result"].get("isError"), answer
    assert answer["result"]["structuredContent"]["receipt"] == "committed"


def _told(shim: Shim) -> str:
    """Why the store cannot be used."""
    result: dict[str, Any] = shim.call("track_execution", {"task_id": "t", "action": "lost"})["result"]
    assert result["isError"], result
    return str(result["content"][0]["text"])


def _later(home: Path) -> list[tuple[int]]:
    with closing(sqlite3.connect(f"file:{home / 'catalog.db'}?mode=ro", uri=True)) as catalog:
        return catalog.execute("SELECT one FROM later").fetchall()


def _actions(home: Path) -> list[str]:
    """Of all steps in the log, sorted; the catalog may be behind it."""
    database = redb.ReadOnlyDatabase.open(home / "log.redb")
    try:
        with database.begin_read() as transaction:
            rows = list(transaction.open_table(STEPS))
    finally:
        database.close()
    steps = [decode_step(raw, "episode", number) for (_, number), raw in rows]
    return sorted(step.action for step in steps if step is not None)


def _hub(marked: Marked, version: str, home: Path) -> int:
    """The pid of the only hub, which has that version."""
    state = places.read_state(home)
    assert state["version"] == version
    # One that was started beside it finds that out and leaves.
    wait_for("one hub", lambda: [hub.pid for hub in marked.hubs()] == [state["pid"]])
    return int(state["pid"])


def _end_hub(marked: Marked, number: int = signal.SIGTERM) -> None:
    for hub in marked.hubs():
        hub.kill(number)
    wait_for("the end of the hub", lambda: not marked.hubs())


def test_a_newer_shim_replaces_the_hub_and_older_shims_go_on(home: Path, marked: Marked) -> None:
    older = _greeted(home, marked)
    _track(older, "a")
    before = _hub(marked, __version__, home)
    newer = _greeted(home, marked, newer_shim(home))
    _track(newer, "b")
    after = _hub(marked, VERSION, home)
    assert after != before
    _track(older, "c")
    assert _hub(marked, VERSION, home) == after
    assert older.close() == newer.close() == 0
    _end_hub(marked)
    assert _actions(home) == ["a", "b", "c"]


def test_calls_under_way_are_answered_once_when_a_newer_shim_comes(home: Path, marked: Marked) -> None:
    older = _greeted(home, marked)
    _track(older, "first")
    asked = [older.ask("track_execution", {"task_id": "t", "action": f"a{number:03}"}) for number in range(100)]
    newer = _greeted(home, marked, newer_shim(home))
    for number in asked:
        _is_committed(older.answer(number, "track_execution"))
    _track(newer, "last")
    assert older.close() == newer.close() == 0
    _end_hub(marked)
    assert _actions(home) == [*(f"a{number:03}" for number in range(100)), "first", "last"]


def test_an_older_shim_is_served_by_a_newer_hub(home: Path, marked: Marked) -> None:
    newer = _greeted(home, marked, newer_shim(home))
    _track(newer, "a")
    hub = _hub(marked, VERSION, home)
    older = _greeted(home, marked)
    _track(older, "b")
    assert _hub(marked, VERSION, home) == hub
    assert older.close() == newer.close() == 0


def test_an_older_shim_that_speaks_another_protocol_is_told_to_upgrade(home: Path, marked: Marked) -> None:
    newer = _greeted(home, marked, newer_shim(home, protocol=2))
    _track(newer, "a")
    hub = _hub(marked, VERSION, home)
    older = marked.shim(home)
    told = older.greet()["error"]["data"]
    assert VERSION in told["reason"]
    assert __version__ in told["reason"]
    assert "upgrade" in told["hint"]
    _track(newer, "b")
    assert _hub(marked, VERSION, home) == hub
    assert older.close() == newer.close() == 0


def test_a_newer_protocol_replaces_a_hub_that_does_not_speak_it(home: Path, marked: Marked) -> None:
    older = _greeted(home, marked)
    _track(older, "a")
    newer = _greeted(home, marked, newer_shim(home, protocol=2))
    _track(newer, "b")
    _hub(marked, VERSION, home)
    told = older.call("track_execution", {"task_id": "t", "action": "lost"})["error"]["data"]
    assert "upgrade" in told["hint"]
    assert older.close() == newer.close() == 0
    _end_hub(marked)
    assert _actions(home) == ["a", "b"]


@pytest.mark.parametrize("newer", ["catalog", "log"])
def test_a_store_that_is_newer_is_left_alone_and_the_version_told(home: Path, marked: Marked, newer: str) -> None:
    shim = _greeted(home, marked, newer_shim(home, newer=newer))
    _track(shim, "a")
    assert shim.close() == 0
    _end_hub(marked)
    catalog, log = (home / "catalog.db").read_bytes(), (home / "log.redb").read_bytes()

    older = _greeted(home, marked)
    for _ in range(2):
        told = _told(older)
        assert f"written by Prowess {VERSION}" in told
        assert f"nothing was changed: install Prowess {VERSION}" in told
    _hub(marked, __version__, home)
    assert older.close() == 0
    _end_hub(marked)
    assert (home / "catalog.db").read_bytes() == catalog
    # A log that is not newer itself is opened before the catalog, which moves redb's own marks in it.
    assert newer == "catalog" or (home / "log.redb").read_bytes() == log

    shim = _greeted(home, marked, newer_shim(home, newer=newer))
    _track(shim, "b")
    assert shim.close() == 0
    _end_hub(marked)
    assert _actions(home) == ["a", "b"]
    assert newer == "log" or _later(home) == [(42,)]


def test_an_older_session_goes_on_once_a_newer_hub_is_back(home: Path, marked: Marked) -> None:
    newer = _greeted(home, marked, newer_shim(home))
    older = _greeted(home, marked)
    _track(newer, "a")
    _track(older, "b")
    _end_hub(marked, signal.SIGKILL)
    # The older shim is the first to miss the hub, and starts one of its own version.
    assert f"Prowess {VERSION}" in _told(older)
    _hub(marked, __version__, home)
    _track(newer, "c")  # replaces that one
    _hub(marked, VERSION, home)
    _track(older, "d")
    assert older.close() == newer.close() == 0
    _end_hub(marked)
    assert _actions(home) == ["a", "b", "c", "d"]
    assert _later(home) == [(42,)]
