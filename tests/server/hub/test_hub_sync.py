"""The hub and its sync process: what a remote does is no business of the agents."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from clikit import run
from heartbeat import never_late
from hranadouble import Double, double
from hubkit import Peer, connected, holding, hub_in, until

from prowess.server.hub import hub as hubs
from prowess.server.hub.client import ask
from prowess.server.hub.hub import Hub
from prowess.server.hub.sync import PAUSED, fingerprint
from prowess.server.settings import Settings, load
from prowess.storage.errors import StoreUnavailable

pytestmark = pytest.mark.anyio

TOKEN = "sesame.open.up"


@pytest.fixture
async def remote(tmp_path: Path) -> AsyncIterator[Double]:
    async with double(tmp_path / "remote.db") as found:
        yield found


def _settings(home: Path, remote: Double) -> Settings:
    return Settings(home=home, embedder="none", turso_url=remote.url, turso_token=TOKEN, sync_seconds=0.2)


async def _state(home: Path, wanted: str) -> dict[str, Any]:
    """The state once it is ``wanted``."""
    found: dict[str, Any] = {}
    with anyio.fail_after(120):
        while found.get("state") != wanted:
            found = (await ask(home, "status"))["sync"]
            await anyio.sleep(0.02)
    return found


async def _track(home: Path) -> None:
    async with connected(home) as peer:
        for number in range(20):
            await peer.call("track_execution", {"task_id": "t", "action": f"a{number}"})


def _holders(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


async def test_a_remote_that_hangs_holds_up_nobody(home: Path, remote: Double) -> None:
    remote.fault = lambda: "hang"
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        await until(lambda: remote.asked > 0)
        await never_late(lambda: _track(home))


async def test_the_state_tells_why_and_that_it_went_on(home: Path, remote: Double) -> None:
    remote.fault = lambda: "denied"
    async with hub_in(home, settings=lambda: _settings(home, remote)) as hub:
        told = await _state(home, "refused")
        assert "missing or wrong" in told["reason"]
        assert "TURSO_AUTH_TOKEN" in told["hint"]
        assert TOKEN not in str(told)
        remote.fault = str
        await _track(home)
        told = await _state(home, "ok")
        await until(lambda: hub.syncer.state.get("pushed") == hub.syncer.state.get("head") != 0)
    assert not _holders(home)


async def test_the_overview_tells_the_reason_too(
    home: Path, remote: Double, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home.parent))
    remote.fault = lambda: "denied"
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        await _state(home, "refused")
        told = await anyio.to_thread.run_sync(lambda: run(capsys, "status", "--json", "--store", home))
        assert told.code == 0
        assert told.json["sync"]["state"] == "refused"
        assert "missing or wrong" in told.json["sync"]["reason"]
        shown = await anyio.to_thread.run_sync(lambda: run(capsys, "status", "--store", home))
        assert "refused: " in shown.out
        assert TOKEN not in shown.out + told.out


async def test_the_log_tells_when_it_changed_and_not_at_every_look(
    home: Path, remote: Double, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        for fault, state in (("", "ok"), ("denied", "refused"), ("", "ok")):
            remote.fault = lambda fault=fault: fault  # type: ignore[misc]
            await _state(home, state)
            asked = remote.asked
            await until(lambda asked=asked: remote.asked > asked)  # type: ignore[misc]
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("sync: ")]
    assert told == ["sync: ok", "sync: refused", "sync: ok"]


async def test_who_pauses_it_means_the_next_hub_too(home: Path, remote: Double) -> None:
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        await _state(home, "ok")
        await ask(home, "sync-pause")
        await _state(home, "paused")
    asked = remote.asked
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        await _state(home, "paused")
        await _track(home)
        assert remote.asked == asked
        await ask(home, "sync-resume")
        told = await _state(home, "ok")
        assert told["pushed"] == told["head"] > 0


async def test_a_pause_that_cannot_be_noted_or_ended_is_told(home: Path, remote: Double) -> None:
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        await _state(home, "ok")
        (home / PAUSED).symlink_to("/nowhere/at/all")  # stands for a disk that is full
        with pytest.raises(StoreUnavailable, match=PAUSED):
            await ask(home, "sync-pause")
        (home / PAUSED).unlink()
        (home / PAUSED).mkdir()
        with pytest.raises(StoreUnavailable, match=PAUSED):
            await ask(home, "sync-resume")
        (home / PAUSED).rmdir()
        await _state(home, "ok")


async def test_without_a_remote_nothing_is_started(hub: Hub, home: Path) -> None:
    assert (await ask(home, "status"))["sync"]["state"] == "off"
    assert (await ask(home, "sync-now"))["state"] == "off"


async def test_a_resume_of_what_was_not_paused_takes_nothing_from_the_next_pause(home: Path, remote: Double) -> None:
    async with hub_in(home, settings=lambda: _settings(home, remote)) as hub:
        await _state(home, "ok")
        await ask(home, "sync-resume")
        assert (await ask(home, "sync-pause"))["state"] == "paused"
        await until(lambda: hub.syncer._process is None)
        asked = remote.asked
        await _track(home)
        assert (await ask(home, "status"))["sync"]["state"] == "paused"
        assert (hub.syncer._process, remote.asked) == (None, asked)
        await ask(home, "sync-resume")
        await _state(home, "ok")


async def test_a_process_that_does_not_start_is_told(
    home: Path, remote: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(home / "nothing"))
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        assert "does not start" in (await _state(home, "stopped"))["reason"]
        await _track(home)


async def test_resume_answers_that_it_goes_on(home: Path, remote: Double) -> None:
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        await _state(home, "ok")
        await ask(home, "sync-pause")
        await _state(home, "paused")
        assert (await ask(home, "sync-now"))["state"] == "paused"
        assert await ask(home, "sync-resume") == {"state": "connecting", "reason": "", "hint": ""}
        await _state(home, "ok")


async def test_now_answers_how_the_look_went_that_it_asked_for(home: Path, remote: Double) -> None:
    """The pauses between tries are long by then: only a look that was asked for can know better."""
    remote.fault = lambda: "denied"
    settings = replace(_settings(home, remote), sync_seconds=3600)
    async with hub_in(home, settings=lambda: settings):
        await _state(home, "refused")
        assert (await ask(home, "sync-now"))["state"] == "refused"
        remote.fault = str
        told = await ask(home, "sync-now")
        assert (told["state"], told["reason"], "looked" in told) == ("ok", "", False)
        remote.fault = lambda: "denied"
        assert (await ask(home, "sync-now"))["state"] == "refused"


async def test_a_look_that_takes_long_is_told_as_such(
    home: Path, remote: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.hub.sync.LOOK_ANSWER_SECONDS", 0.1)
    remote.fault = lambda: "hang"
    async with hub_in(home, settings=lambda: _settings(home, remote)):
        await until(lambda: remote.asked > 0)
        told = await ask(home, "sync-now")
        assert (told["state"], "sync status" in told["hint"]) == ("connecting", True)


async def test_a_url_that_makes_no_sense_is_told_at_once(home: Path, remote: Double) -> None:
    settings = replace(_settings(home, remote), turso_url="ftp://127.0.0.1/")
    async with hub_in(home, settings=lambda: settings):
        await _state(home, "refused")
        told = await ask(home, "sync-now")
        assert (told["state"], told["reason"].partition(":")[0]) == ("refused", "turso_url")
        assert "takes longer" not in told["hint"]


def _configure(home: Path, remote: Double) -> None:
    home.mkdir()
    (home / "config.toml").write_text(f'turso_url = "{remote.url}"\n')


def _configure_anew(home: Path, text: str) -> None:
    """As an editor does: the new file takes the place of the old one."""
    home.mkdir(exist_ok=True)
    new = home / "config.new"
    new.write_text(f'embedder = "none"\nsync_seconds = 0.2\n{text}')
    new.replace(home / "config.toml")


async def test_a_token_that_is_set_anew_counts_while_the_hub_runs(home: Path, remote: Double) -> None:
    remote.fault = lambda: "" if remote.token == "right" else "denied"
    url = f'turso_url = "{remote.url}"\n'
    _configure_anew(home, f'{url}turso_token = "wrong"')
    async with hub_in(home, settings=lambda: load({"home": home})) as hub:
        await _state(home, "refused")
        before = hub.syncer.remote
        _configure_anew(home, f'{url}turso_token = "right"')
        await _state(home, "ok")
        salt = hub.syncer.remote.partition(":")[0]
        assert hub.syncer.remote == fingerprint(load({"home": home}), salt) != before

        remote.fault = lambda: "" if remote.token == "newer" else "denied"
        await _state(home, "refused")
        _configure_anew(home, f'{url}turso_token = "newer"')
        await _state(home, "ok")


async def test_a_remote_that_is_named_while_the_hub_runs_is_worked_with_and_left(home: Path, remote: Double) -> None:
    _configure_anew(home, "")
    async with hub_in(home, settings=lambda: load({"home": home})):
        await _state(home, "off")
        _configure_anew(home, f'turso_url = "{remote.url}"')
        await _track(home)
        await _state(home, "ok")
        _configure_anew(home, "turso_url = [")  # half written, say: it stays as it was
        asked = remote.asked
        await until(lambda: remote.asked > asked + 10)
        assert (await ask(home, "status"))["sync"]["state"] in ("ok", "working")
        await ask(home, "sync-pause")
        await _state(home, "paused")
        _configure_anew(home, "")
        await _state(home, "off")
        asked = remote.asked
        assert (await ask(home, "sync-now"))["state"] == "off"
        assert remote.asked == asked


async def test_who_asks_before_the_store_is_open_is_answered_after_it(home: Path, remote: Double) -> None:
    _configure(home, remote)
    async with hub_in(home, settings=lambda: _settings(home, remote)) as hub:
        assert hub.syncer.state["state"] != "off"
        assert (await ask(home, "sync-now"))["state"] == "ok"


async def test_a_store_that_opens_late_is_shared_as_any_other(
    home: Path, remote: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "OPEN_SECONDS", 0.0)
    monkeypatch.setattr("prowess.server.hub.sync.REOPEN_SECONDS", 0.05)
    _configure(home, remote)
    async with holding(home) as let_go, hub_in(home, settings=lambda: _settings(home, remote)):
        assert "is open in this process" in (await _state(home, "failed"))["reason"]
        let_go.set()
        await _state(home, "ok")


@pytest.mark.parametrize("patience", [0.0, 60.0])
async def test_without_a_remote_a_store_that_does_not_open_keeps_nobody_waiting(
    home: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr(hubs, "OPEN_SECONDS", patience)
    monkeypatch.setattr("prowess.server.hub.sync.LOOK_ANSWER_SECONDS", None)  # for ever
    async with holding(home) as let_go, hub_in(home):
        with anyio.fail_after(60):
            assert (await ask(home, "sync-pause"))["state"] == "off"
        let_go.set()


async def test_with_a_remote_a_store_that_does_not_open_is_told_at_once(
    home: Path, remote: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "OPEN_SECONDS", 0.0)
    monkeypatch.setattr("prowess.server.hub.sync.LOOK_ANSWER_SECONDS", None)  # for ever
    _configure(home, remote)
    async with holding(home) as let_go, hub_in(home, settings=lambda: _settings(home, remote)):
        with anyio.fail_after(60):
            assert (await ask(home, "sync-pause"))["state"] == "failed"
        let_go.set()


async def test_a_remote_in_a_store_that_a_call_opened_late_is_worked_with(
    home: Path, remote: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "OPEN_SECONDS", 0.0)
    async with holding(home) as let_go, hub_in(home, settings=lambda: _settings(home, remote)) as hub:
        await until(lambda: hub.opening.state not in ("open", "opening"))
        assert "if it is a hub, `prowess hub stop` ends it" in str(hub.describe()["hint"])
        let_go.set()
        async with connected(home) as peer:
            await _until_it_opens(peer)
        await _state(home, "ok")


async def _until_it_opens(peer: Peer) -> None:
    with anyio.fail_after(120):
        while (await peer.call("track_execution", {"task_id": "t", "action": "a"})).get("isError"):  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def test_a_file_that_is_away_is_waited_for_and_not_made_again(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is not mounted, whose folder is there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    remote, away = tmp_path / "remote.db", tmp_path / "away.db"
    _configure_anew(home, f'turso_url = "file://{remote}"')
    async with hub_in(home, settings=lambda: load({"home": home})):
        await _track(home)
        await _state(home, "ok")
        remote.rename(away)
        assert "is not there any more" in (await _state(home, "away"))["reason"]
        assert not remote.exists()
    async with hub_in(home, settings=lambda: load({"home": home})):
        await _state(home, "away")
        assert not remote.exists()
        away.rename(remote)
        await ask(home, "sync-now")
        await _state(home, "ok")
        remote.rename(away)
        await _state(home, "away")
    reset = ("sync", "reset", "--store", home)
    assert (await anyio.to_thread.run_sync(lambda: run(capsys, *reset, "--as-new"))).code != 0
    assert not remote.exists()
    assert (await anyio.to_thread.run_sync(lambda: run(capsys, *reset))).code == 0
    async with hub_in(home, settings=lambda: load({"home": home})):
        await _state(home, "ok")
        assert remote.exists()
