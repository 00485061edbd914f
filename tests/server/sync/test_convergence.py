"""Any order, any repetition, any split of the batches: the same state on every machine."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from machines import Cloud, Machine, machines

pytestmark = pytest.mark.anyio

ACTS = 40


async def _live(found: list[Machine], cloud: Cloud, chance: random.Random) -> None:
    """Work, with pushes and pulls of parts in between."""
    for _ in range(ACTS):
        machine = chance.choice(found)
        await machine.act(chance)
        if chance.random() < 0.4:
            await machine.push(cloud, chance.randint(1, 8))
        if chance.random() < 0.3:
            await chance.choice(found).pull(cloud, chance.randint(1, 4))


async def _settle(found: list[Machine], cloud: Cloud) -> None:
    before = -1
    while before != len(cloud.segments):  # what is pulled may make a machine say more
        before = len(cloud.segments)
        for machine in found:
            await machine.push(cloud)
        for machine in found:
            await machine.pull(cloud)


@pytest.mark.parametrize("seed", range(20))
async def test_machines_that_told_each_other_everything_are_alike(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    cloud = Cloud()
    async with machines(tmp_path, 3) as found:
        await _live(found, cloud, chance)
        await _settle(found, cloud)
        first, *others = [await machine.dump() for machine in found]
        assert first["episodes"] or first["tombstones"]
        for other in others:
            for table, rows in first.items():
                assert other[table] == rows, table
        # A catalog that is made again has the same, and so has a machine that comes last and hears all twice.
        for machine in found:
            await machine.store.rebuild()
            assert await machine.dump() == first
        async with machines(tmp_path / "late", 1) as (late,):
            await late.pull(cloud)
            late.read = 0
            await _settle([late, *found], cloud)  # it may have to say itself what goes with what was forgotten
            assert await late.dump() == await found[0].dump()


async def test_what_is_told_twice_is_stored_once(tmp_path: Path) -> None:
    cloud = Cloud()
    async with machines(tmp_path, 2) as (one, two):
        chance = random.Random(5)
        for _ in range(20):
            await one.act(chance)
        await one.push(cloud)
        await two.pull(cloud)
        head = two.store.head
        two.read = 0
        await two.pull(cloud)
        assert two.store.head == head
        # What came from one goes back to it, and changes nothing.
        await two.push(cloud)
        before = await one.store.dump()
        await one.pull(cloud)
        assert await one.store.dump() == before
