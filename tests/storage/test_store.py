"""What holds for the store as a whole: every event, rebuilding, masking, lifetimes."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from storekit import EVERY_TYPE, ORIGIN, WHERE, Clock, do_everything, files, journal_types, memory, skill, steps

from prowess.storage.errors import InvalidInput, StoreClosed, StoreUnavailable, UnknownEpisode, UnknownSkill
from prowess.storage.events import EpisodeClosed, SkillSaved
from prowess.storage.log import reading
from prowess.storage.log.file import LogFile
from prowess.storage.models import EpisodeFilter, NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


async def test_a_rebuild_after_every_type_of_event_changes_nothing(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        await do_everything(store)
        await store.track(Where(task_id="other"), steps("a"), origin=ORIGIN)
        await store.trim(days=None, max_bytes=0, origin=ORIGIN)
        await store.forget(task_id="other", origin=ORIGIN)
        before = await store.dump()
        told: list[tuple[int, int]] = []
        await store.rebuild(lambda done, total: told.append((done, total)))
        assert await store.dump() == before
        assert told[-1][0] == told[-1][1] > 0
    assert set(journal_types(store.log_path)) == EVERY_TYPE


async def test_a_deleted_catalog_is_made_again(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        await do_everything(store)
        before = await store.dump()
    for file in files(folder, "catalog.db*"):
        file.unlink()
    async with Store.open(folder, clock=clock) as store:
        assert await store.dump() == before


async def test_a_catalog_of_another_log_is_made_again(folder: Path, tmp_path: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        await store.track(WHERE, steps("a", "b"), origin=ORIGIN)
    async with Store.open(folder, clock=clock, redb_path=tmp_path / "elsewhere" / "other.redb") as store:
        assert (await store.stats()).episodes == 0
        assert store.log_path == tmp_path / "elsewhere" / "other.redb"
        await store.track(Where(task_id="t"), steps("a"), origin=ORIGIN)
        assert (await store.stats()).steps == 1
    async with Store.open(folder, clock=clock) as store:
        assert (await store.stats()).steps == 2


async def test_no_secret_reaches_the_disk_on_any_path(folder: Path) -> None:
    secret = "hunter2QxZ9vT4kW8mN3pR7sJ5"
    async with Store.open(
        folder, mask_many=lambda texts: [text.replace(secret, "[masked]") for text in texts]
    ) as store:
        await do_everything(store, secret)
        told = await store.track(Where(task_id=f"task {secret}", project=secret), steps("a"), origin=ORIGIN)
        found = await store.find_episode(Where(task_id=f"task {secret}", project=secret))
        assert found is not None
        assert (found.id, found.task_id, found.project) == (told.episode_id, "task [masked]", "[masked]")
        where = Where(task_id="named", session=f"s {secret}", agent=f"a {secret}")
        origin = Origin(client=f"c {secret}", session=f"s {secret}")
        calls = [NewStep(action="a", external_id=f"{secret}{end}") for end in ("1", "2", "1")]
        named = await store.track(where, calls, origin=origin)
        assert (named.numbers, named.duplicates) == ((1, 2, 1), (1,))
        again = await store.find_episode(where)
        assert again is not None
        assert (again.id, again.session) == (named.episode_id, "s [masked]")
        assert secret not in repr(await store.dump())
        whole = await store.trajectories([episode.id for episode in await store.episodes()])
        assert secret not in repr(whole)
        await store.forget(task_id=f"task {secret}", reason=secret, origin=ORIGIN)
    for file in files(folder, "*"):
        assert secret.encode() not in file.read_bytes(), file


async def test_an_exception_in_the_block_comes_out_as_it_is(folder: Path) -> None:
    async def fail() -> None:
        async with Store.open(folder) as store:
            await store.track(WHERE, steps("a"), origin=ORIGIN)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with Store.open(folder) as store:
        assert (await store.stats()).steps == 1


async def test_a_closed_store_says_so(folder: Path) -> None:
    async with Store.open(folder) as store:
        pass
    for use in (lambda: store.track(WHERE, steps("a"), origin=ORIGIN), store.stats, lambda: store.steps("x")):
        with pytest.raises(StoreClosed) as raised:
            await use()
        assert raised.value.hint


async def test_closing_commits_what_is_queued(folder: Path) -> None:
    async with Store.open(folder) as store, anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(_track, store, f"a{number}")
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    async with Store.open(folder) as store:
        assert (await store.stats()).steps == 100


async def _track(store: Store, action: str) -> None:
    await store.track(WHERE, steps(action), origin=ORIGIN)


async def test_a_read_sees_every_write_before_it(folder: Path) -> None:
    async with Store.open(folder) as store:
        for number in range(30):
            await store.track(WHERE, steps("a"), origin=ORIGIN)
            found = await store.find_episode(WHERE)
            assert found is not None
            assert found.steps == number + 1


async def test_only_the_log_may_make_its_own_events(folder: Path) -> None:
    async with Store.open(folder) as store:
        with pytest.raises(InvalidInput, match=r"episode\.closed cannot be appended"):
            await store.append([EpisodeClosed(episode_id="x", at="t")], origin=ORIGIN)


async def test_appended_events_are_recorded_once_per_key(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.append([memory("a")], origin=ORIGIN, key="k")
        assert await store.append([memory("a")], origin=ORIGIN, key="k") == first
        assert len(await store.memories()) == 1
        assert (await store.append([], origin=ORIGIN)).seq == first.seq


async def test_a_mark_is_kept_with_the_events_that_it_goes_with_and_never_falls(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.append([memory("a")], origin=ORIGIN, key="k", mark=("done", 5))
        await store.append([memory("a")], origin=ORIGIN, key="k", mark=("done", 7))  # answered before, so not done
        assert await store.mark("done") == 5
        with pytest.raises(InvalidInput):
            await store.append([EpisodeClosed(episode_id="x", at="t")], origin=ORIGIN, mark=("done", 8))
        await store.append([memory("b")], origin=ORIGIN, mark=("done", 4))
        assert (await store.mark("done"), store.head) == (5, 2)
        await store.append([], origin=ORIGIN, mark=("done", 6))
    async with Store.open(folder) as store:
        assert (await store.mark("done"), await store.mark("other"), store.head) == (6, 0, 2)


async def test_what_is_not_there_is_named(folder: Path) -> None:
    async with Store.open(folder) as store:
        for ask in (store.episode, store.steps):
            with pytest.raises(UnknownEpisode) as raised:
                await ask("nothing")
            assert raised.value.hint
        with pytest.raises(UnknownSkill):
            await store.skill("nothing")
        assert await store.find_episode(WHERE) is None


async def test_episodes_are_filtered_and_trajectories_are_whole(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await do_everything(store)
        second = (await store.track(Where(task_id="t", project="p"), steps("x"), origin=ORIGIN)).episode_id
        assert [e.id for e in await store.episodes()] == [second, first]
        assert [e.id for e in await store.episodes(EpisodeFilter(project="shop"), 1)] == [first]
        whole = await store.trajectories([first, second])
        assert [t.episode.id for t in whole] == [first, second]
        assert [s.action for s in whole[1].steps] == ["x"]
        assert await store.spent() == 0.25


async def test_vectors_are_found_until_what_they_stand_for_is_gone(folder: Path) -> None:
    async with Store.open(folder) as store:
        saved = [SkillSaved(skill=skill(name), change="create") for name in ("refund", "return")]
        await store.append([*saved, memory("look")], origin=ORIGIN)
        todo = await store.unembedded("skill", "m", 10)
        ids = [name for name, _ in todo]
        assert sorted(ids) == ["skill-refund", "skill-return"]
        assert await store.dense("skill", np.ones(2, np.float32), limit=5) == []
        matrix = np.array([[1, 0], [0, 1]], np.float32)
        await store.save_embeddings("skill", "m", ids, matrix, [text for _, text in todo])
        best = await store.dense("skill", np.array([1, 0.1], np.float32), limit=5)
        assert [name for name, _ in best] == ids
        assert await store.unembedded("skill", "m", 10) == []
        await store.forget(skill_ids=[ids[0]], origin=ORIGIN)
        assert [name for name, _ in await store.dense("skill", np.ones(2, np.float32), limit=5)] == [ids[1]]
        assert [name for name, _ in await store.lexical("skill", "refund return", limit=5)] == [ids[1]]
        await store.rebuild()
        assert [name for name, _ in await store.dense("skill", np.ones(2, np.float32), limit=5)] == [ids[1]]


async def test_retention_drops_raw_steps_and_keeps_their_summaries(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        old = await do_everything(store)
        clock.forward(days=40)
        new = (await store.track(Where(task_id="new"), steps("a", "b"), origin=ORIGIN)).episode_id
        before = await store.dump()
        trimmed = await store.trim(days=7, max_bytes=None, origin=ORIGIN)
        assert (trimmed.episodes, trimmed.steps, trimmed.bytes > 0) == (1, 3, True)
        assert [step.observation for step in await store.steps(old)] == [None, None, None]
        assert [step.action for step in await store.steps(old)] == ["look ", "pay back ", "wait"]
        assert [step.action for step in await store.steps(new)] == ["a", "b"]
        assert await store.dump() == before
        again = await store.trim(days=7, max_bytes=None, origin=ORIGIN)
        assert (again.episodes, again.seq) == (0, trimmed.seq)


async def test_retention_by_size_drops_the_oldest_first(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        ids = []
        for name in ("one", "two", "three"):
            ids.append((await store.track(Where(task_id=name), steps("a"), origin=ORIGIN)).episode_id)
            clock.forward(hours=1)
        size = sum(step["size"] for step in (await store.dump())["steps"])
        await store.trim(days=None, max_bytes=size - 1, origin=ORIGIN)
        kept = [episode_id for episode_id in ids if (await store.steps(episode_id))[0].at]
        assert kept == ids
        trimmed = await store.trim(days=None, max_bytes=0, origin=ORIGIN)
        assert trimmed.episodes == 2


@pytest.mark.parametrize("recorded", [True, False])
async def test_a_clock_that_leaps_ahead_makes_nothing_old_before_it_has_gone_on_for_a_day(
    folder: Path, clock: Clock, recorded: bool
) -> None:
    async def trimmed() -> int:
        async with Store.open(folder, clock=clock) as store:
            return (await store.trim(days=30, max_bytes=None, origin=ORIGIN)).episodes

    async with Store.open(folder, clock=clock) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
    if recorded:
        assert await trimmed() == 0
    clock.forward(days=3650)
    assert await trimmed() == 0
    async with Store.open(folder, clock=clock) as store:
        await store.track(Where(task_id="other"), steps("b"), origin=ORIGIN)
    clock.forward(hours=6)
    assert await trimmed() == 0
    clock.forward(days=-3650)
    assert await trimmed() == 0  # put right
    clock.forward(days=20 * 365)
    assert await trimmed() == 0
    clock.forward(days=1)
    assert await trimmed() == 2  # it goes on from there
    assert await trimmed() == 0


async def test_what_is_old_goes_though_nobody_looked_for_a_week(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        gone = []
        for _ in range(6):
            gone.append((await store.trim(days=20, max_bytes=None, origin=ORIGIN)).episodes)
            clock.forward(days=7)
    assert gone == [0, 0, 0, 0, 1, 0]


async def test_room_that_a_full_disk_kept_from_being_given_back_is_given_back_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreUnavailable("the disk is full", hint="-")

    async with Store.open(folder) as store:
        for _ in range(30):
            step = NewStep(action="a", observation=os.urandom(20_000).hex())
            await store.track(WHERE, [step], origin=ORIGIN)
        before = store.log_path.stat().st_size
        with monkeypatch.context() as patch:
            patch.setattr(LogFile, "rewrite", full)
            with pytest.raises(StoreUnavailable):
                await store.trim(days=None, max_bytes=0, origin=ORIGIN)
        assert store.log_path.stat().st_size >= before
        assert (await store.trim(days=None, max_bytes=0, origin=ORIGIN)).steps == 0
        small = store.log_path.stat()
        assert small.st_size < before / 2
        await store.trim(days=None, max_bytes=0, origin=ORIGIN)
        assert store.log_path.stat().st_ino == small.st_ino  # it is not written again for nothing


async def test_any_number_of_days_is_taken(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (await store.trim(days=10**12, max_bytes=None, origin=ORIGIN)).episodes == 0


async def test_a_trimmed_step_is_still_a_duplicate(folder: Path) -> None:
    from prowess.storage.models import NewStep

    async with Store.open(folder) as store:
        await store.track(WHERE, [NewStep(action="a", number=1)], origin=ORIGIN)
        await store.trim(days=None, max_bytes=0, origin=ORIGIN)
        assert (await store.track(WHERE, [NewStep(action="a", number=1)], origin=ORIGIN)).duplicates == (1,)


async def test_who_follows_a_long_episode_is_told_its_steps_in_parts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LATER", 3)
    async with Store.open(folder) as store:
        told = await store.track(WHERE, steps(*"abcdefgh"), origin=ORIGIN)
        parts = [await store.later_steps(WHERE, told.episode_id, number) for number in (0, 3, 6, 8)]
        assert [(part[0], "".join(step.action for step in part[1])) for part in parts if part] == [
            (told.episode_id, each) for each in ("abc", "def", "gh", "")
        ]
        again = await store.later_steps(WHERE, told.episode_id, 4, {1, 2, 3, 4})
        assert again is not None
        assert "".join(step.action for step in again[1]) == "abcdefg"
