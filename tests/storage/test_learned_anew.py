"""Memories that went with their episode and are learned anew from another one, here and on other machines."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from storekit import AT, ORIGIN, Clock, memory, open_log, recorded, skill, told

from prowess.storage.events import Forgotten, MemoryDeleted, SkillSaved
from prowess.storage.log.erasure import entries
from prowess.storage.log.foreign import Foreign
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

GONE, KEPT = (f"0198c0de-0000-7000-8000-0000000000{number}" for number in ("e1", "e2"))


def _learned_anew(*, forgotten: Forgotten, from_episode: str = KEPT) -> list[Foreign]:
    """A memory of an episode, what forgets it, and the same memory as another machine then drew it from an episode."""
    first = memory("as it was first", episode_id=GONE)
    again = replace(first, memory=replace(first.memory, text="learned anew", episode_id=from_episode))
    forgotten = replace(forgotten, memory_ids=(first.memory.id,))
    return [told(1, 1, 10, first), told(1, 2, 11, forgotten), told(2, 1, 12, again)]


@pytest.mark.parametrize(
    ("forgotten", "from_episode", "left"),
    [
        (Forgotten(at=AT, episode_ids=(GONE,)), KEPT, ["learned anew"]),
        (Forgotten(at=AT, episode_ids=(GONE,)), GONE, []),  # by who had not heard yet
        (Forgotten(at=AT), KEPT, []),  # for itself
    ],
)
@pytest.mark.parametrize("order", [*permutations(range(3))])
async def test_a_memory_that_went_with_its_episode_and_was_learned_anew_elsewhere_is_known_here(
    tmp_path: Path, forgotten: Forgotten, from_episode: str, left: list[str], order: tuple[int, ...]
) -> None:
    events = _learned_anew(forgotten=forgotten, from_episode=from_episode)
    async with Store.open(tmp_path) as store:
        for place in order:
            await store.receive([events[place]])
        assert [each.text for each in await store.memories()] == left
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before


@pytest.mark.parametrize("order", [*permutations(range(3))])
async def test_it_goes_with_the_episode_that_it_was_learned_from_anew_as_well(
    folder: Path, order: tuple[int, ...]
) -> None:
    _, forgotten, again = _learned_anew(forgotten=Forgotten(at=AT, episode_ids=(GONE,)))
    later = told(3, 1, 13, Forgotten(at=AT, episode_ids=(KEPT,)))  # by who had not heard of the memory
    events = [forgotten, again, later]
    async with Store.open(folder) as store:
        await store.receive([events[place] for place in order])
        assert await store.memories() == ()
    with open_log(folder / "log.redb") as file, file.read() as view:
        assert {entry.type for entry in entries(view)} == {"payloads.forgotten"}


async def test_a_memory_that_was_learned_anew_is_still_found_by_meaning(tmp_path: Path) -> None:
    first, forgotten, again = _learned_anew(forgotten=Forgotten(at=AT, episode_ids=(GONE,)))
    vector = np.ones(4, np.float32)
    async with Store.open(tmp_path) as store:
        await store.receive([first, again])
        (known,) = await store.memories()
        await store.save_embeddings("memory", "m", [known.id], vector[None])
        assert [key for key, _ in await store.dense("memory", vector, limit=1)] == [known.id]
        await store.receive([forgotten])
        assert [key for key, _ in await store.dense("memory", vector, limit=1)] == [known.id]


async def test_a_stranger_cannot_bring_a_forgotten_memory_back(tmp_path: Path) -> None:
    events = _learned_anew(forgotten=Forgotten(at=AT, episode_ids=(GONE,)))
    events[2] = replace(events[2], trusted=False)
    for number, order in enumerate(permutations(range(3))):
        async with Store.open(tmp_path / str(number)) as store:
            for place in order:
                await store.receive([events[place]])
            assert await store.memories() == ()


async def test_a_memory_that_was_learned_anew_outlives_restoring(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        gone, kept, other = [await recorded(store, name) for name in ("gone", "kept", "other")]
        drawn = memory("as it was first", episode_id=gone)
        again = replace(drawn, memory=replace(drawn.memory, text="learned anew", episode_id=kept))
        await store.append([drawn], origin=ORIGIN)
        early = await store.backup(tmp_path / "early")
        await store.forget(episode_ids=[gone], origin=ORIGIN)
        await store.append([again], origin=ORIGIN)
        late = await store.backup(tmp_path / "late")
        await store.forget(episode_ids=[other], origin=ORIGIN)  # goes through the backups as well
    for made, left in ((late, ["learned anew"]), (early, []), (late, ["learned anew"])):
        restore(folder, made)
        async with Store.open(folder) as store:
            assert [each.text for each in await store.memories()] == left


async def test_of_a_memory_that_was_forgotten_for_itself_nothing_more_is_told(folder: Path, clock: Clock) -> None:
    saved = memory("look first")
    async with Store.open(folder, clock=clock) as store:
        await store.append([saved], origin=ORIGIN)
        await store.forget(memory_ids=[saved.memory.id], origin=ORIGIN)
        head = store.head
        # As by who had read it before; others drop what comes of it.
        await store.append([MemoryDeleted(memory_id=saved.memory.id, at="2027-11-29T12:00:00.000Z")], origin=ORIGIN)
        assert store.head == head
        assert [each["at"] for each in (await store.dump())["tombstones"]] == [AT]


async def test_the_last_word_on_a_skill_counts_by_its_order_and_not_by_the_clock(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        for _ in range(2):
            await store.append([SkillSaved(skill=skill("look"), change="create")], origin=ORIGIN)
            await store.forget(skill_ids=["skill-look"], origin=ORIGIN)
            clock.forward(days=-1)
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
        assert [each["at"] for each in before["tombstones"]] == ["2026-11-28T12:00:00.000Z"]
