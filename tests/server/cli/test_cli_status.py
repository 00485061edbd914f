"""``prowess status`` where no hub runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import anyio
import msgspec
import pytest
from clikit import Command

from prowess.server.background.background import LEARNED_AT, MARK
from prowess.server.cli.exits import Exit
from prowess.server.hooks import losses, spool
from prowess.server.hub.sync import PAUSED
from prowess.server.trainer.runs import Run, RunFolder
from prowess.storage.models import parse_time
from prowess.storage.store import Store


def test_where_nothing_is_yet_that_is_told_and_nothing_is_made(prowess: Command, home: Path) -> None:
    told = prowess("status", "--json")
    assert told.code == Exit.OK
    said = told.json
    assert (said["hub"]["state"], said["store"]["state"], said["sync"]["state"]) == ("none", "empty", "off")
    assert (said["learning"], said["training"], said["http"], said["spool"]) == (None, None, [], 0)
    assert said["spool_since"] is None
    shown = prowess("status")
    assert (shown.code, "nothing to learn from yet" in shown.out) == (Exit.OK, True)
    assert not home.exists()


def test_counts_and_what_waits_are_told(prowess: Command, home: Path, filled: str) -> None:
    spool.write(str(home), {"client": "test"})
    losses.note(str(home))
    files = RunFolder(home / "runs" / "r1")
    files.make()
    progress = {"iteration": 3, "of": 60}
    started = "2026-11-29T12:00:00.000Z"
    files.save(Run(id="r1", started=started, status="failed", reason="no room", progress=progress))
    said = prowess("status", "--json").json
    store = said["store"]
    assert [store[name] for name in ("episodes", "steps", "rewards", "memories", "patterns")] == [2, 3, 2, 0, 0]
    assert store["skills"] == {"active": 1}
    assert store["bytes"] > 1000
    assert said["learning"] == {"at": None, "waiting": 2, "after": 10, "due": True}
    assert (said["training"]["status"], said["training"]["reason"]) == ("failed", "no room")
    assert said["spool"] == 1
    assert parse_time(said["spool_since"]) <= datetime.now(UTC)
    lost = said["spool_lost"]
    assert (lost["events"], lost["since"] <= lost["last"]) == (1, True)
    shown = prowess("status").out
    for words in (
        "2 episodes, 3 steps, 2 rewards, 0 memories, 0 patterns, 1 skill",
        "not yet by itself; 2 episodes scored since, enough: a hub learns when agents pause",
        "run r1, failed at iteration 3 of 60: no room",
        f"1 event waits for the hub, the oldest since {said['spool_since']}; ",
        f"; 1 event could not be kept since {lost['since']}",
        "not running; the next agent starts one, or `prowess hub start`",
    ):
        assert words in shown


def test_when_it_last_learned_is_told(prowess: Command, home: Path, filled: str) -> None:
    async def learn() -> None:
        async with Store.open(home) as store:
            await store.set_mark(MARK, store.head)
            await store.set_mark(LEARNED_AT, 1_796_000_000)

    anyio.run(learn)
    told = prowess("status", "--json").json["learning"]
    assert told == {"at": "2026-11-30T00:53:20.000Z", "waiting": 0, "after": 10, "due": False}
    said = prowess("status").out
    assert "by itself last at 2026-11-30T00:53:20.000Z; 0 episodes scored since, at 10 a hub learns" in said


def test_a_remote_waits_for_the_hub_and_a_pause_is_told(
    prowess: Command, home: Path, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURSO_DATABASE_URL", "libsql://127.0.0.1:9")
    alone = prowess("status", "--json").json["sync"]
    assert (alone["state"], "this shell alone" in alone["reason"]) == ("off", True)
    assert str(home / "config.toml") in alone["hint"]
    (home / "allow-env").write_text("TURSO_DATABASE_URL\n")
    assert prowess("status", "--json").json["sync"]["state"] == "waiting"
    assert "waiting: no hub is running" in prowess("status").out
    (home / PAUSED).touch()
    assert prowess("status", "--json").json["sync"]["state"] == "paused"


@pytest.mark.parametrize(("name", "said"), [("log.redb", "log.redb"), ("catalog.db", "catalog.db")])
def test_a_store_that_does_not_open_is_told_and_the_rest_as_well(
    prowess: Command, home: Path, filled: str, name: str, said: str
) -> None:
    (home / name).write_bytes(b"none of ours" * 1000)
    told = prowess("status", "--json")
    assert told.code == Exit.OK
    store = told.json["store"]
    assert store["state"] == "closed"
    assert said in store["reason"]
    assert store["hint"].startswith("move ")
    assert told.json["sync"]["state"] == "off"
    assert "closed: " in (page := prowess("status").out)
    assert "move " in page


def test_a_store_that_another_process_has_open_is_told(prowess: Command, home: Path, filled: str) -> None:
    async def beside() -> None:
        async with Store.open(home):
            told = await anyio.to_thread.run_sync(lambda: prowess("status", "--json"))
            assert told.code == Exit.OK
            assert told.json["store"]["state"] == "closed"

    anyio.run(beside)


def test_the_document_is_plain_json(prowess: Command, filled: str) -> None:
    told = prowess("status", "--json")
    assert msgspec.json.decode(told.out) == told.json  # without NaN and the like, which Python's own reader lets pass
