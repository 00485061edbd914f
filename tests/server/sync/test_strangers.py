"""What somebody who is not trusted can do here with what they write to the remote."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from machines import Cloud, Machine, forgery, machines
from msgspec.structs import replace

from prowess.storage.catalog import read_trajectories
from prowess.storage.events import (
    EpisodeDescribed,
    Event,
    Forgotten,
    MemorySaved,
    RewardScored,
    SkillPinned,
    SkillSaved,
    SkillStatusSet,
    StepTracked,
)
from prowess.storage.ids import new_id
from prowess.storage.models import EpisodeFilter, Memory, NewReward, NewStep, NewUse, Reward, Skill, SkillStep, Where

pytestmark = pytest.mark.anyio

AT = "2026-11-29T12:00:00.000Z"
ORDERS = ["mine first", "theirs first"]


@asynccontextmanager
async def _three(folder: Path) -> AsyncIterator[tuple[Machine, Machine, Machine]]:
    """A machine, its stranger, and a friend of the machine."""
    async with machines(folder, 3) as (mine, theirs, friend):
        yield mine, theirs, friend


def _saved(version: int, description: str, status: str = "active") -> SkillSaved:
    skill = Skill(
        id="k",
        name="k",
        description=description,
        steps=(SkillStep(tool="bash"),),
        version=version,
        status=status,  # type: ignore[arg-type]
    )
    return SkillSaved(skill=skill, change="create")


async def _told(machine: Machine, *events: Event) -> Cloud:
    await machine.store.append(events, origin=machine.origin)
    cloud = Cloud()
    machine.pushed = 0
    machine.lamport = 0
    await machine.push(cloud)
    return cloud


async def _grow_old(machine: Machine, events: int) -> None:
    """So that its Lamport time is ahead of the others'."""
    pinned = SkillPinned(skill_id="another", pinned=True, at=AT)
    await machine.store.append([pinned] * events, origin=machine.origin)


async def _hear(machine: Machine, cloud: Cloud, *, trusted: bool) -> None:
    machine.read = 0
    await machine.pull(cloud, trusted=trusted)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("late", [False, True])
async def test_a_stranger_replaces_no_skill_of_mine(tmp_path: Path, order: str, late: bool) -> None:
    async with _three(tmp_path) as (mine, theirs, friend):
        await _grow_old(theirs, 40 if late else 0)
        evil = await _told(theirs, _saved(9, "evil"), SkillStatusSet(skill_id="k", status="active", at=AT))
        if order == "theirs first":
            await _hear(mine, evil, trusted=False)
        good = await _told(mine, _saved(1, "good"), _saved(2, "better"))
        await _hear(mine, evil, trusted=False)
        for told, trusted in [(evil, False), (good, True)][:: 1 if order == "theirs first" else -1]:
            await _hear(friend, told, trusted=trusted)
        for machine in (mine, friend):
            skill = await machine.store.skill("k")
            assert (skill.description, skill.status, skill.trust) == ("better", "active", "own")
            # The stranger's is kept beside it, as a draft.
            versions = {told.version: told.skill for told in await machine.store.versions("k")}
            assert (versions[9].status, versions[9].trust) == ("draft", "untrusted")
        before = await mine.dump()
        await mine.store.rebuild()
        assert await mine.dump() == before


async def test_a_strangers_draft_is_accepted_by_its_text_and_not_by_its_id(tmp_path: Path) -> None:
    async with _three(tmp_path) as (mine, theirs, friend):
        for version, text in ((1, "harmless"), (2, "still a draft")):
            await _hear(mine, await _told(theirs, _saved(version, text)), trusted=False)
            skill = await mine.store.skill("k")
            assert (skill.version, skill.status) == (version, "draft")
        active = SkillStatusSet(skill_id="k", status="active", at=AT)
        await mine.store.append([active], origin=mine.origin)
        assert (await mine.store.skill("k")).status == "draft"
        accepted = SkillSaved(skill=replace(skill, version=3, status="active"), change="restore")
        await mine.store.append([accepted], origin=mine.origin)
        # Whatever they make of it, before or after that by the clock, it does not come into force.
        evil = await _told(theirs, _saved(9, "evil"))
        good = Cloud()
        await mine.push(good)
        await _hear(mine, evil, trusted=False)
        await _hear(friend, evil, trusted=False)
        await _hear(friend, good, trusted=True)
        for machine in (mine, friend):
            skill = await machine.store.skill("k")
            assert (skill.description, skill.status) == ("still a draft", "active")


@pytest.mark.parametrize("order", ORDERS)
async def test_a_stranger_replaces_no_memory_of_mine(tmp_path: Path, order: str) -> None:
    async with _three(tmp_path) as (mine, theirs, friend):
        await _grow_old(theirs, 40)
        evil = await _told(theirs, MemorySaved(memory=Memory(id="m", kind="lesson", text="evil", at=AT)))
        good = await _told(mine, MemorySaved(memory=Memory(id="m", kind="lesson", text="good", at=AT)))
        for told, trusted in [(good, True), (evil, False)][:: 1 if order == "mine first" else -1]:
            await _hear(friend, told, trusted=trusted)
        (memory,) = await friend.store.memories()
        assert (memory.text, memory.trust) == ("good", "own")


async def test_a_stranger_tells_nothing_of_the_episodes_of_others(tmp_path: Path) -> None:
    async with _three(tmp_path) as (mine, _, friend):
        where = Where(task_id="t", project="shop", session="s", task="as it was")
        told = await mine.store.track(where, [NewStep(action="look")], origin=mine.origin)
        cloud = Cloud()
        await mine.push(cloud)
        # What the program would not write about another's episode, they forge.
        forged = forgery(
            [
                EpisodeDescribed(episode_id=told.episode_id, task="evil"),
                StepTracked(episode_id=told.episode_id, number=2, at=AT, action="evil"),
                RewardScored(reward=Reward(id=new_id(), episode_id=told.episode_id, at=AT, value=-10.0)),
                Forgotten(at=AT, episode_ids=(told.episode_id,)),
            ]
        )
        await _hear(friend, cloud, trusted=True)
        before = {machine.name: await machine.dump() for machine in (mine, friend)}
        for machine in (mine, friend):
            await _hear(machine, forged, trusted=False)
            assert await machine.dump() == before[machine.name]


async def test_a_stranger_tells_of_their_own_episodes(tmp_path: Path) -> None:
    async with _three(tmp_path) as (mine, theirs, _):
        where = Where(task_id="t", project="shop", session="s", task="theirs")
        await theirs.store.track(where, [NewStep(action="look")], origin=theirs.origin)
        await theirs.store.score(where, [NewReward(value=5.0)], final=True, origin=theirs.origin)
        cloud = Cloud()
        await theirs.push(cloud)
        await _hear(mine, cloud, trusted=False)
        (episode,) = await mine.store.episodes()
        assert (episode.task, episode.steps, episode.reward) == ("theirs", 1, 5.0)
        # They can be read and found; no skill, pattern or memory is made of them, which would then be one's own.
        assert await mine.store.episodes(EpisodeFilter(trusted=True)) == ()
        assert await mine.store.episodes(EpisodeFilter(trusted=False)) == (episode,)
        assert read_trajectories(mine.store.catalog_path) == []


async def test_a_stranger_moves_no_statistics_of_skills(tmp_path: Path) -> None:
    async with _three(tmp_path) as (mine, theirs, _):
        await _told(mine, _saved(1, "good"))
        where = Where(task_id="t", project="shop", session="s", task="theirs")
        await theirs.store.track(where, [NewStep(action="look")], origin=theirs.origin)
        use = NewUse(skill_id="k", version=1, success=False)
        await theirs.store.score(where, [NewReward(value=5.0)], uses=[use], origin=theirs.origin)
        cloud = Cloud()
        await theirs.push(cloud)
        await _hear(mine, cloud, trusted=False)
        assert (await mine.store.skill("k")).use_count == 0
