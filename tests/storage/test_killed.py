"""Programs that are killed while they keep the store in order: the next forgetting still reaches everything."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from storekit import ORIGIN, WHERE, do_everything, files, steps

from prowess.storage.alone import alone_in
from prowess.storage.manifest import read_manifest
from prowess.storage.models import NewReward
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

SECRET = "qzxv7hk2wm9tp4rj8nb3yd6fs"
SECONDS = 60.0
# Runs one call of the store, or a restore, and is killed where the function ``place`` is reached the n-th time.
PROGRAM = """
import os, signal, sys
from pathlib import Path
import anyio
from prowess.storage import backup, manifest, restore
from prowess.storage.log.file import LogFile
from prowess.storage.models import Origin
from prowess.storage.store import Store

folder, target, what, place, count = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])

def deadly(real):
    def call(*args, **options):
        global count
        count -= 1
        if not count:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    return call

def prepare():
    for holder in (backup, manifest, restore, LogFile):
        if hasattr(holder, place):
            setattr(holder, place, deadly(getattr(holder, place)))

async def main():
    async with Store.open(folder) as store:
        prepare()
        if what == "backup":
            await store.backup(target)
        else:
            await store.forget(task_id="refund", origin=Origin())

if what == "restore":
    prepare()
    restore.restore(folder, target)
else:
    anyio.run(main)
"""


def killed(folder: Path, target: Path, what: str, place: str, count: int = 1) -> None:
    words = [sys.executable, "-I", "-c", PROGRAM, str(folder), str(target), what, place, str(count)]
    done = subprocess.run(words, timeout=SECONDS, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def holders(folder: Path) -> list[str]:
    return sorted(
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and SECRET.encode() in file.read_bytes()
    )


async def filled(folder: Path) -> None:
    async with Store.open(folder) as store:
        await do_everything(store, SECRET)


@pytest.mark.parametrize(
    ("place", "listed"), [("write_manifest", False), ("save_manifest", False), ("sync_folder", True)]
)
async def test_what_is_left_of_a_backup_is_removed_or_listed_at_the_next_start(
    folder: Path, tmp_path: Path, place: str, listed: bool
) -> None:
    await filled(folder)
    copy = tmp_path / "copies" / "one"
    killed(folder, copy, "backup", place, 2 if place == "sync_folder" else 1)
    (left,) = (tmp_path / "copies").iterdir()
    assert (left.name == "one", holders(left)) == (listed, ["log.redb"])
    with alone_in(left.parent):  # another store makes a backup in the same place just now
        async with Store.open(folder) as store:
            assert await store.backups() == ((str(copy),) if listed else ())
    assert list(left.parent.iterdir()) == ([copy] if listed else [])
    async with Store.open(folder) as store:
        forgot = await store.forget(task_id="refund", origin=ORIGIN)
        assert (forgot.episodes, forgot.backups, forgot.unreachable) == (1, int(listed), ())
    assert holders(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "count"), [("erase_in", 1), ("_exchange", 1), ("save_manifest", 1), ("save_manifest", 2)]
)
async def test_forgetting_again_reaches_the_backups_that_a_killed_program_did_not(
    folder: Path, tmp_path: Path, place: str, count: int
) -> None:
    await filled(folder)
    async with Store.open(folder) as store:
        copy = await store.backup(tmp_path / "copy")
    killed(folder, copy, "forget", place, count)
    read_manifest(copy)  # whole at every moment
    async with Store.open(folder) as store:
        forgot = await store.forget(task_id="refund", origin=ORIGIN)
        assert (forgot.episodes, forgot.backups, forgot.unreachable) == (0, 1, ())
        assert await store.episodes() == ()
    assert holders(tmp_path) == []
    assert sorted(file.name for file in copy.iterdir()) == ["log.redb", "manifest.json"]
    restore(tmp_path / "elsewhere", copy)
    async with Store.open(tmp_path / "elsewhere") as store:
        assert await store.episodes() == ()


async def test_the_next_start_owes_the_backups_that_a_killed_program_did_not_reach(
    folder: Path, tmp_path: Path
) -> None:
    await filled(folder)
    async with Store.open(folder) as store:
        copy = await store.backup(tmp_path / "copy")
    killed(folder, copy, "forget", "rewrite")
    assert "log.redb" in holders(folder)
    async with Store.open(folder) as store:
        assert await store.episodes() == ()
        assert "log.redb" not in holders(folder)
        assert holders(copy) == ["log.redb"]  # whoever waits for the store does not wait for all its backups
        assert await store.owed() == (str(copy),)
        assert await store.reach_backups(await store.owed()) == 1
    assert holders(tmp_path) == []


async def test_a_log_set_aside_before_a_forgetting_was_done_is_wiped_by_the_next(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        copy = await store.backup(tmp_path / "empty")
    await filled(folder)
    async with Store.open(folder) as store:  # so much that pages with it stay in a file that is repaired
        for number in range(10):
            texts = [f"{SECRET} {number} {place} {'x' * 200}" for place in range(200)]
            await store.track(WHERE, steps(*texts), origin=ORIGIN)
    killed(folder, copy, "forget", "rewrite")
    aside = restore(folder, copy)
    assert aside is not None
    async with Store.open(folder) as store:
        await store.forget(task_id="refund", origin=ORIGIN)
        assert await store.owed() == ()
    assert holders(tmp_path) == []


async def test_a_restore_takes_over_the_backups_that_a_killed_program_did_not_reach(
    folder: Path, tmp_path: Path
) -> None:
    async with Store.open(folder) as store:
        empty = await store.backup(tmp_path / "empty")
    await filled(folder)
    async with Store.open(folder) as store:
        full = await store.backup(tmp_path / "full")
    killed(folder, full, "forget", "rewrite")
    aside = restore(folder, empty)
    async with Store.open(folder) as store:
        assert await store.episodes() == ()
        assert {str(full), str(aside)} <= {*await store.owed()}
        await store.reach_backups(await store.owed())
        assert await store.owed() == ()
    assert holders(tmp_path) == []


async def test_a_backup_that_was_away_is_reached_by_the_next_forgetting(folder: Path, tmp_path: Path) -> None:
    await filled(folder)
    async with Store.open(folder) as store:
        copy = await store.backup(tmp_path / "copy")
        copy.rename(tmp_path / "away")
        assert (await store.forget(task_id="refund", origin=ORIGIN)).unreachable == (str(copy),)
        (tmp_path / "away").rename(copy)
        assert holders(copy) == ["log.redb"]
        again = await store.forget(task_id="refund", origin=ORIGIN)
        assert (again.episodes, again.backups, again.unreachable) == (0, 1, ())
    assert holders(tmp_path) == []


async def test_a_backup_whose_disk_is_away_at_the_next_start_is_listed(folder: Path, tmp_path: Path) -> None:
    await filled(folder)
    copy = tmp_path / "disk" / "one"
    killed(folder, copy, "backup", "sync_folder", 2)
    copy.parent.rename(tmp_path / "away")
    async with Store.open(folder) as store:
        assert await store.backups() == (str(copy),)
        assert (await store.forget(task_id="refund", origin=ORIGIN)).unreachable == (str(copy),)


@pytest.mark.parametrize("place", ["_replace", "copy_file", "opened", "write_manifest", "_adopt"])
async def test_a_restore_that_was_killed_changes_nothing_and_hides_nothing(
    folder: Path, tmp_path: Path, place: str
) -> None:
    await filled(folder)
    async with Store.open(folder) as store:
        copy = await store.backup(tmp_path / "copy")
        await store.score(WHERE, [NewReward(value=-1.0, source="user")], origin=ORIGIN)
        after = await store.dump()
    killed(folder, copy, "restore", place)
    async with Store.open(folder) as store:
        assert await store.dump() == after
        assert files(folder, "*restored*") + files(folder, ".replaced-*") == []
        assert (await store.forget(task_id="refund", origin=ORIGIN)).unreachable == ()
    assert holders(tmp_path) == []
