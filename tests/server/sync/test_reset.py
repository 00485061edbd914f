"""Reading a remote again from its beginning, also while it is being read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from machines import Cloud, machines
from rounds import sync

from prowess.server.sync.remote import Pulled, Remote
from prowess.storage.log.foreign import Position
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

ORIGIN = Origin(machine="m0", client="test", session="s")


async def test_a_reading_that_began_before_moves_no_position_after(tmp_path: Path) -> None:
    async with Store.open(tmp_path) as store:
        await store.receive([], Position(remote="r", pos=5))
        await store.receive([], Position(remote="other", pos=6))
        await store.pull_again()
        await store.receive([], Position(remote="r", pos=7))
    async with Store.open(tmp_path) as store:  # a crash makes no difference
        await store.receive([], Position(remote="r", pos=8))
        assert await store.pulled("r") is None
        await store.receive([], Position(remote="r", pos=1))
        assert await store.pulled("r") == Position(remote="r", pos=1)
        assert await store.pulled("other") is None


async def test_a_reset_during_a_pull_has_all_of_it_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file://{tmp_path}/shared.db"
    asked: list[int] = []
    pull = Remote.pull

    async def noted(self: Remote, after: int, *more: object) -> Pulled:
        asked.append(after)
        found = await pull(self, after, *more)  # type: ignore[arg-type]
        if len(asked) == 1:  # the rows are on their way when somebody asks for it
            await two.pull_again()
        return found

    async with Store.open(tmp_path / "one") as one, Store.open(tmp_path / "two") as two:
        for number in range(2):
            where = Where(task_id=f"t{number}", project="shop", session="s")
            await one.track(where, [NewStep(action="look")], origin=ORIGIN)
            await sync(one, url)
        monkeypatch.setattr(Remote, "pull", noted)
        told = await sync(two, url)
        assert asked == [0, 0, 2]
        assert (told.pulled, len(await two.episodes())) == (2, 2)


@pytest.mark.parametrize("seed", range(8))
async def test_what_came_before_somebody_was_trusted_is_as_if_it_came_after(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    cloud = Cloud()
    async with machines(tmp_path, 4) as (mine, friend, theirs, other):
        for _ in range(60):
            machine = chance.choice([theirs, theirs, other])
            await machine.act(chance)
            await machine.push(cloud, chance.randint(0, 5))
            await chance.choice([theirs, other]).pull(cloud, chance.randint(0, 3))
        for machine in (theirs, other):
            await machine.push(cloud)
        await friend.pull(cloud)
        await mine.pull(cloud, chance.randint(0, len(cloud.segments)), trusted=False)
        before = await mine.dump()
        mine.read = 0
        await mine.pull(cloud)
        now = await mine.dump()
        assert now != before
        for table, rows in (await friend.dump()).items():
            assert now[table] == rows, table
        await mine.store.rebuild()
        assert await mine.dump() == now
        head = mine.store.head
        for trusted in (True, False):
            mine.read = 0
            await mine.pull(cloud, trusted=trusted)
        assert mine.store.head == head
