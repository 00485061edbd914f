"""Backups that were away when something was forgotten are gone through when they are there again."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import anyio
import anyio.from_thread
import pytest
from storekit import ORIGIN, WHERE, do_everything, steps

from prowess.storage import sharing
from prowess.storage.errors import StoreUnavailable
from prowess.storage.log.foreign import Foreign, Received
from prowess.storage.log.targets import NAMES
from prowess.storage.models import Origin
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

SECRET = "quince-and-medlar"


def move(source: Path, target: Path) -> None:
    source.rename(target)


def holds(folder: Path) -> bool:
    return any(file.is_file() and SECRET.encode() in file.read_bytes() for file in folder.rglob("*"))


async def forgotten_while_away(store: Store, copy: Path, away: Path) -> None:
    """Another machine has everything forgotten while the backup ``copy`` is at ``away``."""
    move(copy, away)
    assert (await forgotten_elsewhere(store)).forgot


async def forgotten_elsewhere(store: Store) -> Received:
    """Another machine has everything forgotten."""
    episode_id = (await store.episodes())[0].id
    at = "2026-11-29T12:00:00.000Z"
    told = Foreign(
        log="00000000-0000-4000-8000-000000000001",
        epoch=1,
        seq=1,
        clock=1,
        type="payloads.forgotten",
        version=1,
        at=at,
        origin=Origin(machine="m2"),
        data={"at": at, "reason": "", **dict.fromkeys(NAMES.values(), ()), "episode_ids": (episode_id,)},
    )
    return await store.receive([told])


async def test_a_backup_that_was_away_when_another_machine_forgot_is_reached_when_it_is_back(
    folder: Path, tmp_path: Path
) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps(SECRET), origin=ORIGIN)
        copy, near = await store.backup(tmp_path / "copy"), await store.backup(tmp_path / "near")
        await forgotten_while_away(store, copy, tmp_path / "away")
        assert await store.owed() == (str(copy),)
        assert await store.reach_backups([]) == 0  # still away
        assert (holds(tmp_path / "away"), holds(near)) == (True, False)
        (tmp_path / "away").rename(copy)
    async with Store.open(folder) as store:
        assert await store.reach_backups([str(copy)]) == 1
        assert await store.owed() == ()
        assert await store.reach_backups([str(copy)]) == 0
    assert not holds(tmp_path)


async def test_a_backup_that_cannot_be_changed_is_told_and_keeps_no_other_from_it(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps(SECRET), origin=ORIGIN)
        first, second = await store.backup(tmp_path / "a"), await store.backup(tmp_path / "b")
        second.rename(tmp_path / "away2")
        await forgotten_while_away(store, first, tmp_path / "away1")
        (tmp_path / "away1").rename(first)
        (tmp_path / "away2").rename(second)
        whole = (first / "log.redb").read_bytes()
        (first / "log.redb").unlink()
        with pytest.raises(StoreUnavailable):
            await store.reach_backups(await store.owed())
        assert await store.owed() == (str(first),)
        assert not holds(second)
        (first / "log.redb").write_bytes(whole)
        assert await store.reach_backups([str(first)]) == 1
    assert not holds(tmp_path)


async def test_restoring_another_backup_does_not_lose_sight_of_it(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps(SECRET), origin=ORIGIN)
        copy, near = await store.backup(tmp_path / "copy"), await store.backup(tmp_path / "near")
        await forgotten_while_away(store, copy, tmp_path / "away")
    restore(folder, near)
    (tmp_path / "away").rename(copy)
    async with Store.open(folder) as store:
        assert await store.reach_backups([str(copy)]) == 1
    assert not holds(tmp_path)


async def test_a_backup_that_was_moved_before_a_forgetting_is_gone_through_once_it_was_restored(
    folder: Path, tmp_path: Path
) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps(SECRET), origin=ORIGIN)
        copy = await store.backup(tmp_path / "copy")
        await forgotten_while_away(store, copy, tmp_path / "moved")
    restore(folder, tmp_path / "moved")
    async with Store.open(folder) as store:
        assert await store.owed() == (str(copy), str(tmp_path / "moved"))
        assert await store.reach_backups([str(tmp_path / "moved")]) == 1
    assert not holds(tmp_path)


async def test_a_disk_that_fails_keeps_no_other_backup_from_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_file = Path.is_file

    def answered(path: Path) -> bool:
        if tmp_path / "a" in path.parents:
            raise OSError(errno.EIO, "Input/output error")
        return is_file(path)

    async with Store.open(folder) as store:
        episode_id = (await store.track(WHERE, steps(SECRET), origin=ORIGIN)).episode_id
        failing, whole = await store.backup(tmp_path / "a"), await store.backup(tmp_path / "b")
        with monkeypatch.context() as patch:
            patch.setattr(Path, "is_file", answered)
            forgot = await store.forget(episode_ids=[episode_id], origin=ORIGIN)
        assert forgot.unreachable == await store.owed() == (str(failing),)
    assert (holds(failing), holds(whole)) == (True, False)


async def test_a_backup_that_was_away_at_a_start_that_finished_the_forgetting_is_not_lost_sight_of(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prowess.storage.log.file import LogFile

    def fail(*_: object) -> None:
        raise StoreUnavailable("the disk went away", hint="-")

    async with Store.open(folder) as store:
        episode_id = await do_everything(store, SECRET)
        copy = await store.backup(tmp_path / "copy")
        copy.rename(tmp_path / "away")
        with monkeypatch.context() as patch:
            patch.setattr(LogFile, "rewrite", fail)
            with pytest.raises(StoreUnavailable):
                await store.forget(episode_ids=[episode_id], origin=ORIGIN)
    async with Store.open(folder) as store:
        assert await store.owed() == (str(copy),)


async def test_a_deleted_backup_is_owed_nothing(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps(SECRET), origin=ORIGIN)
        copy = await store.backup(tmp_path / "copy")
        await forgotten_while_away(store, copy, tmp_path / "away")
        await store.drop_backup(copy)
        assert await store.owed() == ()


async def test_what_another_machine_forgot_is_erased_although_who_told_it_is_gone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps(SECRET), origin=ORIGIN)
        copy = await store.backup(tmp_path / "copy")
        with anyio.CancelScope() as scope:
            monkeypatch.setattr(sharing, "_check_room", lambda engine: anyio.from_thread.run_sync(scope.cancel))
            await forgotten_elsewhere(store)
        assert not holds(copy)
    assert not holds(folder)


async def test_what_was_deleted_in_the_log_s_own_folder_is_not_asked_for_unless_it_comes_back(
    folder: Path, tmp_path: Path
) -> None:
    async with Store.open(folder) as store:
        await do_everything(store)
        inside, outside = [await store.backup(place) for place in (folder / "inside", tmp_path / "outside")]
        copy = shutil.copytree(inside, tmp_path / "copy")
        for path in (inside, outside):
            shutil.rmtree(path)
        forgot = await store.forget(episode_ids=[(await store.episodes())[0].id], origin=ORIGIN)
        assert forgot.unreachable == await store.owed() == (str(outside),)
        move(copy, inside)
        assert await store.owed() == (str(outside), str(inside))
        assert await store.reach_backups([str(inside)]) == 1
        assert await store.owed() == (str(outside),)
