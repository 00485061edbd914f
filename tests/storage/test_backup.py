from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import numpy as np
import pytest
from storekit import AT, ORIGIN, WHERE, Clock, do_everything, explained, files, open_log, skill, sql, steps

from prowess.storage import restore as restoring
from prowess.storage.alone import alone_in
from prowess.storage.backup import begin, building
from prowess.storage.catalog import Catalog
from prowess.storage.errors import InvalidInput, StoreBusy, StoreDamaged, StoreInUse, StoreUnavailable, UnknownBackup
from prowess.storage.events import ControllerAdopted, SkillSaved
from prowess.storage.log import file
from prowess.storage.log.batch import View
from prowess.storage.log.tables import META, SCHEMA
from prowess.storage.manifest import Manifest, read_manifest
from prowess.storage.models import NewReward, Where
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


async def test_a_restored_store_is_as_it_was(folder: Path, tmp_path: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        episode_id = await do_everything(store)
        before, raw = await store.dump(), await store.steps(episode_id)
        made = await store.backup(tmp_path / "copy")
        assert made == tmp_path / "copy"
        await store.track(Where(task_id="later"), steps("a"), origin=ORIGIN)
        assert await store.dump() != before
    aside = restore(folder, made)
    async with Store.open(folder, clock=clock) as store:
        assert await store.dump() == before
        assert await store.steps(episode_id) == raw
        assert set(await store.backups()) == {str(made), str(aside)}
    assert aside is not None
    restore(folder, aside)
    async with Store.open(folder, clock=clock) as store:
        assert len(await store.episodes()) == 2


async def test_a_backup_can_be_restored_to_an_empty_folder(folder: Path, tmp_path: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        await do_everything(store)
        before = await store.dump()
        made = await store.backup(tmp_path / "copy")
    assert restore(tmp_path / "new", made) is None
    async with Store.open(tmp_path / "new", clock=clock) as store:
        assert await store.dump() == before


async def test_vectors_of_what_a_restored_backup_does_not_have_are_gone(folder: Path, tmp_path: Path) -> None:
    async def embedded(store: Store, *names: str) -> None:
        await store.append([SkillSaved(skill=skill(name), change="create") for name in names], origin=ORIGIN)
        ids = [f"skill-{name}" for name in names]
        vectors = np.ones((len(ids), 2), np.float32)
        await store.save_embeddings("skill", "m", ids, vectors)

    async with Store.open(folder) as store:
        await embedded(store, "old")
        made = await store.backup(tmp_path / "copy")
        await embedded(store, "late", "later")
    restore(folder, made)
    async with Store.open(folder) as store:
        assert [each.name for each in await store.skills()] == ["old"]
        assert len(await store.dense("skill", np.ones(2, np.float32), limit=5, model="m")) == 1
        assert sql(folder / "catalog.db", "SELECT id FROM embeddings") == [("skill-old",)]
        await embedded(store, "late")
        assert len(await store.dense("skill", np.ones(2, np.float32), limit=5, model="m")) == 2
    assert sql(folder / "catalog.db", "PRAGMA user_version") == [(0,)]


@pytest.mark.parametrize("failure", [StoreUnavailable("full", hint="-"), KeyError("a bug")], ids=["disk", "defect"])
async def test_what_keeps_the_catalog_behind_prevents_no_backup(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise failure

    for name in ("bbb", "ccc"):
        (folder / "memskill" / "banks" / name).mkdir(parents=True)
    async with Store.open(folder) as store:
        await store.append([ControllerAdopted(project="shop", at=AT, bank="bbb")], origin=ORIGIN)
        assert len(await store.adopted()) == 1
        with monkeypatch.context() as patch:
            patch.setattr(Catalog, "apply", refuse)
            await store.append([ControllerAdopted(project="inn", at=AT, bank="ccc")], origin=ORIGIN)
            made = await store.backup(tmp_path / "copy")
            assert read_manifest(made).seq == 2
    assert sorted(path.name for path in (made / "memskill" / "banks").iterdir()) == ["bbb", "ccc"]


async def test_a_backup_goes_to_another_disk_than_the_full_one(
    small_disk: Callable[[str], Path], tmp_path: Path
) -> None:
    disk = small_disk("size=24m")
    async with Store.open(disk / "store") as store:
        for _ in range(20):  # after which there are free pages in the log: where the backup is goes into it
            await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.stats()
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "ballast").write_bytes(bytes(free))
    async with Store.open(disk / "store") as store:
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            await store.caught_up()
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            await store.backup(disk / "copy")
        made = await store.backup(tmp_path / "copy")
        assert await store.backups() == (str(made),)
    restore(tmp_path / "new", made)
    async with Store.open(tmp_path / "new") as store:
        assert (await store.stats()).steps == 20


async def test_where_no_folder_can_be_made_no_backup_is_listed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").symlink_to(tmp_path / "away")  # as where a disk is mounted
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        with pytest.raises(StoreUnavailable):
            await store.backup(tmp_path / "disk" / "copy")
        assert await store.backups() == ()


async def test_each_restore_starts_an_epoch_of_its_own(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
    epochs = []
    for action in ("b", "c"):
        restore(folder, made)
        async with Store.open(folder) as store:
            await store.track(WHERE, steps(action), origin=ORIGIN)
            found = await store.find_episode(WHERE)
            assert found is not None
            assert [s.action for s in await store.summaries(found.id)] == ["a", action]
        with open_log(folder / "log.redb") as file:
            epochs.append(file.epoch)
    assert 1 < epochs[0] < epochs[1]


async def test_a_backup_made_while_others_write_is_whole(folder: Path, tmp_path: Path) -> None:
    async def write(store: Store, name: int) -> None:
        for turn in range(15):
            await store.track(Where(task_id=f"t{name}"), steps(f"{turn}"), origin=ORIGIN)

    async with Store.open(folder) as store, anyio.create_task_group() as tasks:
        for name in range(4):
            tasks.start_soon(write, store, name)
        made = [await store.backup(tmp_path / f"copy{number}") for number in range(3)]
    for copy in made:
        manifest = read_manifest(copy)
        restore(tmp_path / copy.name / "store", copy)
        async with Store.open(tmp_path / copy.name / "store") as store:
            assert (await store.stats()).steps + (await store.stats()).episodes == manifest.seq


async def test_the_manifest_says_what_is_in_the_backup(folder: Path, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "copies").mkdir()
    async with Store.open(folder, clock=clock) as store:
        told = await store.track(WHERE, steps("a"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copies")
    assert made == tmp_path / "copies" / "prowess-20261129T120000000000Z"
    assert sorted(file.name for file in made.iterdir()) == ["log.redb", "manifest.json"]
    manifest = read_manifest(made)
    assert isinstance(manifest, Manifest)
    facts = (manifest.seq, manifest.schema, manifest.epoch, manifest.size)
    assert facts == (told.seq, SCHEMA, 1, (made / "log.redb").stat().st_size)


async def test_an_altered_backup_is_refused_and_the_store_stays(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
    raw = bytearray((made / "log.redb").read_bytes())
    raw[5000] ^= 1
    (made / "log.redb").write_bytes(raw)
    with pytest.raises(StoreDamaged, match="altered") as raised:
        restore(folder, made)
    explained(raised.value)
    (made / "manifest.json").write_text("{}")
    with pytest.raises(StoreDamaged):
        restore(folder, made)
    async with Store.open(folder) as store:
        assert (await store.stats()).steps == 1


async def test_what_is_no_backup_is_refused(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        made = await store.backup(tmp_path / "kept")
    with pytest.raises(UnknownBackup, match=r"is no backup: there is no manifest\.json in it") as raised:
        restore(folder, folder)
    assert explained(raised.value).endswith("with log.redb and manifest.json")
    with pytest.raises(UnknownBackup) as raised:
        restore(folder, tmp_path)
    assert explained(raised.value).endswith(f"the newest in this folder is {made}")


async def test_an_open_store_cannot_be_replaced(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        made = await store.backup(tmp_path / "copy")
        with pytest.raises(StoreInUse):
            restore(folder, made)
        assert (await store.track(WHERE, steps("a"), origin=ORIGIN)).seq == 2


async def test_a_damaged_log_is_kept_when_it_is_replaced(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
    (folder / "log.redb").write_bytes(b"garbage")
    aside = restore(folder, made)
    assert aside is not None
    assert (aside / "log.redb").read_bytes() == b"garbage"
    async with Store.open(folder) as store:
        assert (await store.stats()).steps == 1


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
async def test_copies_hold_every_row(
    folder: Path, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(file, "COPY_ROWS", rows)
    async with Store.open(folder, clock=clock) as store:
        await do_everything(store)
        told = await store.track(WHERE, steps(*(f"a{n}" for n in range(25))), origin=ORIGIN)
        before, raw = await store.dump(), await store.steps(told.episode_id)
        made = await store.backup(tmp_path / "copy")
    restore(folder, made)
    async with Store.open(folder, clock=clock) as store:
        assert await store.dump() == before
        assert await store.steps(told.episode_id) == raw


async def test_a_backup_never_overwrites(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    async with Store.open(folder) as store:
        with pytest.raises(InvalidInput, match="exists"):
            await store.backup(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "x"


async def test_a_dropped_backup_is_gone_from_disk_and_list(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        first, second = await store.backup(tmp_path / "first"), await store.backup(tmp_path / "second")
        (second / "mine.txt").write_text("a person's own file")
        await store.drop_backup(first)
        await store.drop_backup(second)
        assert await store.backups() == ()
    assert not first.exists()
    assert [path.name for path in second.iterdir()] == ["mine.txt"]


async def test_a_mark_goes_with_the_journal_into_a_backup_and_back(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        assert await store.mark("done") == 0
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.set_mark("done", store.head)
        made, marked, head = await store.backup(tmp_path / "copy"), await store.mark("done"), store.head
        assert marked == head == 2
        await store.set_mark("done", 99)
    async with Store.open(folder) as store:
        assert (await store.mark("done"), await store.mark("other"), store.head) == (99, 0, head)
    restore(folder, made)
    async with Store.open(folder) as store:
        assert await store.mark("done") == marked


async def test_newly_scored_episodes_are_counted_by_project(folder: Path) -> None:
    async with Store.open(folder) as store:
        for number, (project, reward) in enumerate([("a", 1.0), ("a", 2.0), ("b", 3.0), ("b", None)]):
            where = Where(task_id=f"t{number}", project=project)
            await store.track(where, steps("x"), origin=ORIGIN)
            await store.score(where, [NewReward(value=reward)], origin=ORIGIN)
        assert await store.newly_scored(0) == {"a": 2, "b": 1}
        seen = store.head
        await store.score(Where(task_id="t3", project="b"), [NewReward(value=4.0)], origin=ORIGIN)
        assert await store.newly_scored(seen) == {"b": 1}
        assert await store.newly_scored(store.head) == {}


async def test_a_restore_that_cannot_read_the_old_log_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store.open(folder) as store:
        await do_everything(store)
        made = await store.backup(tmp_path / "copy")
        await store.forget(task_id="refund", origin=ORIGIN)
    before = files(folder, "*")

    def full(view: object) -> None:
        raise StoreUnavailable("the disk is full", hint="free some space")

    with monkeypatch.context() as patch:
        patch.setattr(restoring, "forgotten_before", full)
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            restore(folder, made)
    assert files(folder, "*") == before
    async with Store.open(folder) as store:
        assert await store.episodes() == ()


@pytest.mark.skipif(sys.platform != "linux", reason="tells the name of an open file by /proc")
async def test_what_takes_a_name_is_on_disk_before(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[Path] = set()
    fsync = os.fsync

    def told(descriptor: int) -> None:
        synced.add(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", told)
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
    assert building(made, read_manifest(made).log_id) / "manifest.json.part" in synced
    aside = restore(folder, made)
    assert aside is not None
    copy = aside.with_name(f".{aside.name}.part")
    assert {copy / "log.redb", copy / "manifest.json.part"} <= synced


@pytest.mark.parametrize(
    ("fact", "content"), [("schema", b"\xc1"), ("backups", b"\xc1"), ("id", b"\xa1x"), ("epochs", b"\x91\x01")]
)
async def test_a_log_whose_own_facts_are_damaged_says_so_and_gives_way_to_a_backup(
    folder: Path, tmp_path: Path, fact: str, content: bytes
) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
    with open_log(folder / "log.redb") as log, log.write() as transaction:
        View(transaction).table(META).insert(fact, content)
    with pytest.raises(StoreDamaged):
        async with Store.open(folder) as store:
            await store.backups()
    restore(folder, made)
    async with Store.open(folder) as store:
        assert len(await store.episodes()) == 1


async def test_two_stores_that_make_a_backup_in_one_place_are_not_in_each_others_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, export = tmp_path / "copies" / "one", file.LogFile.export
    async with Store.open(tmp_path / "a") as one, Store.open(tmp_path / "b") as two:
        await one.track(WHERE, steps("one"), origin=ORIGIN)
        busy: list[StoreBusy] = []

        async def meanwhile() -> None:
            try:
                await two.backup(target)
            except StoreBusy as error:
                busy.append(error)

        def copied(log: file.LogFile, *about: Any) -> None:
            export(log, *about)
            monkeypatch.undo()
            anyio.from_thread.run(meanwhile)

        monkeypatch.setattr(file.LogFile, "export", copied)
        assert await one.backup(target) == target
        assert "another store" in explained(busy[0])
        assert (await one.backups(), await two.backups()) == ((str(target),), ())
        assert await two.backup(target) != target
    restore(tmp_path / "new", target)
    async with Store.open(tmp_path / "new") as store:
        assert [step.action for step in await store.steps((await store.episodes())[0].id)] == ["one"]


async def test_a_backup_that_another_store_made_in_the_place_of_an_unfinished_one_stays_its_own(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "a") as one:
        await one.track(WHERE, steps("a"), origin=ORIGIN)
    with open_log(tmp_path / "a" / "log.redb") as log, log.write() as transaction:
        begin(View(transaction), tmp_path / "copy")  # and the program was killed
    async with Store.open(tmp_path / "b") as two:
        made = await two.backup(tmp_path / "copy")
    async with Store.open(tmp_path / "a") as one, Store.open(tmp_path / "b") as two:
        assert (await one.backups(), await two.backups()) == ((), (str(made),))


@pytest.mark.skipif(sys.platform == "win32", reason="no folder can be locked")
async def test_a_backup_is_made_where_the_file_system_locks_no_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    flock = fcntl.flock

    def refuse(descriptor: Any, how: int) -> None:
        if isinstance(descriptor, int) and stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(descriptor, how)

    async with Store.open(folder) as store:
        monkeypatch.setattr(fcntl, "flock", refuse)
        assert await store.backup(tmp_path / "copy") == tmp_path / "copy"


async def test_a_backup_in_which_another_store_erases_is_gone_through_later(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        made = await store.backup(tmp_path / "copy")
        with alone_in(made):
            assert (await store.forget(project="shop", origin=ORIGIN)).unreachable == (str(made),)
        assert await store.owed() == (str(made),)
        assert await store.reach_backups([str(made)]) == 1
        assert await store.owed() == ()
