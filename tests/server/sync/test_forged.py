"""What somebody with access to the remote writes there without this program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from machines import Machine, forgery, machines
from rounds import sync

from prowess.server.sync.address import read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import RemoteGarbage
from prowess.server.sync.files import Files
from prowess.server.sync.hrana import Statement
from prowess.server.sync.remote import Remote
from prowess.storage.errors import InvalidInput
from prowess.storage.events import (
    EpisodeOpened,
    Event,
    Forgotten,
    MemoryDeleted,
    MemorySaved,
    RewardScored,
    SkillPinned,
    SkillSaved,
    StepTracked,
)
from prowess.storage.ids import new_id
from prowess.storage.models import Memory, NewStep, Reward, Skill, Where

pytestmark = pytest.mark.anyio

AT = "2026-11-29T12:00:00.000Z"
ID = "01a22873-3722-7563-bca4-d5f679973c30"
PINNED = SkillPinned(skill_id="k", pinned=True, at=AT)


def _step(**changed: Any) -> StepTracked:
    return msgspec.structs.replace(StepTracked(episode_id=ID, number=1, at=AT, action="look"), **changed)


@pytest.mark.parametrize(
    ("event", "changed"),
    [
        (_step(episode_id="no id"), {}),
        (_step(episode_id=""), {}),
        (EpisodeOpened(episode_id="", project="", session="", task_id="t", attempt=1, at=AT), {}),
        (RewardScored(reward=Reward(id="r", episode_id="", at=AT, value=1.0)), {}),
        (_step(episode_id=ID.upper()), {}),
        (_step(number=0), {}),
        (_step(number=-(2**60)), {}),
        (_step(number=2**32), {}),
        (_step(action="x" * 201), {}),
        (Forgotten(at=AT, episode_ids=("no id",)), {}),
        (RewardScored(reward=Reward(id="r", episode_id=ID, at=AT, value=1e300)), {}),
        (EpisodeOpened(episode_id=ID, project="", session="", task_id="t", attempt=-1, at=AT), {}),
        (EpisodeOpened(episode_id=ID, project="", session="", task_id="t", attempt=1, at="now"), {}),
        (_step(at="0001-01-01T00:00:00+14:00"), {}),
        (PINNED, {"at": "9999-12-31T23:59:59-14:00"}),
        (EpisodeOpened(episode_id=ID, project="", session="", task_id="t", attempt=1, at=AT, task="x" * 3_000_000), {}),
        (MemorySaved(memory=Memory(id="m", kind="lesson", text="look", at="soon")), {}),
        (SkillSaved(skill=Skill(id="k", name="k", description="", steps=(), updated_at="soon"), change="create"), {}),
        (RewardScored(reward=Reward(id="r", episode_id=ID, at="soon", value=1.0)), {}),
        (PINNED, {"log": "a:b"}),
        (PINNED, {"log": "~00000000-0000-4000-8000-000000000001"}),
        (PINNED, {"epoch": -1}),
        (PINNED, {"seq": 2**62}),
        (PINNED, {"clock": 2**62}),
        (PINNED, {"clock": 0}),
        (PINNED, {"type": "foreign.received"}),
        (PINNED, {"data": {"skill_id": 7}}),
    ],
)
async def test_what_no_machine_writes_is_refused(tmp_path: Path, event: Event, changed: dict[str, Any]) -> None:
    async with machines(tmp_path, 1) as (one,):
        before = await one.dump()
        with pytest.raises(RemoteGarbage):
            await one.pull(forgery([event], **changed))
        assert (await one.dump(), one.store.head) == (before, 0)


async def test_a_single_event_does_not_use_up_the_time(tmp_path: Path) -> None:
    async with machines(tmp_path, 1) as (one,):
        with pytest.raises(InvalidInput, match="more events than can be"):
            await one.pull(forgery([PINNED], clock=2**61))
        assert one.store.head == 0
        # A stranger's is passed over, and what comes behind it is not.
        cloud = forgery([PINNED], clock=2**61)
        cloud.segments += forgery([_opened()], log="00000000-0000-4000-8000-000000000002").segments
        one.read = 0
        await one.pull(cloud, trusted=False)
        assert [episode.id for episode in await one.store.episodes()] == [ID]


@pytest.mark.parametrize("last", ["9999-12-31T23:59:59.999Z", "soon"])
async def test_no_time_of_a_skill_keeps_later_decisions_out_of_the_catalog(tmp_path: Path, last: str) -> None:
    skill = Skill(id="k", name="k", description="", steps=(), updated_at=last)
    async with machines(tmp_path, 1) as (one,):
        await one.store.append([SkillSaved(skill=skill, change="create")], origin=one.origin)
        await one.store.append([PINNED], origin=one.origin)
        (known,) = await one.store.skills()
        assert known.pinned


def _opened() -> EpisodeOpened:
    return EpisodeOpened(episode_id=ID, project="", session="", task_id="t", attempt=1, at=AT)


async def test_an_empty_name_is_a_name_like_any_other(tmp_path: Path) -> None:
    """The writer must not stop at it: whoever reads the row would not get any further."""
    async with machines(tmp_path, 1) as (one,):
        memory = Memory(id="", kind="lesson", text="look first", at=AT)
        skill = Skill(id="", name="", description="", steps=())
        told: list[Event] = [
            MemorySaved(memory=memory),
            MemoryDeleted(memory_id="", at=AT),
            SkillSaved(skill=skill, change="create"),
            SkillPinned(skill_id="", pinned=True, at=AT),
            Forgotten(at=AT, skill_ids=("",), memory_ids=("",)),
        ]
        await one.pull(forgery(told))
        assert (await one.store.skills(), await one.store.memories()) == ((), ())


async def _next_event(one: Machine) -> tuple[str, int, int]:
    journal = await one.store.journal(0, 0)
    return journal.log, journal.epochs[-1][0], journal.head + 1


async def test_the_name_of_an_event_that_is_still_to_come_cannot_be_taken(tmp_path: Path) -> None:
    async with machines(tmp_path, 1) as (one,):
        await one.store.append([PINNED], origin=one.origin)
        log, epoch, seq = await _next_event(one)
        await one.pull(forgery([_step(episode_id=new_id())], log=log, epoch=epoch, seq=seq))
        assert one.store.head == 1


async def _put(url: str, person: str, data: bytes, log: str = "00000000-0000-4000-8000-000000000001") -> None:
    row = (log, person, data)
    insert = "INSERT INTO prowess_segments (log, epoch, first, last, person, data) VALUES (?, 1, 1, 9, ?, ?)"
    async with open_database(read_address(url)) as database:
        await database.batch([Statement(insert, row)])


async def test_a_strangers_garbage_keeps_nobodys_news_away(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with machines(tmp_path, 2) as (one, two):
        await sync(two.store, url)
        await _put(url, "eve", b"no segment")
        where = Where(task_id="t", project="shop", session="s")
        await one.store.track(where, [NewStep(action="look")], origin=one.origin)
        await sync(one.store, url)
        await sync(two.store, url)
        assert len(await two.store.episodes()) == 1
        # Of those who are trusted nothing may be missed: the row is named, so that somebody can see to it.
        await _put(url, "anna", b"no segment either", log="00000000-0000-4000-8000-000000000002")
        with pytest.raises(RemoteGarbage, match=r"row [0-9]+ of prowess_segments"):
            await sync(two.store, url)


async def test_files_that_would_not_fit_into_memory_are_not_unpacked(tmp_path: Path) -> None:
    # A frame whose header promises 2^62 bytes: magic, a descriptor with an 8-byte size, the size, an empty last block.
    bomb = bytes.fromhex("28b52ffd e0") + (2**62).to_bytes(8, "little") + bytes.fromhex("010000")
    async with open_database(read_address(f"file://{tmp_path}/remote.db")) as database:
        await Remote.open(database)
        await database.batch(
            [Statement("INSERT INTO prowess_files (kind, key, data) VALUES ('banks', 'b', ?)", (bomb,))]
        )
        with pytest.raises(RemoteGarbage, match="not what they should be"):
            await Files(tmp_path, database).fetch([("banks", "b")])
