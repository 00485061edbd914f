"""Of those who have much to send one goes on at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import Machine, machines
from rounds import sync

from prowess.server.sync import cycle, turn
from prowess.server.sync.address import read_address
from prowess.server.sync.database import Database, open_database
from prowess.server.sync.hrana import Statement
from prowess.server.sync.remote import Remote
from prowess.storage.models import NewStep, Where

pytestmark = pytest.mark.anyio


async def two(database: Database) -> tuple[turn.Turn, turn.Turn]:
    return (await Remote.open(database)).turn, (await Remote.open(database)).turn


async def set_turn(database: Database, seconds: int) -> None:
    """Somebody else's, that ends so many seconds from now."""
    until = "CAST(strftime('%s', 'now') AS INTEGER) + ?"
    add = f"INSERT INTO prowess_meta VALUES ('turn', ? || ' ' || ({until}))"
    await database.batch([Statement(add, ("a" * 32, seconds))])


async def test_one_has_the_turn_until_it_gives_it_up(database: Database) -> None:
    one, other = await two(database)
    assert await one.have()
    assert not await other.have()
    assert await one.have()
    await other.give_up()  # what it does not have
    assert not await other.have()
    await one.give_up()
    assert await other.have()
    assert not await one.have()


@pytest.mark.parametrize(("seconds", "free"), [(20, False), (30, False), (0, True), (-5, True), (5000, True)])
async def test_a_turn_ends_by_itself(database: Database, seconds: int, free: bool) -> None:
    one, _ = await two(database)
    await set_turn(database, seconds)  # its holder was killed; 5000: and its clock was wrong
    assert await one.have() is free


async def test_a_turn_is_passed_on_after_a_while(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = await two(database)
    assert await one.have()
    monkeypatch.setattr(turn, "SECONDS", -1.0)
    assert not await one.have()
    assert await other.have()


async def test_a_turn_that_another_took_is_not_prolonged(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "PROLONG_SECONDS", -1.0)
    one, other = await two(database)
    assert await one.have()
    assert await one.have()  # prolonged
    await database.batch([Statement("DELETE FROM prowess_meta WHERE key = 'turn'")])  # it had ended by itself
    assert await other.have()
    assert not await one.have()


async def episodes(machine: Machine, first: int, number: int) -> None:
    """Two events each."""
    for task in range(first, first + number):
        where = Where(task_id=f"t{task}", project="shop", session="s")
        await machine.store.track(where, [NewStep(action=f"pack {task}")], origin=machine.origin)


async def test_a_backlog_waits_for_its_turn_while_news_go_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cycle, "MAX_EVENTS", 10)
    url = f"file://{tmp_path}/remote.db"
    async with machines(tmp_path, 2) as (one, two), open_database(read_address(url)) as database:
        await episodes(two, 0, 2)
        assert (await sync(two.store, url)).pushed == two.store.head
        await episodes(one, 10, 30)
        await set_turn(database, 20)
        told = await sync(one.store, url)
        assert (told.waiting, told.pushed) == (True, 0)
        assert (await one.store.stats()).episodes == 32  # it took in what the other had sent
        await episodes(two, 50, 1)
        assert (await sync(two.store, url)).pushed == two.store.head  # who has little to send does not ask
        await database.batch([Statement("DELETE FROM prowess_meta WHERE key = 'turn'")])
        told = await sync(one.store, url)
        assert (told.waiting, told.pushed) == (False, told.head)
        await sync(two.store, url)
        assert (await two.store.stats()).episodes == 33
        assert await (await Remote.open(database)).turn.have()  # it was given up
