"""A remote that hangs, cuts, repeats and garbles: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
from hranadouble import FAULTS, double
from machines import machines
from rounds import sync

from prowess.server.sync import cycle, hrana, turn
from prowess.server.sync.errors import RemoteAway, RemoteBusy, RemoteError, RemoteGarbage, RemoteRefused

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hrana, "BATCH_SECONDS", 0.5)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("hang", RemoteAway),
        ("refuse", RemoteAway),
        ("cut before", RemoteAway),
        ("cut after", RemoteAway),
        ("half", RemoteAway),
        ("busy", RemoteAway),
        ("denied", RemoteRefused),
        ("blocked", RemoteRefused),
        ("garbage", RemoteGarbage),
        ("html", RemoteGarbage),
        ("wrong shape", RemoteGarbage),
    ],
)
async def test_each_fault_is_told_for_what_it_is(tmp_path: Path, fault: str, kind: type[RemoteError]) -> None:
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 1) as (machine,):
        remote.fault = lambda: fault
        with pytest.raises(kind):
            await sync(machine.store, remote.url, "a.secret.token")
        remote.fault = str
        await sync(machine.store, remote.url)


@pytest.mark.parametrize("token", ["two\nlines", "a b", "t\u00f6k", "nul\0"])
async def test_a_token_that_is_none_is_told(tmp_path: Path, token: str) -> None:
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 1) as (machine,):
        with pytest.raises(RemoteRefused, match="no token has") as refused:
            await sync(machine.store, remote.url, token)
        assert token not in str(refused.value) + refused.value.hint


async def test_a_database_that_others_write_to_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 1) as (machine,):
        await machine.act(random.Random(1))
        faults = iter(["locked"] * 3)
        remote.fault = lambda: next(faults, "")
        assert (await sync(machine.store, remote.url)).pushed == machine.store.head
        assert next(faults, "all met") == "all met"
        monkeypatch.setattr(hrana, "BUSY_SECONDS", 0.1)
        remote.fault = lambda: "locked"
        with pytest.raises(RemoteBusy, match="SQLITE_BUSY"):
            await sync(machine.store, remote.url)


async def test_nobody_there_is_away(tmp_path: Path) -> None:
    async with double(tmp_path / "remote.db") as remote:
        url = remote.url
    async with machines(tmp_path, 1) as (machine,):
        with pytest.raises(RemoteAway, match="cannot be reached"):
            await sync(machine.store, url)


@pytest.mark.parametrize("seed", range(6))
async def test_in_the_end_everything_arrived_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    if seed >= 4:  # and each push is a backlog, of several pieces, that waits for its turn
        monkeypatch.setattr(cycle, "MAX_EVENTS", 2)
        monkeypatch.setattr(cycle, "PIECES", 3)
        monkeypatch.setattr(turn, "LEASE_SECONDS", 1)
    chance = random.Random(seed)
    async with double(tmp_path / "remote.db") as remote, machines(tmp_path, 3) as found:
        remote.fault = lambda: chance.choice(FAULTS[1:]) if chance.random() < 0.4 else ""
        for _ in range(60):
            machine = chance.choice(found)
            await machine.act(chance)
            if chance.random() < 0.5:
                with suppress(RemoteError):
                    await sync(chance.choice(found).store, remote.url)
        steps = {episode.id: episode.steps for machine in found for episode in await machine.store.episodes()}
        remote.fault = str
        monkeypatch.setattr(turn, "LEASE_SECONDS", 0)  # a turn that a fault interrupted has ended by itself
        for _ in range(3):
            for machine in found:
                assert not (await sync(machine.store, remote.url)).waiting
        first, *others = [await machine.dump() for machine in found]
        for other in others:
            assert other == first
        forgotten = {row["id"] for row in first["tombstones"]}
        for episode, count in steps.items():
            rows = [row for row in first["steps"] if row["episode_id"] == episode]
            assert episode in forgotten or len(rows) >= count
            assert len({row["number"] for row in rows}) == len(rows)
