"""What travels and what stays, on a real sqld."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from machines import shared_rows
from msgspec.structs import replace
from rounds import sync, unheard
from sqldkit import Sqld

from prowess.server.sync.address import read_address
from prowess.server.sync.copies import _first_difference
from prowess.server.sync.cycle import Round, Sharing
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import Diverged
from prowess.server.sync.files import Files
from prowess.server.sync.hrana import Statement
from prowess.server.sync.remote import Remote
from prowess.storage import restore
from prowess.storage.events import ModelAnswered, SkillPinned, SkillSaved, SkillStatusSet
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.models import NewReward, NewStep, NewUse, Origin, Skill, SkillStep, Where
from prowess.storage.sharing import Journal
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

ORIGIN = Origin(machine="m0", client="test", session="s")
SHARING = Sharing(machine="m", person="anna")
AT = "2026-11-29T12:00:00.000Z"


def skill(key: str = "k", *, project: str = "", version: int = 1, description: str = "how") -> Skill:
    step = SkillStep(tool="bash")
    return Skill(id=key, name=key, description=description, steps=(step,), project=project, version=version)


def saved(key: str = "k", **fields: object) -> SkillSaved:
    return SkillSaved(skill=skill(key, **fields), change="create")  # type: ignore[arg-type]


async def work(store: Store, task: str, *, project: str = "shop", secret: str = "") -> str:
    where = Where(task_id=task, project=project, session="s", task=f"mend it {secret}")
    told = await store.track(
        where, [NewStep(action=f"look {secret}", tool="bash", observation=f"seen {secret}" * 3)], origin=ORIGIN
    )
    use = NewUse(skill_id="k", version=1, success=True)
    await store.score(where, [NewReward(value=5.0)], uses=[use], final=True, origin=ORIGIN)
    return told.episode_id


@asynccontextmanager
async def stores(folder: Path, count: int = 2) -> AsyncIterator[list[Store]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Store.open(folder / f"s{number}")) for number in range(count)]


async def test_the_second_machine_has_what_the_first_one_learned(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        await one.append([saved(), SkillPinned(skill_id="k", pinned=True, at=AT)], origin=ORIGIN)
        episode = await work(one, "t")
        await one.append([_bill()], origin=ORIGIN)
        await sync(one, sqld.url, sqld.token())
        told = await sync(two, sqld.url, sqld.token())
        assert told.pulled == told.newest > 0
        assert shared_rows(await two.dump()) == shared_rows(await one.dump())
        (found,) = await two.skills()
        assert (found.use_count, found.success_rate, found.pinned) == (1, 1.0, True)
        assert await two.spent() == 0.0
        # Summaries travel; what tools returned does not, unless that is wanted.
        (step,) = await two.steps(episode)
        assert (step.action.strip(), step.observation) == ("look", None)


def _bill() -> ModelAnswered:
    return ModelAnswered(
        call_id="c", at=AT, purpose="wording", model="m", input_tokens=1, output_tokens=1, cost_usd=0.5, ok=True
    )


async def test_its_own_rows_are_passed_over_at_the_next_look(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path, 1) as (one,):
        await work(one, "t")
        told = await sync(one, sqld.url, sqld.token())
        async with open_database(read_address(sqld.url), sqld.token()) as database:
            position = await one.pulled((await Remote.open(database)).id)
        assert position is not None
        assert position.pos == told.newest == 1
        head = one.head
        await sync(one, sqld.url, sqld.token())
        assert one.head == head


async def test_raw_steps_travel_where_that_is_wanted(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        episode = await work(one, "t", secret="whole")
        await sync(one, sqld.url, sqld.token(), raw=True)
        await sync(two, sqld.url, sqld.token())
        assert await two.steps(episode) == await one.steps(episode)
        # They are kept by size as one's own are.
        assert (await two.trim(days=None, max_bytes=0, origin=ORIGIN)).steps == 1


async def test_a_private_project_stays_home(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        await one.append([saved("open"), saved("closed", project="bank")], origin=ORIGIN)
        await one.append([SkillStatusSet(skill_id="closed", status="active", at=AT, reason="vault")], origin=ORIGIN)
        await work(one, "t", project="bank", secret="vault")
        await work(one, "u")
        await sync(one, sqld.url, sqld.token(), private=["bank"], raw=True)
        await sync(two, sqld.url, sqld.token())
        assert [found.id for found in await two.skills()] == ["open"]
        assert [found.project for found in await two.episodes()] == ["shop"]
        # Its use of a skill belongs to the private episode.
        assert len(await two.uses("k")) == 1
    for path in (tmp_path / "s1").rglob("*"):
        assert path.is_dir() or b"vault" not in path.read_bytes()


async def test_strangers_bring_drafts_and_decide_nothing(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path, 3) as (one, two, three):
        decided = SkillStatusSet(skill_id="k", status="active", at=AT)
        await one.append([saved(), decided, SkillPinned(skill_id="k", pinned=True, at=AT)], origin=ORIGIN)
        mine = await work(two, "mine")
        await sync(two, sqld.url, sqld.token(), person="ben")
        await sync(one, sqld.url, sqld.token())
        await one.forget(episode_ids=[mine], origin=ORIGIN)
        await sync(one, sqld.url, sqld.token())
        await sync(two, sqld.url, sqld.token(), person="ben")
        await sync(three, sqld.url, sqld.token(), person="eve", trust=["anna"])
        (told,) = await two.skills()
        assert (told.status, told.trust, told.pinned) == ("draft", "untrusted", False)
        assert [episode.id for episode in await two.episodes()] == [mine]
        (told,) = await three.skills()
        assert (told.status, told.trust, told.pinned) == ("active", "own", True)


async def test_forgetting_reaches_the_remote_and_the_others(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        episode = await work(one, "t", secret="qzxv7hk2wm")
        await two.backup(tmp_path / "copy")
        for store in (one, two):
            await sync(store, sqld.url, sqld.token(), raw=True)
        assert len(await two.steps(episode)) == 1
        await one.forget(episode_ids=[episode], origin=ORIGIN)
        for store in (one, two):
            await sync(store, sqld.url, sqld.token(), raw=True)
            assert await store.episodes() == ()
        assert await one.erasures(10) == ()
        async with stores(tmp_path / "late", 1) as (late,):
            await sync(late, sqld.url, sqld.token())
            assert await late.episodes() == ()
            assert shared_rows(await late.dump())["steps"] == []


async def test_a_skill_with_a_source_that_others_do_not_know_stays_when_another_is_forgotten(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with stores(tmp_path) as (one, two):
        sources = (await work(one, "t"), await work(one, "u", project="secret"))
        await sync(one, url, private=("secret",))  # its episode stays home, and what is drawn from it later does not
        shared = replace(skill("shared"), episodes=sources)
        await one.append([SkillSaved(skill=shared, change="create")], origin=ORIGIN)
        for store in (one, two):
            await sync(store, url)
        found = replace(skill("found"), episodes=sources[:1])  # what only the second machine has drawn from it
        await two.append([SkillSaved(skill=found, change="create")], origin=ORIGIN)
        await one.forget(episode_ids=sources[:1], origin=ORIGIN)
        for store in (one, two, two, one):
            await sync(store, url)
        assert [[known.name for known in await store.skills()] for store in (one, two)] == [["shared"], ["shared"]]


async def test_a_remote_that_was_emptied_is_filled_again_also_with_what_others_sent(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        await work(one, "t")
        await work(two, "u")
        for store in (one, two, one):
            await sync(store, sqld.url, sqld.token())
        sqld.kill()
        shutil.rmtree(sqld.folder / "data")
        sqld.start()
        await sync(two, sqld.url, sqld.token())
        async with stores(tmp_path / "late", 1) as (late,):
            # The first machine is gone; the second had its events.
            await sync(late, sqld.url, sqld.token())
            assert shared_rows(await late.dump()) == shared_rows(await two.dump())


async def test_a_remote_restored_from_an_old_backup_catches_up(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        await work(one, "before")
        for store in (one, two):
            await sync(store, sqld.url, sqld.token())
        sqld.kill()
        sqld.copy(tmp_path / "old")
        sqld.start()
        await work(one, "between")
        await work(two, "also")
        for store in (one, two, one):
            await sync(store, sqld.url, sqld.token())
        sqld.kill()
        sqld.put_back(tmp_path / "old")
        sqld.start()
        await work(two, "after")
        for store in (two, one, two):
            await sync(store, sqld.url, sqld.token())
        assert shared_rows(await one.dump()) == shared_rows(await two.dump())
        assert len(await one.episodes()) == 4
        async with stores(tmp_path / "late", 1) as (late,):
            await sync(late, sqld.url, sqld.token())
            assert shared_rows(await late.dump()) == shared_rows(await one.dump())


async def test_a_store_restored_from_a_backup_gets_back_what_it_had_sent(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        await work(one, "before")
        await one.backup(tmp_path / "copy")
        await work(one, "lost")
        for store in (one, two):
            await sync(store, sqld.url, sqld.token())
        before = shared_rows(await two.dump())
    restore.restore(tmp_path / "s0", tmp_path / "copy")
    async with stores(tmp_path) as (one, two):
        assert [episode.task_id for episode in await one.episodes()] == ["before"]
        await work(one, "new")
        for store in (one, two):
            await sync(store, sqld.url, sqld.token())
        assert {episode.task_id for episode in await one.episodes()} == {"before", "lost", "new"}
        assert shared_rows(await one.dump()) == shared_rows(await two.dump())
        assert {row["id"] for row in before["episodes"]} < {episode.id for episode in await two.episodes()}


async def test_a_copied_store_is_refused_until_it_has_a_name_of_its_own(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path, 1) as (one,):
        await work(one, "common")
        await sync(one, sqld.url, sqld.token())
    shutil.copytree(tmp_path / "s0", tmp_path / "s1")
    async with stores(tmp_path) as (one, copy):
        await work(one, "mine")
        await work(copy, "theirs")
        await work(copy, "more")
        await sync(one, sqld.url, sqld.token())
        before = await copy.dump()
        with pytest.raises(Diverged, match="was copied"):
            await sync(copy, sqld.url, sqld.token())
        assert await copy.dump() == before
        async with open_database(read_address(sqld.url), sqld.token()) as database:
            first = await _first_difference(copy, await Remote.open(database))
        await copy.begin_epoch(first)
        for store in (copy, one, copy):
            await sync(store, sqld.url, sqld.token())
        assert {episode.task_id for episode in await one.episodes()} == {"common", "mine", "theirs", "more"}
        assert shared_rows(await one.dump()) == shared_rows(await copy.dump())


async def test_two_edits_at_once_are_both_kept_and_said(sqld: Sqld, tmp_path: Path) -> None:
    async with stores(tmp_path) as (one, two):
        await one.append([saved()], origin=ORIGIN)
        for store in (one, two):
            await sync(store, sqld.url, sqld.token())
        await one.append([saved(version=2, description="as one has it")], origin=ORIGIN)
        await two.append([saved(version=2, description="as two has it")], origin=ORIGIN)
        for store in (one, two, one):
            await sync(store, sqld.url, sqld.token())
        versions = await one.versions("k")
        assert sorted((v.version, v.skill.description) for v in versions) == [
            (1, "how"),
            (2, "as one has it"),
            (2, "as two has it"),
        ]
        assert sum("at once" in v.reason for v in versions) == 1
        assert (await one.skill("k")).description == (await two.skill("k")).description


async def test_a_file_serves_as_the_remote(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/shared.db"
    async with stores(tmp_path) as (one, two):
        await work(one, "t")
        for store in (one, two):
            await sync(store, url)
        assert shared_rows(await one.dump()) == shared_rows(await two.dump())


async def test_what_cannot_be_sent_again_is_sought_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file://{tmp_path}/shared.db"
    sought: list[int] = []
    async with stores(tmp_path) as (one, two), open_database(read_address(url)) as database:
        await work(two, "theirs")
        await sync(two, url, person="ben")
        await work(one, "mine")
        await sync(one, url)
        forget = [Statement(f"DELETE FROM prowess_{table} WHERE person = 'ben'") for table in ("logs", "segments")]
        await database.batch(forget)
        journal = one.journal

        async def read(after: int, limit: int) -> Journal:
            sought.append(limit if after == 0 else 0)
            return await journal(after, limit)

        monkeypatch.setattr(one, "journal", read)
        files = Files(one.folder, database)
        whole = Round(one, await Remote.open(database), files, SHARING, Cleaner(), unheard, owners_seconds=0.0)
        await whole.run()
        assert 500 in sought
        sought.clear()
        await whole.run()
        assert 500 not in sought
