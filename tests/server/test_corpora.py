"""What the worker keeps between questions must always answer like the catalog itself."""

from __future__ import annotations

import gc
import weakref
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from prowess.learning.mining.corpus import Corpus
from prowess.learning.mining.patterns import find, mine
from prowess.server.corpora import Corpora
from prowess.storage.catalog import read_trajectories
from prowess.storage.catalog.adapter import Connection
from prowess.storage.models import NewReward, NewStep, Origin, Pattern, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(tmp_path / "store") as value:
        yield value


async def works(store: Store, name: str, *tools: str, project: str = "shop", reward: float | None = 5.0) -> str:
    where = Where(task_id=name, project=project, session="s")
    steps = [NewStep(action=tool, tool=tool, outcome="success") for tool in tools]
    tracked = await store.track(where, steps, origin=Origin())
    if reward is not None:
        await store.score(where, [NewReward(value=reward)], origin=Origin())
    return tracked.episode_id


async def assert_current(corpora: Corpora, store: Store, project: str | None = "shop") -> int:
    """Kept counts and the catalog's own episodes give the same patterns; how many there are."""
    await store.stats()  # a read: the catalog has everything then
    kept = find(corpora.of(store.catalog_path, project), limit=400)
    assert kept == mine(read_trajectories(store.catalog_path, project=project), limit=400)
    return len(kept)


async def test_new_episodes_steps_and_rewards_are_seen(store: Store) -> None:
    corpora = Corpora()
    assert await assert_current(corpora, store) == 0
    for number in range(4):
        await works(store, f"t{number}", "look", "ask", "close")
        await assert_current(corpora, store)
    await works(store, "t1", "look", "guess", reward=None)
    found = await assert_current(corpora, store)
    await store.score(Where(task_id="t2", project="shop", session="s"), [NewReward(value=-8.0)], origin=Origin())
    assert await assert_current(corpora, store) >= found > 0


async def test_while_nothing_changes_in_a_project_its_patterns_are_not_looked_for_again(store: Store) -> None:
    corpora = Corpora()

    async def found(**options: int) -> list[Pattern]:
        await store.stats()
        return corpora.find(store.catalog_path, "shop", options)

    keys = [await works(store, f"t{number}", "look", "ask", "close") for number in range(4)]
    first = await found(limit=400)
    assert await found(limit=400) is first
    assert await found(limit=1) == first[:1]
    elsewhere = await works(store, "t1", "look", "guess", project="bank")
    assert await found(limit=400) is first
    await store.forget(episode_ids=[elsewhere], origin=Origin())
    assert await found(limit=400) is first
    await works(store, "t3", "look")
    second = await found(limit=400)
    assert second == mine(read_trajectories(store.catalog_path, project="shop"), limit=400) != first
    await store.forget(episode_ids=keys[:1], origin=Origin())
    assert await found(limit=400) == mine(read_trajectories(store.catalog_path, project="shop"), limit=400) != second


async def test_forgotten_episodes_are_seen_no_more(store: Store) -> None:
    corpora = Corpora()
    keys = [await works(store, f"t{number}", "look", "ask", "close") for number in range(4)]
    await assert_current(corpora, store)
    await store.forget(episode_ids=keys[:2], origin=Origin())
    await assert_current(corpora, store)
    assert len(corpora.of(store.catalog_path, "shop")) == 2


async def test_episodes_of_strangers_are_left_out_until_they_are_trusted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora, made = Corpora(), list[Corpus]()
    monkeypatch.setattr("prowess.server.corpora.Corpus", lambda: made.append(Corpus()) or made[-1])
    ids = [await works(store, f"t{number}", "look", "ask", "close") for number in range(5)]
    await estrange(store, ids[:2])
    assert await assert_current(corpora, store) > 0
    for strange in (ids[:1], ids[2:4], ids[4:], []):
        await estrange(store, strange, trusted=[key for key in ids if key not in strange])
        await assert_current(corpora, store)
        assert len(corpora.of(store.catalog_path, "shop")) == 5 - len(strange)
    await estrange(store, ids[3:])
    await store.forget(episode_ids=[ids[0], ids[4]], origin=Origin())
    await assert_current(corpora, store)
    assert len(corpora.of(store.catalog_path, "shop")) == 2
    assert len(made) == 1  # nothing was counted anew


async def estrange(store: Store, ids: list[str], trusted: Sequence[str] = ()) -> None:
    """Make it so that these episodes came from strangers, and those from people who are trusted."""
    await works(store, "another", "look", project="bank")  # what changes is new to whoever read before
    await store.stats()
    catalog = Connection(store.catalog_path)
    for flag, keys in ((1, ids), (0, trusted)):
        for key in keys:
            catalog.execute("UPDATE episodes SET strange = ?, updated_seq = ? WHERE id = ?", (flag, store.head, key))
    catalog.close()


async def test_projects_are_counted_apart_and_together(store: Store) -> None:
    corpora = Corpora()
    for number in range(3):
        await works(store, f"t{number}", "look", "ask")
        await works(store, f"t{number}", "send", "wait", project="bank")
        for project in ("shop", "bank", None):
            await assert_current(corpora, store, project)
    assert [len(corpora.of(store.catalog_path, project)) for project in ("shop", "bank", None)] == [3, 3, 6]


async def test_a_rebuilt_catalog_answers_as_before(store: Store) -> None:
    corpora = Corpora()
    for number in range(3):
        await works(store, f"t{number}", "look", "ask")
    await assert_current(corpora, store)
    await store.rebuild()
    await works(store, "t9", "look", "ask")
    await assert_current(corpora, store)


async def test_another_store_at_the_same_place_is_not_taken_for_the_first(tmp_path: Path) -> None:
    corpora = Corpora()
    for name in ("first", "second"):
        folder = tmp_path / "store"
        async with Store.open(folder) as store:
            for number in range(3):
                await works(store, f"{name}{number}", name, "ask")
            await assert_current(corpora, store)
        folder.rename(tmp_path / name)


async def test_only_so_many_projects_and_steps_are_kept(store: Store) -> None:
    for project in ("a", "b", "c", "d"):
        await works(store, "t", "look", "ask", project=project)
    await store.stats()
    few = Corpora(most=2)
    narrow = Corpora(most_steps=5)
    none = Corpora(most_steps=1)
    for project in ("a", "b", "c", "d", "a"):
        for corpora in (few, narrow, none):
            assert len(corpora.of(store.catalog_path, project)) == 1
    assert (len(few), len(narrow), len(none)) == (2, 2, 0)


async def test_what_is_kept_and_what_is_found_have_no_cycles_that_only_a_collection_frees(store: Store) -> None:
    """The worker never looks through what it keeps for garbage."""
    for number in range(4):
        await works(store, f"t{number}", "look", "ask", "close", reward=float(number))
    await store.stats()
    corpora = Corpora()
    corpora.find(store.catalog_path, "shop", {"limit": 50})
    gc.collect()
    gc.disable()
    try:
        corpora.find(store.catalog_path, "shop", {"limit": 51})
        corpus = weakref.ref(corpora.of(store.catalog_path, "shop"))
        del corpora
        assert corpus() is None
    finally:
        gc.enable()
