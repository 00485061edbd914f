"""A remote, or a store, that is not what it was: restored from a backup, or copied."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from machines import shared_rows
from rounds import sync

from prowess.server.sync.address import read_address
from prowess.server.sync.copies import _first_difference
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import Diverged
from prowess.server.sync.remote import Mark, Remote
from prowess.server.sync.segment import decode_segment
from prowess.storage.events import SkillSaved
from prowess.storage.models import NewReward, NewStep, Origin, Parameter, Skill, SkillStep, Where
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

ORIGIN = Origin(machine="m0", client="test", session="s")
SECRET = "qzxv7hk2wm"


async def work(store: Store, task: str, action: str = "look") -> str:
    where = Where(task_id=task, project="shop", session="s")
    return (await store.track(where, [NewStep(action=action)], origin=ORIGIN)).episode_id


async def tasks(store: Store) -> list[str]:
    return sorted(episode.task_id for episode in await store.episodes())


async def told(url: str) -> str:
    """Everything that the remote says."""
    found = []
    async with open_database(read_address(url)) as database:
        remote = await Remote.open(database)
        for log, epoch in (await remote.look(0)).marks:
            async for segment in remote.segments_of(log, epoch):
                found += [event.data for event in decode_segment(segment.data)]
    return repr(found)


async def test_what_is_sent_anew_at_the_place_of_what_was_lost_is_read(tmp_path: Path) -> None:
    file, old = tmp_path / "remote.db", tmp_path / "old.db"
    url = f"file://{file}"
    async with Store.open(tmp_path / "one") as one, Store.open(tmp_path / "two") as two:
        await work(one, "first")
        await sync(one, url)
        shutil.copy(file, old)
        await work(one, "second")
        await sync(one, url)
        await sync(two, url)
        shutil.copy(old, file)
        await work(one, "third")
        await sync(one, url)  # in one row with the second, at the place where that was alone
        await sync(two, url)
        assert await tasks(two) == ["first", "second", "third"]


async def test_what_was_forgotten_leaves_a_remote_that_is_restored_with_it(tmp_path: Path) -> None:
    file, old = tmp_path / "remote.db", tmp_path / "old.db"
    url = f"file://{file}"
    async with Store.open(tmp_path / "one") as one:
        episode = await work(one, "t", SECRET)
        await sync(one, url)
        shutil.copy(file, old)
        await one.forget(episode_ids=[episode], origin=ORIGIN)
        await sync(one, url)
        assert SECRET not in await told(url)
        shutil.copy(old, file)
        assert SECRET in await told(url)
        await sync(one, url)
        assert SECRET not in await told(url)


async def test_what_was_forgotten_before_a_backup_was_restored_leaves_the_remote(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with Store.open(tmp_path / "one") as one:
        made = await one.backup(tmp_path / "copy")
        episode = await work(one, "t", SECRET)
        await sync(one, url)
        await one.forget(episode_ids=[episode], origin=ORIGIN)  # and the remote is not reached meanwhile
    restore(tmp_path / "one", made)
    async with Store.open(tmp_path / "one") as one:
        for _ in range(2):  # one look to see that it is there
            await sync(one, url)
        assert await one.episodes() == ()
    assert SECRET not in await told(url)


async def test_a_skill_that_stays_when_a_source_of_it_is_forgotten_reaches_who_comes_late(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with Store.open(tmp_path / "one") as one, Store.open(tmp_path / "late") as late:
        sources = (await work(one, "t"), await work(one, "u"))
        parameters = (Parameter(name="order", examples=(SECRET,)),)
        step = SkillStep(tool="find")
        skill = Skill(id="k", name="k", description="", steps=(step,), parameters=parameters, episodes=sources)
        await one.append([SkillSaved(skill=skill, change="create")], origin=ORIGIN)
        await sync(one, url)
        assert SECRET in await told(url)
        await one.forget(episode_ids=sources[:1], origin=ORIGIN)
        await sync(one, url)
        assert SECRET not in await told(url)
        await sync(late, url)
        assert [found.name for found in await late.skills()] == ["k"]
        await one.forget(episode_ids=sources[1:], origin=ORIGIN)  # now it goes as well
        await sync(one, url)
        await sync(late, url)
        assert await late.skills() == await one.skills() == ()
        assert "'name': 'k'" not in await told(url)


async def test_copies_that_send_at_once_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with Store.open(tmp_path / "one") as one:
        await work(one, "common")
        await sync(one, url)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    push = Remote.push
    async with Store.open(tmp_path / "one") as one, Store.open(tmp_path / "two") as two:
        await work(one, "mine")
        await work(two, "theirs")
        await work(two, "more")

        async def late(self: Remote, *given: Any) -> Mark:
            with monkeypatch.context() as patch:
                patch.setattr(Remote, "push", push)
                await sync(one, url)  # after the other has looked, and before it sends
            return await push(self, *given)

        with monkeypatch.context() as patch:
            patch.setattr(Remote, "push", late)
            diverged = False
            try:
                await sync(two, url)
            except Diverged:
                diverged = True
        assert diverged
        async with Store.open(tmp_path / "three") as three:
            await sync(three, url)
            assert await tasks(three) == ["common", "mine"]


@pytest.mark.parametrize("first", ["old", "new"])
async def test_steps_that_a_restored_store_counts_again_are_the_same_everywhere(tmp_path: Path, first: str) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with Store.open(tmp_path / "one") as one, Store.open(tmp_path / "two") as two:
        episode = await work(one, "task", "begin")
        made = await one.backup(tmp_path / "copy")
        await work(one, "task", "zoom in")
        await sync(one, url)
        if first == "old":
            await sync(two, url)
    restore(tmp_path / "one", made)
    async with Store.open(tmp_path / "one") as one, Store.open(tmp_path / "two") as two:
        await work(one, "task", "ask")  # before it hears what it had told
        for store in (one, two, one):
            await sync(store, url)
        for store in (one, two):
            for _ in range(2):
                assert [step.action for step in await store.summaries(episode)] == ["begin", "ask"]
                assert (await store.episode(episode)).steps == 2
                assert [key for key, _ in await store.lexical("episode", "ask", limit=9)] == [episode]
                assert not await store.lexical("episode", "zoom", limit=9)
                await store.rebuild()


async def test_copies_of_a_store_that_go_on_with_one_episode_agree_on_it(tmp_path: Path) -> None:
    url, where = f"file://{tmp_path}/remote.db", Where(task_id="task", project="shop", session="s")
    async with Store.open(tmp_path / "one") as one:
        episode = await work(one, "task", "begin")
        await sync(one, url)
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    async with Store.open(tmp_path / "one") as one, Store.open(tmp_path / "copy") as copy:
        for store, reward in ((one, -3.0), (copy, 5.0)):
            await work(store, "task", f"act for {reward}")
            await store.score(where, [NewReward(value=reward)], final=True, origin=ORIGIN)
        await sync(one, url)
        async with open_database(read_address(url)) as database:
            await copy.begin_epoch(await _first_difference(copy, await Remote.open(database)))
        for store in (copy, one, copy):
            await sync(store, url)
        assert [step.action for step in await one.summaries(episode)] == ["begin", "act for 5.0"]
        assert shared_rows(await one.dump()) == shared_rows(await copy.dump())
