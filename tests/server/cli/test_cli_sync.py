"""``prowess sync`` and what other commands tell of it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from clikit import Command

from prowess.server.cli.command import Run
from prowess.server.cli.exits import Exit
from prowess.server.cli.sync import share, show_state
from prowess.server.doctor.finding import Finding
from prowess.server.hub.sync import fingerprint
from prowess.server.settings import Settings


@pytest.mark.parametrize(
    ("done", "whole", "told"),
    [
        (0, 0, "0 of 0 (100 %)"),
        (0, 500_000, "0 of 500,000 (0 %)"),
        (499_999, 500_000, "499,999 of 500,000 (99 %)"),
        (7, 7, "7 of 7 (100 %)"),
        (9, 7, "9 of 7 (100 %)"),
    ],
)
def test_how_far_it_is(done: int, whole: int, told: str) -> None:
    assert share(done, whole) == told


def test_without_a_hub_nothing_is_synchronised(prowess: Command, home: Path, tmp_path: Path) -> None:
    _configure(home, turso_url=f"file://{tmp_path}/shared.db")
    told = prowess("sync", "status")
    assert told.code == Exit.NOT_FOUND
    assert "nothing is synchronised" in told.err
    assert "`prowess hub start` starts one" in told.err


def test_where_no_remote_is_set_a_hub_is_not_what_is_missing(prowess: Command, home: Path) -> None:
    told = prowess("sync", "status", "--json")
    assert told.code == Exit.NOT_FOUND
    hint = told.json["error"]["hint"]
    assert hint.startswith("a hub alone would move nothing: sync is off; write turso_url")
    assert str(home / "config.toml") in hint


def _configure(home: Path, **values: str) -> None:
    home.mkdir(exist_ok=True)
    lines = [f'{name} = "{value}"\n' for name, value in {"embedder": "none", **values}.items()]
    (home / "config.toml").write_text("".join(lines))


def _found(prowess: Command) -> tuple[str, str, str]:
    """The doctor's state, words and mend."""
    (found,) = [each for each in prowess("doctor", "--json").json["findings"] if each["check"] == "sync"]
    return found["state"], found["said"], found["mend"]


def test_the_doctor_makes_no_remote(home: Path, prowess: Command, tmp_path: Path) -> None:
    remote = tmp_path / "remote.db"
    _configure(home, turso_url=f"file://{remote}")
    state, said, _ = _found(prowess)
    assert (state, "is not there yet; the first sync makes it" in said, remote.exists()) == ("ok", True, False)
    remote.touch()
    assert "the first sync makes its tables" in _found(prowess)[1]
    assert remote.read_bytes() == b""
    _configure(home, turso_url=f"file://{tmp_path}/nowhere/remote.db")
    assert _found(prowess)[0] == "warn"


def test_a_remote_that_is_away_is_named_with_what_failed(home: Path, prowess: Command) -> None:
    with socket.socket() as held:  # bound and not listening: the port refuses, and nobody else gets it
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        _configure(home, turso_url=f"http://127.0.0.1:{port}", turso_token="sesame")
        state, said, mend = _found(prowess)
    assert state == "warn"
    assert said == f"away: the remote 127.0.0.1:{port} cannot be reached: the connection was refused"
    assert "see that the server runs" in mend
    assert "sesame" not in said + mend


def test_what_the_url_must_not_hold_fails_the_doctor(home: Path, prowess: Command) -> None:
    _configure(home, turso_url="file:///srv/remote.db?authToken=sesame")
    state, said, _ = _found(prowess)
    assert (state, "a file: URL takes no ?" in said, "sesame" in said) == ("fail", True, False)


def test_a_remote_that_only_this_shell_knows_is_told(
    home: Path, prowess: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert _found(prowess)[0] == "ok"
    monkeypatch.setenv("TURSO_DATABASE_URL", f"file://{tmp_path}/remote.db")
    state, said, mend = _found(prowess)
    assert (state, "for this shell alone" in said, str(home / "config.toml") in mend) == ("warn", True, True)


@pytest.mark.parametrize(
    ("state", "found"),
    [
        *((state, "ok") for state in ("ok", "working", "connecting")),
        *((state, "warn") for state in ("away", "paused", "stopped")),
        *((state, "fail") for state in ("refused", "diverged", "newer", "garbage", "failed")),
    ],
)
def test_each_state_weighs_the_same_with_a_hub(home: Path, prowess: Command, state: str, found: str, hub: Any) -> None:
    _configure(home, turso_url="libsql://127.0.0.1:9")
    hub({"state": state, "reason": "so it is", "hint": ""}, Settings(home=home, turso_url="libsql://127.0.0.1:9"))
    assert _found(prowess)[:2] == (found, f"{state}: so it is" if found != "ok" else f"{state}: 0 of 0 events sent")


def test_a_configuration_that_changed_under_the_hub_is_told(home: Path, prowess: Command, hub: Any) -> None:
    _configure(home, turso_url="libsql://127.0.0.1:9", turso_token="sesame")
    hub({"state": "refused", "reason": "old", "hint": ""}, Settings(home=home, turso_url="libsql://127.0.0.1:9"))
    state, said, mend = _found(prowess)
    assert (state, mend) == ("warn", f"prowess hub stop --store {home}")
    assert "another turso_url or turso_token" in said
    assert "sesame" not in said


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Says what the hub's status is: its sync's state, and the settings that it runs with."""

    def say(sync: dict[str, Any], settings: Settings) -> None:
        async def told(_: Settings) -> tuple[Finding, dict[str, Any]]:
            return Finding("hub", "ok", "not looked at"), {"sync": sync, "remote": fingerprint(settings, "salt")}

        monkeypatch.setattr("prowess.server.doctor.examination._hub", told)

    return say


@pytest.mark.parametrize(
    ("pushed", "told"), [(864, "sent   all there is"), (100, "sent   100 of 864 (11 %)"), (0, "sent   0 of 864 (0 %)")]
)
def test_who_is_up_to_date_is_told_no_number_of_what_others_sent(
    pushed: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_state(Run(json=False, store=None, color=False), {"state": "ok", "pushed": pushed, "head": 864})
    assert told in capsys.readouterr().out.splitlines()
