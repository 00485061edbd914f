"""Memory and file descriptors stay the same however often things are done."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import redb

T: redb.TableDefinition[tuple[bytes, int], bytes] = redb.TableDefinition("t", key=(bytes, "u32"), value=bytes)
NONE: redb.TableDefinition[str, str] = redb.TableDefinition("none", key=str, value=str)
MANY: redb.MultimapTableDefinition[str, int] = redb.MultimapTableDefinition("many", key=str, value="u32")

WARM_UP = 300
ROUNDS = 2000
# The allocator keeps some freed memory; a leak of one small object in each round would be more than this.
MOST_GROWTH = 1_500_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def write(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.set_durability(redb.Durability.NONE)
        table = txn.open_table(T)
        table.insert_many(((b"key", row), bytes(500)) for row in range(20))
        assert len(table.drain((b"key", 0), (b"kez", 0))) == 20
        many = txn.open_multimap_table(MANY)
        many.insert("a", 1)
        many.remove_all("a")


def read(db: redb.Database) -> None:
    with db.begin_read() as txn:
        table = txn.open_table(T)
        for _ in table.range((b"", 0), reverse=True):
            pass
        next(table.range())
        table.get((b"row", 5))


def fail(db: redb.Database) -> None:
    with db.begin_read() as txn:
        table = txn.open_table(T)
        wrong: Any = "text"
        for use in (lambda: table.get(wrong), lambda: table.get((b"", -1)), lambda: txn.open_table(NONE)):
            with pytest.raises(redb.RedbError):
                use()


def define(_db: redb.Database) -> None:
    widths: tuple[Literal["u8", "u16", "i32"], ...] = ("u8", "u16", "i32")
    for width in widths:
        redb.TableDefinition("t" * 200, key=(bytes, width), value=bytes)


def forget(db: redb.Database) -> None:
    table = db.begin_write(timeout=0).open_table(T)
    table.insert((b"", 0), bytes(1000))
    iter(table)


@pytest.mark.parametrize("use", [write, read, fail, define, forget])
def test_repetition_takes_no_memory(path: Path, use: Callable[[redb.Database], None]) -> None:
    with redb.Builder().set_cache_size(1 << 20).create(path) as db:
        with db.begin_write() as txn:
            txn.open_table(T).insert_many(((b"row", row), bytes(100)) for row in range(100))
            txn.open_multimap_table(MANY)
        for _ in range(WARM_UP):
            use(db)
        before = resident()
        for _ in range(ROUNDS):
            use(db)
        assert resident() - before < MOST_GROWTH


def test_opening_and_closing_leaves_nothing_open(path: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    redb.Database.create(path).close()
    before, memory = descriptors(), resident()
    for number in range(100):
        if number % 2:
            redb.Database.open(path).close()
        else:
            redb.Database.open(path)
    assert descriptors() == before
    assert resident() - memory < MOST_GROWTH


def test_a_builder_is_let_go_of_with_the_callback_that_holds_it() -> None:
    class Opening:
        def __init__(self) -> None:
            self.builder = redb.Builder().set_repair_callback(self.report)

        def report(self, progress: float) -> bool:
            return progress < 1

    gone = weakref.ref(Opening())
    gc.collect()
    assert gone() is None


def test_objects_of_a_caller_are_not_held(path: Path) -> None:
    value = bytes(1000)
    before = sys.getrefcount(value)
    with redb.Database.create(path) as db, db.begin_write() as txn:
        table = txn.open_table(T)
        for row in range(100):
            table.insert((b"row", row), value)
            assert table.get((b"none", row), value) is value
    assert sys.getrefcount(value) == before
