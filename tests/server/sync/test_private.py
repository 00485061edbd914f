"""What is marked as private stays on its machine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from machines import Cloud, Machine, machines

from prowess.server.sync.copies import _is_here
from prowess.server.sync.outgoing import foreign_entries
from prowess.server.sync.segment import Shared, decode_segment
from prowess.storage.events import (
    Event,
    ExposureMade,
    MemoryDeleted,
    MemorySaved,
    PrivacySet,
    SkillPinned,
    SkillSaved,
    SkillStatusSet,
    SkillTrialEnded,
)
from prowess.storage.models import ExposedSkill, Exposure, Memory, NewReward, NewStep, NewUse, Skill, SkillStep, Where

pytestmark = pytest.mark.anyio

AT = "2026-11-29T12:00:00.000Z"
WHERE = Where(task_id="t", project="shop", session="s", task="t")


def _saved(key: str, *, version: int = 1, parts: tuple[str, ...] = (), text: str = "") -> SkillSaved:
    steps = (SkillStep(tool="bash"), *(SkillStep(skill=part) for part in parts))
    skill = Skill(id=key, name=key, description=f"how to {key} {text}", steps=steps, version=version, project="shop")
    return SkillSaved(skill=skill, change="create")


def _mark(*, off: bool = False) -> PrivacySet:
    return PrivacySet(at=AT, private=not off, skill_ids=("vault",), memory_ids=("vault-memory",))


def _shown(name: str, *skills: str) -> ExposureMade:
    shown = tuple(ExposedSkill(skill_id=key, version=1, rank=rank, score=0.5) for rank, key in enumerate(skills, 1))
    return ExposureMade(exposure=Exposure(id=name, at=AT, query="q", project="shop", skills=shown))


def _remembered(key: str, text: str) -> MemorySaved:
    return MemorySaved(memory=Memory(id=key, kind="lesson", text=text, at=AT))


async def _append(machine: Machine, *events: Event) -> None:
    await machine.store.append(events, origin=machine.origin)


async def _everything_about_it(machine: Machine) -> None:
    """One of all that may tell of a skill or a memory."""
    await _append(
        machine,
        _saved("open"),
        _saved("vault"),
        _saved("vault", version=2, text="better"),
        _saved("whole", parts=("vault",), text="with the vault"),
        SkillStatusSet(skill_id="vault", status="active", at=AT, reason="the vault works"),
        SkillPinned(skill_id="vault", pinned=True, at=AT),
        SkillTrialEnded(skill_id="vault", at=AT),
        _shown("e1", "vault"),
        _shown("e2", "open", "vault"),
        _shown("nothing-found"),
        _remembered("vault-memory", "the vault is blue"),
        _remembered("other", "look first"),
    )
    await machine.store.track(WHERE, [NewStep(action="look")], origin=machine.origin)
    uses = [NewUse(skill_id=key, version=1, success=True) for key in ("vault", "open")]
    await machine.store.score(WHERE, [NewReward(value=5.0)], uses=uses, final=True, origin=machine.origin)
    await _append(machine, MemoryDeleted(memory_id="vault-memory", at=AT))


def _sent(cloud: Cloud) -> list[Shared]:
    return [event for segment in cloud.segments for event in decode_segment(segment.data)]


def _about(events: list[Shared], word: str) -> list[Shared]:
    return [event for event in events if word in repr(event.data)]


async def test_of_what_was_marked_before_the_first_push_nothing_leaves(tmp_path: Path) -> None:
    cloud = Cloud()
    async with machines(tmp_path, 2) as (one, two):
        await _append(one, _mark())
        await _everything_about_it(one)
        await one.push(cloud)
        assert _about(_sent(cloud), "vault") == []
        assert "privacy.set" not in {event.type for event in _sent(cloud)}
        await two.pull(cloud)
        assert [skill.id for skill in await two.store.skills()] == ["open"]
        assert [memory.id for memory in await two.store.memories()] == ["other"]
        exposures = {made.id: [each.skill_id for each in made.skills] for made in await two.store.exposures()}
        assert exposures == {"e2": ["open"], "nothing-found": []}
        assert (await two.store.skill("open")).use_count == 1
        # Here it is all there.
        assert {skill.id for skill in await one.store.skills()} == {"open", "vault", "whole"}


async def test_what_was_sent_before_is_not_called_back_and_nothing_follows(tmp_path: Path) -> None:
    cloud = Cloud()
    async with machines(tmp_path, 2) as (one, two):
        await _append(one, _saved("vault"))
        await one.push(cloud)
        await _append(one, _mark(), _saved("vault", version=2, text="better"))
        await one.push(cloud)
        await two.pull(cloud)
        assert (await two.store.skill("vault")).version == 1
        # Forgetting reaches those who have it.
        await one.store.forget(skill_ids=["vault"], origin=one.origin)
        await one.push(cloud)
        await two.pull(cloud)
        assert await two.store.skills() == ()


async def test_without_the_mark_it_is_told_as_it_is_from_then_on(tmp_path: Path) -> None:
    cloud = Cloud()
    async with machines(tmp_path, 2) as (one, two):
        await _append(one, _mark(), _saved("vault"))
        await one.push(cloud)
        await _append(one, _mark(off=True), _saved("vault", version=2, text="for all"))
        await one.push(cloud)
        await two.pull(cloud)
        assert [version.version for version in await two.store.versions("vault")] == [2]


async def test_the_word_of_others_about_it_is_not_sent_on_either(tmp_path: Path) -> None:
    cloud = Cloud()
    async with machines(tmp_path, 2) as (one, two):
        await _everything_about_it(two)
        await two.push(cloud)
        await one.pull(cloud)
        journal = await one.store.journal(0, 1_000)
        assert _about([event for *_, event in foreign_entries(journal)], "vault") != []
        await _append(one, _mark())
        journal = await one.store.journal(0, 1_000)
        assert _about([event for *_, event in foreign_entries(journal)], "vault") == []


async def test_a_mark_makes_no_copy_of_a_store_another_one(tmp_path: Path) -> None:
    cloud = Cloud()
    async with machines(tmp_path, 1) as (one,):
        await _everything_about_it(one)
        await one.push(cloud)
        before = _sent(cloud)
        await _append(one, _mark())
        one.pushed, one.lamport = 0, 0
        await one.push(cloud)
        after = _sent(cloud)[len(before) :]
        assert 0 < len(after) < len(before)
        for event in (*before, *after):
            assert await _is_here(one.store, event), event.type
        assert not await _is_here(one.store, before[0]._replace(data={**_data(before[0]), "change": "another"}))


def _data(event: Shared) -> dict[str, Any]:
    assert event.data is not None
    return event.data


@pytest.mark.parametrize("seed", range(4))
async def test_machines_are_alike_in_what_they_were_told(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    cloud = Cloud()
    async with machines(tmp_path, 3) as found:
        mark = PrivacySet(at=AT, private=True, skill_ids=("skill-0",))
        await _append(found[0], mark)
        for _ in range(40):
            machine = chance.choice(found)
            await machine.act(chance)
            if chance.random() < 0.4:
                await machine.push(cloud, chance.randint(1, 8))
            await chance.choice(found).pull(cloud, chance.randint(0, 2))
        before = -1
        while before != len(cloud.segments):
            before = len(cloud.segments)
            for machine in found:
                await machine.push(cloud)
            for machine in found:
                await machine.pull(cloud)
        marked, *others = [await machine.dump() for machine in found]
        assert others[0] == others[1]
        for table in ("episodes", "steps", "rewards", "memories", "tombstones"):
            assert marked[table] == others[0][table], table
        [log] = {(await found[0].store.journal(0, 0)).log}
        own = [event for told in cloud.segments if told.log == log for event in decode_segment(told.data)]
        told = [event for event in own if event.type != "payloads.forgotten"]
        assert _about(told, "skill-0") == []
        await found[0].store.rebuild()
        assert await found[0].dump() == marked
