"""Restoring on a disk that has no room for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from storekit import ORIGIN, WHERE, files

from prowess.storage.errors import StoreUnavailable
from prowess.storage.models import NewStep
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

ROOM = 3 << 20  # bytes beside two logs: not enough for the copy without what was forgotten


async def test_a_restore_that_fails_takes_no_room_and_can_be_tried_again(
    small_disk: Callable[[str], Path], remount: Callable[[Path, str], None], tmp_path: Path
) -> None:
    place = small_disk("size=200m")
    folder, copy = place / "store", tmp_path / "copy"
    big = [NewStep(action="a", observation=os.urandom(100_000).hex()) for _ in range(60)]
    async with Store.open(folder) as store:
        await store.track(WHERE, big, origin=ORIGIN)
        kept = await store.track(type(WHERE)(task_id="kept"), big[:50], origin=ORIGIN)
        made = await store.backup(tmp_path / "made")
        shutil.copytree(made, copy)  # as on a disk that was away when it was forgotten
        await store.forget(task_id=WHERE.task_id, origin=ORIGIN)
    before = files(folder, "*")
    needed = sum((log / "log.redb").stat().st_size for log in (folder, copy))
    remount(place, f"size={shutil.disk_usage(place).used + needed + ROOM}")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            restore(folder, copy)
        assert files(folder, "*") == before
    remount(place, "size=200m")
    aside = restore(folder, copy)
    assert aside is not None
    async with Store.open(folder) as store:
        assert [episode.id for episode in await store.episodes()] == [kept.episode_id]
        assert str(aside) in await store.backups()
