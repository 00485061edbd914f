"""Files that are not as they should be: each has its error, with a hint, and nothing is lost by it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
import redb
from msgspec.structs import replace
from notfiles import KINDS, put_no_file
from storekit import ORIGIN, WHERE, Clock, do_everything, explained, files, open_log, put, sql, steps

from prowess.storage.errors import InvalidInput, StoreDamaged, StoreInUse, StoreNewer, StoreUnavailable, UnknownEpisode
from prowess.storage.ids import id_bytes
from prowess.storage.log.batch import View
from prowess.storage.log.file import write_meta
from prowess.storage.log.lock import HUB, called
from prowess.storage.log.tables import EPISODES
from prowess.storage.models import NewStep
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

PAGE = 4096  # bytes of SQLite's pages

HOLDER = """
import sys, anyio
from pathlib import Path
from prowess.storage.store import Store
async def main():
    async with Store.open(Path(sys.argv[1])):
        print("open", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)
anyio.run(main)
"""


def _foreign(folder: Path) -> None:
    folder.mkdir()
    with redb.Database.create(folder / "log.redb") as database, database.begin_write() as transaction:
        transaction.open_table(redb.TableDefinition("other", key=str, value=str)).insert("a", "b")


def _linked(folder: Path, log: Path) -> Path:
    """A store whose log is a link to ``log``."""
    folder.mkdir()
    (folder / "log.redb").symlink_to(log)
    return folder


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _hold(folder: Path) -> subprocess.Popen[str]:
    """A process that has the store open until its input ends."""
    held = [sys.executable, "-I", "-c", HOLDER, str(folder)]
    return subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


async def _filled(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a", "b"), origin=ORIGIN)
        assert (await store.stats()).steps == 2


async def test_a_second_opener_in_this_process_is_told(folder: Path) -> None:
    async with Store.open(folder) as store:
        with pytest.raises(StoreInUse, match="is open in this process") as raised:
            async with Store.open(folder):
                pass
        explained(raised.value)
        assert (await store.track(WHERE, steps("a"), origin=ORIGIN)).seq == 2


@pytest.mark.parametrize(
    ("name", "told", "helps"),
    [
        (HUB, r"this process \(a hub\)\n", "`prowess hub stop` ends it"),
        ("prowess evolve", r"this process \(prowess evolve\)\n", "try again when that has ended"),
        ("", "this process\n", "if it is a hub"),
    ],
)
async def test_a_second_opener_is_told_what_has_the_store(folder: Path, name: str, told: str, helps: str) -> None:
    with called(name):
        async with Store.open(folder):
            with pytest.raises(StoreInUse, match=told) as raised:
                async with Store.open(folder):
                    pass
    assert raised.value.hint.startswith(f"nothing was done: {helps}")


async def test_a_second_opener_is_told_which_process_has_the_store(folder: Path) -> None:
    with _hold(folder) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreInUse, match=f"is open in process {holder.pid}"):
            async with Store.open(folder):
                pass
        holder.communicate("", timeout=180)
    await _filled(folder)


FULL = """
import resource, sys
from pathlib import Path
from prowess.storage.errors import StoreInUse
from prowess.storage.log.lock import Lock
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
held = Lock(Path(sys.argv[1]))
try:
    Lock(Path(sys.argv[1]))
except StoreInUse as error:
    print(error)
held.release()
Lock(Path(sys.argv[1])).release()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows bounds no file")
@pytest.mark.parametrize("before", [None, b"", b'{"pid": 1}', b"[" * 5000])
def test_a_log_is_locked_where_the_disk_has_no_room_for_a_note(tmp_path: Path, before: bytes | None) -> None:
    if before is not None:
        (tmp_path / "log.redb.lock").write_bytes(before)
    done = subprocess.run(
        [sys.executable, "-I", "-c", FULL, str(tmp_path / "log.redb")], capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == (f"{tmp_path / 'log.redb'} is open in another process", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_log_that_is_no_file_is_refused_at_once(folder: Path, kind: str) -> None:
    put_no_file(kind, folder / "log.redb")
    with pytest.raises(StoreDamaged, match="is not a log of this program") as raised:
        async with Store.open(folder):
            pass
    explained(raised.value)


async def test_a_relative_log_path_lies_in_the_folder(folder: Path) -> None:
    async with Store.open(folder, redb_path=Path("logs/mine.redb")) as store:
        assert store.log_path == folder / "logs" / "mine.redb"
    assert (folder / "logs" / "mine.redb").stat().st_mode & 0o077 == 0


async def test_one_log_under_two_names_has_one_lock(folder: Path, tmp_path: Path) -> None:
    await _filled(folder)
    other = _linked(tmp_path / "other", folder / "log.redb")
    async with Store.open(folder):
        with pytest.raises(StoreInUse):
            async with Store.open(other):
                pass
    async with Store.open(other) as store:
        await store.forget(task_id="refund", origin=ORIGIN)
    async with Store.open(folder) as store:
        assert (await store.stats()).episodes == 0


async def test_the_files_of_a_store_are_its_owner_s_alone(folder: Path) -> None:
    await _filled(folder)
    assert {_mode(file) for file in files(folder, "*")} == {0o600}
    assert _mode(folder) == 0o700


async def test_a_relative_folder_stays_where_it_was(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Store.open(Path("here")) as store:
        monkeypatch.chdir("/")
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.forget(task_id="refund", origin=ORIGIN)
        assert store.folder == tmp_path / "here"
    assert (tmp_path / "here" / "log.redb").exists()


@pytest.mark.parametrize("content", [b"", b"redb", b"SQLite format 3\0" + bytes(5000), os.urandom(9000)])
async def test_a_log_that_is_not_ours_is_refused_and_left_alone(folder: Path, content: bytes) -> None:
    put(folder / "log.redb", content)
    with pytest.raises(StoreDamaged, match=r"log\.redb is not a log") as raised:
        async with Store.open(folder):
            pass
    explained(raised.value)
    assert (folder / "log.redb").read_bytes() == content


async def test_a_redb_file_of_another_program_is_refused(folder: Path) -> None:
    _foreign(folder)
    with pytest.raises(StoreDamaged, match="of another program"):
        async with Store.open(folder):
            pass


@pytest.mark.parametrize("part", [0.001, 0.2, 0.5, 0.9])
async def test_a_truncated_log_is_damage(folder: Path, part: float) -> None:
    async with Store.open(folder) as store:
        for name in range(20):
            await store.track(WHERE, [NewStep(action=f"a{name}", observation=os.urandom(5000).hex())], origin=ORIGIN)
    path = folder / "log.redb"
    os.truncate(path, max(int(path.stat().st_size * part), 16))
    with pytest.raises(StoreDamaged, match=r"log\.redb") as raised:
        async with Store.open(folder):
            pass
    assert "restore" in explained(raised.value)


async def test_a_log_of_a_newer_version_is_refused_and_not_changed(folder: Path) -> None:
    await _filled(folder)
    with open_log(folder / "log.redb") as file, file.write() as transaction:
        write_meta(View(transaction), "schema", 99)
    before = (folder / "log.redb").read_bytes()
    with pytest.raises(StoreNewer, match="schema 99") as raised:
        async with Store.open(folder):
            pass
    explained(raised.value)
    assert (folder / "log.redb").read_bytes() == before


async def test_a_catalog_of_a_newer_version_is_refused(folder: Path) -> None:
    await _filled(folder)
    sql(folder / "catalog.db", "INSERT INTO migrations (version, name, program) VALUES (99, 'later', '9.9')")
    with pytest.raises(StoreNewer, match=r"9\.9") as raised:
        async with Store.open(folder):
            pass
    explained(raised.value)


async def test_a_sqlite_file_of_another_program_is_never_touched(folder: Path) -> None:
    sql(folder / "catalog.db", "CREATE TABLE songs (name TEXT)")
    before = (folder / "catalog.db").read_bytes()
    with pytest.raises(StoreDamaged, match="another program") as raised:
        async with Store.open(folder):
            pass
    explained(raised.value)
    assert (folder / "catalog.db").read_bytes() == before


async def test_a_damaged_catalog_is_moved_aside_when_asked_and_made_again(folder: Path) -> None:
    await _filled(folder)
    garbage = b"garbage" * 1000
    for leftover in files(folder, "catalog.db*"):
        put(leftover, garbage)
    with pytest.raises(StoreDamaged) as raised:
        async with Store.open(folder):
            pass
    explained(raised.value)
    async with Store.open(folder, replace_catalog=True) as store:
        assert (await store.stats()).steps == 2
    (aside,) = files(folder, "catalog.db.damaged-*")
    assert aside.read_bytes() == garbage


async def test_rebuilding_mends_a_catalog_with_any_page_damaged(folder: Path, tmp_path: Path) -> None:
    async with Store.open(folder) as store:
        await do_everything(store)
        whole = await store.dump()
    content, broken = (folder / "catalog.db").read_bytes(), tmp_path / "broken"
    for start in range(0, len(content), PAGE):
        shutil.copytree(folder, broken)
        (broken / "catalog.db").write_bytes(content[:start] + b"\xa5" * PAGE + content[start + PAGE :])
        async with Store.open(broken, replace_catalog=True) as store:
            await store.rebuild()
            assert await store.dump() == whole
        shutil.rmtree(broken)


async def test_a_path_that_is_no_text_is_refused_before_anything_is_made(folder: Path) -> None:
    odd = folder / "\udcff"
    with pytest.raises(InvalidInput) as raised:
        async with Store.open(odd):
            pass
    explained(raised.value)
    assert files(folder.parent, folder.name) == []
    async with Store.open(folder) as store:
        with pytest.raises(InvalidInput):
            await store.backup(odd)
        assert await store.backups() == ()


async def test_a_folder_where_a_file_is_cannot_be_a_store(folder: Path) -> None:
    put(folder, b"a file")
    with pytest.raises(StoreUnavailable) as raised:
        async with Store.open(folder):
            pass
    explained(raised.value)


async def test_a_read_only_folder_is_unavailable(
    small_disk: Callable[[str], Path], remount: Callable[[Path, str], None]
) -> None:
    place = small_disk("size=8m")
    await _filled(place / "store")
    remount(place, "ro")
    for folder in (place / "store", place / "other"):
        with pytest.raises(StoreUnavailable, match="Read-only") as raised:
            async with Store.open(folder):
                pass
        explained(raised.value)
    remount(place, "rw")
    async with Store.open(place / "store") as store:
        assert (await store.stats()).steps == 2


async def test_a_full_disk_refuses_writes_and_loses_none(
    small_disk: Callable[[str], Path], remount: Callable[[Path, str], None]
) -> None:
    place = small_disk("size=10m")
    big = [NewStep(action="a", number=number, observation=os.urandom(100_000).hex()) for number in range(1, 101)]
    stored: list[int] = []

    async def fill(store: Store) -> None:
        for step in big[len(stored) :]:
            told = await store.track(WHERE, [step], origin=ORIGIN, key=f"k{step.number}")
            stored.extend(told.numbers)

    async with Store.open(place / "store") as store:
        for _ in range(2):
            with pytest.raises(StoreUnavailable) as raised:
                await fill(store)
            assert "disk" in explained(raised.value)
        assert 5 < len(stored) < 100
    remount(place, "size=64m")
    async with Store.open(place / "store") as store:
        await fill(store)
        found = await store.find_episode(WHERE)
        assert found is not None
        assert [step.number for step in await store.steps(found.id)] == list(range(1, 101))


def _fill_up(file: Path) -> None:
    """Write to ``file`` until its disk is full."""
    with file.open("wb", buffering=0) as rest, suppress(OSError):
        while True:
            rest.write(bytes(PAGE))


async def test_a_full_disk_keeps_no_store_shut_in_which_something_is_still_to_be_wiped(
    small_disk: Callable[[str], Path], remount: Callable[[Path, str], None]
) -> None:
    place = small_disk("size=20m")
    await _filled(place / "store")
    sql(place / "store" / "catalog.db", "PRAGMA user_version = 1")  # as a program leaves it that is killed meanwhile
    _fill_up(place / "rest")
    async with Store.open(place / "store") as store:
        assert (await store.stats()).steps == 2
    remount(place, "size=64m")
    async with Store.open(place / "store") as store:
        await store.stats()
    with closing(sqlite3.connect(place / "store" / "catalog.db")) as database:
        assert database.execute("PRAGMA user_version").fetchall() == [(0,)]


async def test_a_reader_keeps_no_store_shut_in_which_something_is_still_to_be_wiped(folder: Path) -> None:
    await _filled(folder)
    sql(folder / "catalog.db", "PRAGMA user_version = 1")
    with closing(sqlite3.connect(folder / "catalog.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM steps").fetchall()
        async with Store.open(folder) as store:
            assert (await store.stats()).steps == 2


@pytest.mark.parametrize("size", ["16k", "64k", "128k"])
async def test_a_disk_too_small_for_a_store_leaves_nothing_in_the_way(
    small_disk: Callable[[str], Path], remount: Callable[[Path, str], None], size: str
) -> None:
    place = small_disk(f"size={size}")
    with pytest.raises(StoreUnavailable) as raised:
        async with Store.open(place / "store"):
            pass
    explained(raised.value)
    remount(place, "size=64m")
    await _filled(place / "store")


async def test_a_damaged_episode_is_damage_and_keeps_no_other_task_out(folder: Path) -> None:
    async with Store.open(folder) as store:
        told = await store.track(WHERE, steps("a"), origin=ORIGIN)
    with open_log(folder / "log.redb") as file, file.write() as transaction:
        View(transaction).table(EPISODES).insert(id_bytes(told.episode_id), b"\xc1")
    async with Store.open(folder) as store:
        with pytest.raises(StoreDamaged, match="an episode of the log cannot be read"):
            await store.steps(told.episode_id)
        with pytest.raises(StoreDamaged, match="an episode of the log cannot be read"):
            await store.track(WHERE, steps("b"), origin=ORIGIN)
        other = replace(WHERE, task_id="another", assumed=True)
        with pytest.raises(UnknownEpisode):
            await store.score(other, [], final=True, origin=ORIGIN)
        assert (await store.track(other, steps("b"), origin=ORIGIN)).opened
