"""What is forgotten is gone: from the log's bytes, the catalog's, and the backups'."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import redb
from msgspec import to_builtins
from msgspec.structs import replace
from storekit import (
    AT,
    ORIGIN,
    WHERE,
    Clock,
    decisions,
    do_everything,
    elsewhere,
    memory,
    pattern,
    recorded,
    skill,
    steps,
    told,
)

from prowess.storage.errors import UnknownEpisode
from prowess.storage.events import Event, ExposureMade, Forgotten, MemoryDeleted, PatternsReflected, SkillSaved
from prowess.storage.ids import new_id
from prowess.storage.log.tables import META
from prowess.storage.models import ActorKind, Exposure, NewReward, Parameter, Where, format_time
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

# Random enough that zstd keeps it as it is, and made of one word so that no search index splits it.
SECRET = "qzxv7hk2wm9tp4rj8nb3yd6fs"
OTHER = Where(task_id="other", project="shop", session="s1")


def holders(folder: Path) -> list[str]:
    """Files below ``folder`` that hold the secret's bytes."""
    found = (file for file in folder.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes())
    return sorted(file.name for file in found)


async def test_a_forgotten_episode_leaves_no_byte_anywhere(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        episode_id = await do_everything(store, SECRET)
        await store.track(OTHER, steps("kept"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
        assert holders(made) == ["log.redb"]
        assert "log.redb" in holders(folder)
        forgot = await store.forget(episode_ids=[episode_id], reason="asked", origin=ORIGIN)
        counts = (forgot.episodes, forgot.skills, forgot.memories, forgot.exposures, forgot.reflections)
        assert (counts, forgot.backups, forgot.unreachable) == ((1, 1, 1, 1, 1), 1, ())
        assert holders(made) == []
        assert holders(folder) == []
    assert holders(tmp_path) == []
    async with Store.open(folder) as store:
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
        with pytest.raises(UnknownEpisode):
            await store.steps(episode_id)
        assert [e.task_id for e in await store.episodes()] == ["other"]
        assert [s.name for s in await store.skills()] == ["keep"]
    assert holders(tmp_path) == []


async def test_a_project_is_forgotten_with_all_that_was_learned_in_it(folder: Path) -> None:
    async with Store.open(folder) as store:
        await do_everything(store)
        assert (await store.stats()).steps == 3
        await store.append([SkillSaved(skill=skill("elsewhere", project="bank"), change="create")], origin=ORIGIN)
        await store.append([memory("kept", project="bank"), memory("gone")], origin=ORIGIN)
        await store.track(Where(task_id="t", project="bank"), steps("a"), origin=ORIGIN)
        await store.forget(project="shop", origin=ORIGIN)
        assert [e.project for e in await store.episodes()] == ["bank"]
        assert [s.project for s in await store.skills()] == ["bank"]
        assert [m.text for m in await store.memories()] == ["kept"]
        assert await store.patterns() == ()
        assert await store.exposures() == ()
        assert await store.spent() == 0.25
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before


async def test_filters_are_combined(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        await store.track(WHERE, steps("old"), origin=ORIGIN)
        await store.track(OTHER, steps("old"), origin=ORIGIN)
        clock.forward(days=1)
        border = clock()
        await store.score(WHERE, [], final=True, origin=ORIGIN)
        newer = await store.track(WHERE, steps("new"), origin=ORIGIN)
        forgot = await store.forget(task_id="refund", before=border, origin=ORIGIN)
        assert forgot.episodes == 1
        assert {e.task_id for e in await store.episodes()} == {"refund", "other"}
        found = await store.find_episode(WHERE)
        assert found is not None
        assert found.id == newer.episode_id


async def test_the_attempt_before_is_found_when_the_newest_is_forgotten(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.score(WHERE, [], final=True, origin=ORIGIN)
        second = await store.track(WHERE, steps("b"), origin=ORIGIN)
        await store.forget(episode_ids=[second.episode_id], origin=ORIGIN)
        scored = await store.score(WHERE, [NewReward(value=1.0)], origin=ORIGIN)
        assert scored.episode_id == first.episode_id
        third = await store.track(WHERE, steps("c"), origin=ORIGIN)
        assert (await store.episode(third.episode_id)).attempt == 2


async def test_a_retry_after_forgetting_does_not_bring_it_back(folder: Path) -> None:
    async with Store.open(folder) as store:
        episode_id = await do_everything(store, SECRET)
        await store.forget(episode_ids=[episode_id], origin=ORIGIN)
        step = decisions(episode_id)
        assert step
        assert holders(folder) == []
        again = await store.track(WHERE, steps("look"), origin=ORIGIN, key="everything")
        assert again.opened


async def test_nothing_that_fits_changes_nothing(folder: Path) -> None:
    async with Store.open(folder) as store:
        told = await store.track(WHERE, steps("a"), origin=ORIGIN)
        for scope in ({}, {"task_id": "nothing"}, {"episode_ids": ["nonsense"]}, {"skill_ids": ["nothing"]}):
            forgot = await store.forget(**scope, origin=ORIGIN)
            assert (forgot.episodes, forgot.seq) == (0, told.seq)


async def test_an_earlier_reflection_does_not_come_back_on_a_rebuild(folder: Path) -> None:
    async with Store.open(folder) as store:
        episode_id = (await store.track(WHERE, steps("a"), origin=ORIGIN)).episode_id
        kept = (await store.track(OTHER, steps("a"), origin=ORIGIN)).episode_id
        for number, example in enumerate((kept, episode_id)):
            found = PatternsReflected(
                reflection_id=f"r{number}", project="shop", at=AT, patterns=(pattern(example, f"statement {number}"),)
            )
            await store.append([found], origin=ORIGIN)
        await store.forget(episode_ids=[episode_id], origin=ORIGIN)
        before = await store.dump()
        assert before["patterns"] == []
        await store.rebuild()
        assert await store.dump() == before


async def test_a_skill_with_another_source_stays(folder: Path) -> None:
    async with Store.open(folder) as store:
        ids = [(await store.track(where, steps("a"), origin=ORIGIN)).episode_id for where in (WHERE, OTHER)]
        await store.append([SkillSaved(skill=skill("both", episodes=tuple(ids)), change="create")], origin=ORIGIN)
        assert (await store.forget(episode_ids=[ids[0]], origin=ORIGIN)).skills == 0
        assert (await store.forget(episode_ids=[ids[1]], origin=ORIGIN)).skills == 1


async def test_a_skill_that_stays_shows_no_value_of_what_was_forgotten(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        gone = await store.track(WHERE, steps("a"), origin=ORIGIN)
        kept = await store.track(OTHER, steps("a"), origin=ORIGIN)
        drawn = replace(
            skill("both", episodes=(gone.episode_id, kept.episode_id)),
            parameters=(Parameter(name="order", description="which", examples=(SECRET, "W1")),),
        )
        other = replace(drawn, id="other", name="other", episodes=(kept.episode_id,))
        await store.append([SkillSaved(skill=drawn, change="create")], origin=ORIGIN)
        await store.append([SkillSaved(skill=replace(drawn, version=2), change="adjust")], origin=ORIGIN)
        await store.append([SkillSaved(skill=replace(other, parameters=()), change="create")], origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
        await store.forget(episode_ids=[gone.episode_id], origin=ORIGIN)
        found = await store.skill("both")
        assert (found.parameters, found.version) == ((Parameter(name="order", description="which"),), 2)
        assert found.episodes == drawn.episodes
        assert SECRET not in repr(await store.dump())
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
        assert await store.verify() == store.head
    restore(tmp_path / "elsewhere", made)
    async with Store.open(tmp_path / "elsewhere") as store:
        assert SECRET not in repr(await store.dump())
        assert [version.version for version in await store.versions(drawn.id)] == [1, 2]


async def test_a_file_that_took_the_place_of_a_backups_log_is_told_and_holds_nothing_up(
    folder: Path, tmp_path: Path
) -> None:
    async with Store.open(folder) as store:
        episode_id = await do_everything(store, SECRET)
        made = await store.backup(tmp_path / "copy")
        (made / "log.redb").unlink()
        with closing(redb.Database.create(made / "log.redb")) as other, other.begin_write() as transaction:
            transaction.open_table(META)
        forgot = await store.forget(episode_ids=[episode_id], origin=ORIGIN)
        assert (forgot.episodes, forgot.unreachable) == (1, (str(made),))


async def test_a_backup_that_is_away_is_named_and_forgets_when_it_is_restored(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        episode_id = await do_everything(store, SECRET)
        await store.track(OTHER, steps("kept"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
        away = tmp_path / "away"
        made.rename(away)
        forgot = await store.forget(episode_ids=[episode_id], origin=ORIGIN)
        assert (forgot.backups, forgot.unreachable) == (0, (str(made),))
    restore(folder, away)
    async with Store.open(folder) as store:
        assert [e.task_id for e in await store.episodes()] == ["other"]
    assert holders(folder) == []
    assert re.fullmatch("log.redb", holders(away)[0])
    shutil.rmtree(away)


async def test_a_skill_that_was_found_anew_after_it_was_forgotten_outlives_restoring(
    folder: Path, tmp_path: Path
) -> None:
    async with Store.open(folder) as store:
        await store.append([SkillSaved(skill=skill("look", text=SECRET), change="create")], origin=ORIGIN)
        early = await store.backup(tmp_path / "early")
        await store.forget(skill_ids=["skill-look"], origin=ORIGIN)
        await store.append([SkillSaved(skill=skill("look", text="anew"), change="create")], origin=ORIGIN)
        late = await store.backup(tmp_path / "late")
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.forget(task_id="refund", origin=ORIGIN)  # goes through the backups as well
    assert holders(tmp_path) == []
    restore(folder, late)
    async with Store.open(folder) as store:
        assert "anew" in (await store.skill("look")).description
    aside = restore(folder, early)
    async with Store.open(folder) as store:
        assert await store.skills() == ()
    assert aside is not None
    restore(folder, aside)
    async with Store.open(folder) as store:
        assert "anew" in (await store.skill("look")).description


async def test_what_fits_in_a_backup_alone_is_forgotten_too(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        made = await store.backup(tmp_path / "copy")
        await do_everything(store, SECRET)
    aside = restore(folder, made)
    assert aside is not None
    assert holders(aside) == ["log.redb"]
    async with Store.open(folder) as store:
        forgot = await store.forget(project="shop", origin=ORIGIN)
        assert (forgot.episodes, forgot.backups, forgot.unreachable) == (1, 2, ())
        assert holders(tmp_path) == []
        assert (await store.forget(project="shop", origin=ORIGIN)).episodes == 0
    restore(folder, aside)
    async with Store.open(folder) as store:
        assert await store.episodes() == ()


async def test_a_question_goes_with_the_episode_that_it_was_asked_for(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        ids = []
        for task in ("refund", "return"):
            for said in ({"task_id": task}, {"task_id": None}):  # the agent asks before its first step
                asked = Exposure(id=new_id(), at=format_time(clock()), query=task, project="shop", session="s1", **said)
                await store.append([ExposureMade(exposure=asked)], origin=ORIGIN)
                clock.forward(minutes=1)
            where = Where(task_id=task, project="shop", session="s1")
            ids.append((await store.track(where, steps("a"), origin=ORIGIN)).episode_id)
            clock.forward(minutes=1)
            await store.score(where, [], final=True, origin=ORIGIN)
            clock.forward(minutes=1)
        assert (await store.forget(episode_ids=ids[:1], origin=ORIGIN)).exposures == 2
        assert [exposure.query for exposure in await store.exposures()] == ["return", "return"]
        assert (await store.forget(episode_ids=ids[1:], origin=ORIGIN)).exposures == 2


async def test_a_skill_with_another_source_since_a_backup_stays(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        first = (await store.track(WHERE, steps("a"), origin=ORIGIN)).episode_id
        await store.append([SkillSaved(skill=skill("two", episodes=(first,)), change="create")], origin=ORIGIN)
        await store.backup(tmp_path / "copy")
        second = (await store.track(OTHER, steps("b"), origin=ORIGIN)).episode_id
        both = replace(skill("two", episodes=(first, second)), version=2)
        await store.append([SkillSaved(skill=both, change="update")], origin=ORIGIN)
        assert (await store.forget(episode_ids=[first], origin=ORIGIN)).skills == 0
        assert [found.name for found in await store.skills()] == ["two"]


async def test_what_another_machine_forgot_is_no_longer_near_to_anything(folder: Path) -> None:
    async with Store.open(folder) as store:
        kept, gone = memory("look first"), memory("pay back")
        await store.append([kept, gone], origin=ORIGIN)
        ids = [event.memory.id for event in (kept, gone)]
        await store.save_embeddings("memory", "m", ids, np.eye(2, dtype=np.float32))
        vector = np.ones(2, np.float32)
        assert {key for key, _ in await store.dense("memory", vector, limit=5)} == set(ids)
        told = to_builtins(Forgotten(at=AT, memory_ids=(ids[1],)))
        await store.receive([replace(elsewhere(), type="payloads.forgotten", data=told)])
        assert [key for key, _ in await store.dense("memory", vector, limit=5)] == ids[:1]


async def test_a_log_that_was_moved_away_leaves_neither_words_nor_vectors(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        said = memory(SECRET)
        await store.append([said], origin=ORIGIN)
        await store.save_embeddings("memory", "m", [said.memory.id], np.ones((1, 2), np.float32))
    (folder / "log.redb").rename(tmp_path / "kept.redb")
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.stats()
        assert await store.dense("memory", np.ones(2, np.float32), limit=5, model="m") == []
    assert holders(folder) == []
    with closing(sqlite3.connect(folder / "catalog.db")) as database:
        assert database.execute("SELECT count(*) FROM embeddings").fetchall() == [(0,)]


async def test_forgetting_that_was_interrupted_is_finished_at_the_next_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prowess.storage.errors import StoreUnavailable
    from prowess.storage.log.file import LogFile

    def fail(*_: object) -> None:
        raise StoreUnavailable("the disk went away", hint="-")

    async with Store.open(folder) as store:
        episode_id = await do_everything(store, SECRET)
        with monkeypatch.context() as patch:
            patch.setattr(LogFile, "rewrite", fail)
            with pytest.raises(StoreUnavailable):
                await store.forget(episode_ids=[episode_id], origin=ORIGIN)
    async with Store.open(folder) as store:
        await store.stats()
        assert holders(folder) == []


async def test_a_memory_deleted_by_a_clock_that_is_ahead_and_then_forgotten_is_the_same_after_a_rebuild(
    folder: Path, clock: Clock
) -> None:
    async with Store.open(folder, clock=clock) as store:
        await store.append([saved := memory("look first")], origin=ORIGIN)
        await store.append([MemoryDeleted(memory_id=saved.memory.id, at="2027-01-01T00:00:00.000Z")], origin=ORIGIN)
        assert await store.memories() == ()
        await store.forget(memory_ids=[saved.memory.id], origin=ORIGIN)
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
        assert [each["at"] for each in before["tombstones"]] == [format_time(clock.now)]


async def test_of_several_deletions_of_a_memory_the_latest_counts_in_whatever_order_they_arrive(tmp_path: Path) -> None:
    saved = memory("look first")
    noon, before_noon = (
        MemoryDeleted(memory_id=saved.memory.id, at=f"2026-11-29T{hour}:00:00.000Z") for hour in (12, 11)
    )
    events = [told(1, 1, 1, saved), told(1, 2, 2, noon), told(1, 3, 3, saved), told(2, 1, 4, before_noon)]
    for name, order in (("one", (0, 1, 2, 3)), ("two", (0, 1, 3, 2)), ("three", (3, 0, 1, 2))):
        async with Store.open(tmp_path / name) as store:
            await store.receive([events[place] for place in order])
            assert [each["at"] for each in (await store.dump())["tombstones"]] == [before_noon.at]


async def test_a_skill_saved_after_its_episode_was_forgotten_neither_names_it_nor_has_its_values(folder: Path) -> None:
    async with Store.open(folder) as store:
        gone, kept = [await recorded(store, name) for name in ("gone", "kept")]
        await store.forget(episode_ids=[gone], origin=ORIGIN)
        made = skill("late", episodes=(gone, kept))
        made = replace(made, parameters=(Parameter(name="order", examples=("#W1",)),))
        await store.append([SkillSaved(skill=made, change="create")], origin=ORIGIN)
        told = await store.skill(made.id)
        assert (told.episodes, told.parameters[0].examples) == ((kept,), ())
        whole = replace(made, version=2, episodes=told.episodes)
        await store.append([SkillSaved(skill=whole, change="adjust")], origin=ORIGIN)
        assert (await store.skill(made.id)).parameters[0].examples == ("#W1",)


async def test_what_was_being_learned_from_an_episode_when_it_was_forgotten_is_not_stored(folder: Path) -> None:
    async with Store.open(folder) as store:
        gone, kept = [await recorded(store, name) for name in ("gone", "kept")]
        asked = Exposure(id=new_id(), at=AT, query=f"refund {SECRET}", project="shop", episode_id=gone)
        seen = tuple(pattern(name, f"looking helps {SECRET}") for name in (kept, gone))
        await store.forget(episode_ids=[gone], origin=ORIGIN)
        late: list[Event] = [
            memory(f"look first {SECRET}", episode_id=gone),
            memory("look twice", episode_id=kept),
            SkillSaved(skill=skill("made", episodes=(gone,), text=SECRET), change="create"),
            ExposureMade(exposure=asked),
            PatternsReflected(reflection_id=new_id(), project="shop", at=AT, patterns=seen),
        ]
        before = store.head
        assert (await store.append(late, origin=ORIGIN)).seq == before + 1
        assert [each.text for each in await store.memories()] == ["look twice"]
        assert await store.skills() + await store.exposures() + await store.patterns() == ()
        await store.rebuild()
    assert holders(folder) == []


async def test_a_change_to_a_skill_that_was_forgotten_meanwhile_does_not_bring_it_back(folder: Path) -> None:
    async with Store.open(folder) as store:
        gone = await recorded(store, "gone")
        first = skill("refund", episodes=(gone,))
        await store.append([SkillSaved(skill=first, change="create")], origin=ORIGIN)
        await store.forget(episode_ids=[gone], origin=ORIGIN)
        await store.append([SkillSaved(skill=replace(first, version=2), change="adjust")], origin=ORIGIN)
        assert await store.skills() == ()


async def test_a_version_of_forgotten_episodes_alone_is_saved_of_a_skill_that_stayed(folder: Path) -> None:
    async with Store.open(folder) as store:
        gone, kept = [await recorded(store, name) for name in ("gone", "kept")]
        first = skill("refund", episodes=(gone,))
        second = replace(first, version=2, episodes=(gone, kept))
        await store.append([SkillSaved(skill=each, change="create") for each in (first, second)], origin=ORIGIN)
        await store.forget(episode_ids=[gone], origin=ORIGIN)
        await store.append([SkillSaved(skill=replace(first, version=3), change="rollback")], origin=ORIGIN)
        assert (await store.skill(first.id)).version == 3


async def test_a_memory_that_was_forgotten_for_itself_is_not_made_again_but_one_that_went_with_its_episode(
    folder: Path, tmp_path: Path
) -> None:
    async with Store.open(folder) as store:
        gone, kept = [await recorded(store, name) for name in ("gone", "kept")]
        alone, drawn = memory("look first", episode_id=kept), memory("look twice", episode_id=gone)
        await store.append([alone, drawn], origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
        await store.forget(memory_ids=[alone.memory.id], origin=ORIGIN)
        await store.forget(episode_ids=[gone], origin=ORIGIN)
        again = replace(drawn, memory=replace(drawn.memory, episode_id=kept))
        await store.append([alone, again], origin=ORIGIN)
        assert [each.text for each in await store.memories()] == ["look twice"]
    for _ in range(2):
        restore(folder, made)
        async with Store.open(folder) as store:
            await store.append([alone, again], origin=ORIGIN)
            assert [each.text for each in await store.memories()] == ["look twice"]


async def test_a_memory_that_another_machine_forgot_for_itself_is_not_made_again_here(tmp_path: Path) -> None:
    async with Store.open(tmp_path) as store:
        gone, kept = [await recorded(store, name) for name in ("gone", "kept")]
        alone, drawn = memory("look first", episode_id=kept), memory("look twice", episode_id=gone)
        await store.append([alone, drawn], origin=ORIGIN)
        named = {"at": AT, "skill_ids": (), "exposure_ids": (), "reflection_ids": ()}
        events = [
            told(1, 1, 10, Forgotten(episode_ids=(), memory_ids=(alone.memory.id,), **named)),
            told(1, 2, 11, Forgotten(episode_ids=(gone,), memory_ids=(), **named)),
        ]
        await store.receive(events)
        again = replace(drawn, memory=replace(drawn.memory, episode_id=kept))
        await store.append([alone, again], origin=ORIGIN)
        assert [each.text for each in await store.memories()] == ["look twice"]


@pytest.mark.parametrize(("author", "change"), [("person", "create"), ("machine", "import")])
async def test_what_a_person_wrote_or_brings_in_is_saved_also_where_all_its_episodes_are_forgotten(
    folder: Path, author: ActorKind, change: str
) -> None:
    async with Store.open(folder) as store:
        gone = await recorded(store, "gone")
        await store.forget(episode_ids=[gone], origin=ORIGIN)
        mine = replace(skill("mine", episodes=(gone,)), author=author)
        await store.append([SkillSaved(skill=mine, change=change)], origin=ORIGIN)
        assert (await store.skill(mine.id)).episodes == ()
