"""Marks on what stays on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from storekit import AT, ORIGIN, skill

from prowess.storage.events import PrivacySet, SkillSaved
from prowess.storage.log.private import Private
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


def _marked(*names: str, private: bool = True) -> PrivacySet:
    return PrivacySet(at=AT, private=private, skill_ids=names, memory_ids=("m",))


async def test_a_mark_stays_until_it_is_taken_away(folder: Path) -> None:
    async with Store.open(folder) as store:
        assert await store.private() == Private()
        await store.append([_marked("a", "b")], origin=ORIGIN)
        await store.append([_marked("c"), _marked("a", private=False)], origin=ORIGIN)
        wanted = Private(skill_ids=frozenset({"b", "c"}), memory_ids=frozenset())
        assert await store.private() == wanted
        assert (await store.journal(0, 0)).private == wanted
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
    async with Store.open(folder) as store:
        assert await store.private() == wanted


async def test_a_mark_outlives_what_it_is_on(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.append([SkillSaved(skill=skill("refund"), change="create"), _marked("skill-refund")], origin=ORIGIN)
        await store.forget(skill_ids=["skill-refund"], origin=ORIGIN)
        assert (await store.private()).skill_ids == {"skill-refund"}


async def test_what_was_marked_since_a_backup_stays_so_when_it_is_restored(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.append([_marked("early")], origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
        await store.append([_marked("late"), _marked("early", private=False)], origin=ORIGIN)
    restore(folder, made)
    async with Store.open(folder) as store:
        found = await store.private()
        assert (found.skill_ids, found.memory_ids) == ({"early", "late"}, {"m"})
        await store.verify()
        await store.append([_marked("late", private=False)], origin=ORIGIN)
        assert (await store.private()).skill_ids == {"early"}
