"""Files that are not as they should be, and files that others have open."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redb

T: redb.TableDefinition[int, bytes] = redb.TableDefinition("t", key="u64", value=bytes)
MANY: redb.MultimapTableDefinition[str, int] = redb.MultimapTableDefinition("many", key=str, value="u32")

CHILD_SECONDS = 120
DAMAGED_COPIES = int(os.environ.get("REDB_PY_DAMAGES", "120"))


def fill(path: Path, rows: int = 2000) -> None:
    with redb.Database.create(path) as db, db.begin_write() as txn:
        txn.open_table(T).insert_many((number, b"v" * (number % 300)) for number in range(rows))
        txn.open_multimap_table(MANY).insert_many((str(number % 7), number) for number in range(rows))


def child(code: str, *arguments: object) -> str:
    """Runs code in another process and returns what it prints."""
    command = [sys.executable, "-I", "-c", code, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=CHILD_SECONDS, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout.strip()


def can_only_be_read(path: Path, number: int) -> None:
    with redb.ReadOnlyDatabase.open(path) as db, db.begin_read() as txn:
        assert len(txn.open_table(T)) == 2000
    for opened in (redb.Database.open, redb.Database.create):
        with pytest.raises(redb.StorageError) as caught:
            opened(path)
        assert caught.value.errno == number


OPEN_IN_CHILD = """
import sys, redb
try:
    getattr(redb, sys.argv[2]).open(sys.argv[1])
    print("opened")
except redb.RedbError as error:
    print(type(error).__name__)
"""


def test_a_file_of_another_kind_is_no_database(path: Path) -> None:
    for content in (b"hello", b"SQLite format 3\x00" * 1000, bytes(10_000)):
        path.write_bytes(content)
        for opened in (redb.Database.open, redb.Database.create, redb.ReadOnlyDatabase.open):
            with pytest.raises((redb.NotADatabase, redb.Corrupted)):
                opened(path)
        assert path.read_bytes() == content


def test_a_missing_file_is_an_error_of_the_system(path: Path) -> None:
    with pytest.raises(redb.StorageError) as caught:
        redb.Database.open(path)
    assert caught.value.errno == errno.ENOENT
    assert not path.exists()
    with pytest.raises(redb.StorageError) as caught:
        redb.Database.create(path / "no" / "folder.redb")
    assert caught.value.errno == errno.ENOENT


def test_a_folder_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(redb.StorageError) as caught:
        redb.Database.create(tmp_path)
    assert caught.value.errno == errno.EISDIR


def test_a_file_is_opened_once_in_a_process(db: redb.Database, path: Path) -> None:
    for opened in (redb.Database.open, redb.Database.create, redb.ReadOnlyDatabase.open):
        with pytest.raises(redb.DatabaseAlreadyOpen):
            opened(path)
    db.close()
    redb.Database.open(path).close()


def test_a_file_is_opened_by_one_process(db: redb.Database, path: Path) -> None:
    assert child(OPEN_IN_CHILD, path, "Database") == "DatabaseAlreadyOpen"
    assert child(OPEN_IN_CHILD, path, "ReadOnlyDatabase") == "DatabaseAlreadyOpen"
    db.close()
    assert child(OPEN_IN_CHILD, path, "Database") == "opened"


def test_readers_of_several_processes_share_a_file(path: Path) -> None:
    fill(path)
    with redb.ReadOnlyDatabase.open(path) as db, db.begin_read() as txn:
        assert child(OPEN_IN_CHILD, path, "ReadOnlyDatabase") == "opened"
        assert child(OPEN_IN_CHILD, path, "Database") == "DatabaseAlreadyOpen"
        assert len(txn.open_table(T)) == 2000


def test_a_single_writer_lets_other_processes_read(path: Path) -> None:
    mode = redb.ConcurrencyMode.SINGLE_WRITER
    code = """
import sys, redb
T = redb.TableDefinition("t", key="u64", value=bytes)
db = redb.Builder().set_concurrency_mode(redb.ConcurrencyMode.SINGLE_WRITER).open_read_only(sys.argv[1])
with db.begin_read() as txn:
    print(len(txn.open_table(T)))
"""
    with redb.Builder().set_concurrency_mode(mode).create(path) as db:
        for rows in (1, 2):
            with db.begin_write() as txn:
                txn.open_table(T).insert(rows, b"")
            assert child(code, path) == str(rows)
        with db.begin_write() as txn, pytest.raises(redb.DurabilityError):
            txn.set_durability(redb.Durability.NONE)


def test_a_closed_database_refuses_all_use(path: Path) -> None:
    fill(path)
    db = redb.Database.open(path)
    reading = db.begin_read()
    table = reading.open_table(T)
    db.close()
    db.close()
    assert db.closed
    for use in (db.begin_read, db.begin_write, db.compact, db.check_integrity, db.stats, db.cache_stats):
        with pytest.raises(redb.DatabaseClosed):
            use()
    with pytest.raises(redb.DatabaseClosed):
        table.get(1000)
    reopened = redb.ReadOnlyDatabase.open(path)
    reopened.close()
    with pytest.raises(redb.DatabaseClosed):
        reopened.begin_read()


def test_a_block_that_fails_releases_the_file(path: Path) -> None:
    left_open = []

    def fail(db: redb.Database) -> None:
        left_open.append(db.begin_write())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), redb.Database.create(path) as db:
        fail(db)
    with pytest.raises(redb.DatabaseAlreadyOpen):
        redb.Database.open(path)
    left_open.pop().abort()
    redb.Database.open(path).close()


def test_a_database_that_is_forgotten_releases_the_file(path: Path) -> None:
    db = redb.Database.create(path)
    del db
    redb.Database.open(path).close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any file; the read-only disk is tested instead")
def test_a_file_without_write_permission_can_only_be_read(path: Path) -> None:
    fill(path)
    path.chmod(0o444)
    can_only_be_read(path, errno.EACCES)


def test_compaction_gives_space_back(path: Path) -> None:
    fill(path, 20_000)
    with redb.Database.open(path) as db:
        with db.begin_write() as txn:
            assert txn.open_table(T).remove_range(100) == 19_900
            txn.delete_table(MANY)
        before = path.stat().st_size
        with db.begin_read(), pytest.raises(redb.TransactionInProgress):
            db.compact()
        assert db.compact()
        assert db.check_integrity()
        stats = db.stats()
        assert stats.page_size == 4096
        assert stats.stored_bytes == sum(8 + number for number in range(100))
    assert path.stat().st_size < before / 2


def test_the_builder_takes_its_options(path: Path) -> None:
    builder = redb.Database.builder().set_cache_size(1 << 20).set_check_integrity_on_open(True)
    with builder.create(path) as db, db.begin_write() as txn:
        txn.open_table(T).insert_many((number, bytes(4000)) for number in range(2000))
    with builder.open(path) as db, db.begin_read() as txn:
        assert sum(1 for _ in txn.open_table(T)) == 2000
        assert db.cache_stats().used_bytes <= 1 << 20
        assert db.cache_stats().evictions > 0
    with pytest.raises(redb.InvalidType):
        builder.set_repair_callback(5)  # type: ignore[arg-type]


def crash(path: Path) -> None:
    """Leaves a file behind that needs a repair."""
    code = """
import os, sys, redb
T = redb.TableDefinition("t", key="u64", value=bytes)
db = redb.Database.create(sys.argv[1])
with db.begin_write() as txn:
    txn.open_table(T).insert_many((number, bytes(1000)) for number in range(2000))
os._exit(0)
"""
    child(code, path)


def test_a_repair_reports_its_progress(path: Path) -> None:
    crash(path)
    progress: list[float] = []
    with redb.Builder().set_repair_callback(progress.append).open(path) as db, db.begin_read() as txn:
        assert len(txn.open_table(T)) == 2000
    assert progress
    assert all(0.0 <= part <= 1.0 for part in progress)


def test_a_repair_can_be_stopped(path: Path) -> None:
    crash(path)
    with pytest.raises(redb.RedbError):
        redb.ReadOnlyDatabase.open(path)
    with pytest.raises(redb.RepairAborted):
        redb.Builder().set_repair_callback(lambda _progress: False).open(path)
    redb.Database.open(path).close()


DAMAGE = """
import random, shutil, sys
from pathlib import Path
import redb
T = redb.TableDefinition("t", key="u64", value=bytes)
MANY = redb.MultimapTableDefinition("many", key=str, value="u32")
whole, copy, seed, first, last = Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:6])
counts = {"fine": 0}
def use(db):
    with db.begin_read() as txn:
        sum(len(value) for _, value in txn.open_table(T))
        list(txn.open_multimap_table(MANY).range(reverse=True))
    with db.begin_write() as txn:
        table = txn.open_table(T)
        for key in range(0, 2000, 37):
            table.insert(key, b"new" * 50)
            table.remove(key + 1)
        table.retain(lambda key, value: key % 2)
        many = txn.open_multimap_table(MANY)
        many.remove_all("3")
        many.insert("4", 4)
    with db.begin_write() as txn:
        table = txn.open_table(T)
        table.drain(100, 300)
        table.remove_range(500, 600)
        table.pop_first(), table.pop_last(), table.stats()
        txn.rename_table(MANY, "more")
        txn.stats()
    db.check_integrity()
    db.compact()
for number in range(first, last):
    rng = random.Random(seed + number)
    data = bytearray(whole.read_bytes())
    kind = number % 4
    if kind == 0:
        for _ in range(rng.choice((1, 5, 50))):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(1, len(data)):]
    elif kind == 2:
        start = rng.randrange(len(data))
        data[start:start + 4096] = rng.randbytes(len(data[start:start + 4096]))
    else:
        used = [n for n in range(0, len(data), 4096) if any(data[n:n + 4096])]
        for _ in range(3):
            page = rng.choice(used)
            data[page + rng.randrange(64)] = rng.randrange(256)
    copy.write_bytes(data)
    try:
        builder = redb.Builder().set_check_integrity_on_open(number % 2 == 1)
        with builder.open(copy) as db:
            use(db)
        counts["fine"] += 1
    except redb.RedbError as error:
        counts[type(error).__name__] = counts.get(type(error).__name__, 0) + 1
print(sum(counts.values()), counts)
"""


def test_a_damaged_file_is_an_exception_and_nothing_worse(tmp_path: Path) -> None:
    whole = tmp_path / "whole.redb"
    fill(whole)
    printed = child(DAMAGE, whole, tmp_path / "damaged.redb", 20_261, 0, DAMAGED_COPIES)
    assert printed.split()[0] == str(DAMAGED_COPIES)


def test_a_truncated_file_is_corrupted(path: Path) -> None:
    fill(path)
    whole = path.read_bytes()
    rng = random.Random(7)
    for length in (1, 63, 64, 320, 4096, *(rng.randrange(len(whole)) for _ in range(20))):
        path.write_bytes(whole[:length])
        with pytest.raises((redb.Corrupted, redb.StorageError)):
            redb.Database.open(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small tmpfs cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_an_error_and_keeps_what_was_committed(small_disk: Path) -> None:
    path = small_disk / "full.redb"
    db = redb.Builder().set_cache_size(0).create(path)
    committed = 0
    failure = None
    while failure is None and committed < 1000:
        try:
            with db.begin_write() as txn:
                txn.open_table(T).insert(committed, bytes(100_000))
            committed += 1
        except redb.StorageError as error:
            failure = error.errno
    assert failure == errno.ENOSPC
    assert committed > 0
    with pytest.raises(redb.StorageError):
        db.begin_write()
    try:
        db.close()
    except redb.RedbError:
        del db
    # The repair may need room too.
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    with redb.Database.open(path) as again, again.begin_read() as reading:
        assert [key for key, _ in reading.open_table(T)] == list(range(committed))


def test_a_file_on_a_read_only_disk_can_only_be_read(small_disk: Path) -> None:
    path = small_disk / "test.redb"
    fill(path)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    can_only_be_read(path, errno.EROFS)
