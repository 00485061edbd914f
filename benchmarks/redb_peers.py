"""redb-py beside lmdb (PyPI) and the standard library's sqlite3, with the disk's fsync rate as the bound.

``python benchmarks/redb_peers.py [--rows N] [--folder DIR]`` prints one JSON line. Keys have 20 bytes, values 200, as
steps of an episode have. Every commit is durable (sqlite3: WAL, synchronous=FULL). ``*_per_s`` are rates; a peer that
is not installed is null. The bound of the single writes is a 4 KiB append and fsync; of the reads, a dict in memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import redb

SINGLE_WRITES = 300
RANGES = 300
ROWS_PER_RANGE = 200
ROWS_PER_BATCH = 1000
# Reads repeat at no cost but time; the best run is the one that other programs disturbed least.
READ_RUNS = 3
VALUE = os.urandom(200)

Pair = tuple[bytes, bytes]


class Store(Protocol):
    """What is measured; a read has a transaction of its own, as in a server that answers single questions."""

    def write(self, pairs: Iterable[Pair]) -> None: ...
    def get(self, key: bytes) -> bytes | None: ...
    def scan(self, start: bytes, count: int) -> list[Pair]: ...
    def close(self) -> None: ...


class Redb:
    """redb-py with its default settings."""

    table: redb.TableDefinition[bytes, bytes] = redb.TableDefinition("rows", key=bytes, value=bytes)

    def __init__(self, folder: Path) -> None:
        self.db = redb.Database.create(folder / "rows.redb")

    def write(self, pairs: Iterable[Pair]) -> None:
        with self.db.begin_write() as txn:
            txn.open_table(self.table).insert_many(pairs)

    def get(self, key: bytes) -> bytes | None:
        with self.db.begin_read() as txn:
            return txn.open_table(self.table).get(key)

    def scan(self, start: bytes, count: int) -> list[Pair]:
        with self.db.begin_read() as txn:
            return list(islice(txn.open_table(self.table).range(start), count))

    def close(self) -> None:
        self.db.close()


class Lmdb:
    """lmdb with its default settings: synchronous, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        import lmdb

        self.db: Any = lmdb.open(str(folder / "rows.lmdb"), map_size=4 << 30)

    def write(self, pairs: Iterable[Pair]) -> None:
        with self.db.begin(write=True) as txn:
            txn.cursor().putmulti(pairs)

    def get(self, key: bytes) -> bytes | None:
        with self.db.begin() as txn:
            value: bytes | None = txn.get(key)
        return value

    def scan(self, start: bytes, count: int) -> list[Pair]:
        with self.db.begin() as txn:
            cursor = txn.cursor()
            return list(islice(cursor.iternext(), count)) if cursor.set_range(start) else []

    def close(self) -> None:
        self.db.close()


class Sqlite:
    """sqlite3, one table in the order of its keys."""

    def __init__(self, folder: Path) -> None:
        self.db = sqlite3.connect(folder / "rows.sqlite", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("CREATE TABLE rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def write(self, pairs: Iterable[Pair]) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", pairs)
        self.db.execute("COMMIT")

    def get(self, key: bytes) -> bytes | None:
        row = self.db.execute("SELECT value FROM rows WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def scan(self, start: bytes, count: int) -> list[Pair]:
        return self.db.execute("SELECT * FROM rows WHERE key >= ? ORDER BY key LIMIT ?", (start, count)).fetchall()

    def close(self) -> None:
        self.db.close()


def keys_of(rows: int) -> list[bytes]:
    """20-byte keys in runs of fifty that share their first sixteen, in the order in which they are written."""
    rng = random.Random(20_261)
    runs = [rng.randbytes(16) for _ in range(rows // 50 + 1)]
    return [runs[row // 50] + (row % 50).to_bytes(4) for row in range(rows)]


def rate(work: Callable[[Any], object], items: Sequence[Any], *, each: int = 1, repeat: int = 1) -> float:
    """Units per second of the best of ``repeat`` runs over all items, of which each has ``each`` units."""
    seconds = []
    for _ in range(repeat):
        begin = time.perf_counter()
        for item in items:
            work(item)
        seconds.append(time.perf_counter() - begin)
    return round(len(items) * each / min(seconds), 1)


def measure(store: Store, keys: list[bytes]) -> dict[str, float]:
    rng = random.Random(7)
    pairs = [(key, VALUE) for key in keys]
    batches = [pairs[start : start + ROWS_PER_BATCH] for start in range(0, len(pairs), ROWS_PER_BATCH)]
    singles = [[(rng.randbytes(20), VALUE)] for _ in range(SINGLE_WRITES)]
    sample = rng.choices(keys, k=len(keys))
    starts = rng.choices(sorted(keys)[:-ROWS_PER_RANGE], k=RANGES)
    result = {
        "batched_rows_per_s": rate(store.write, batches, each=ROWS_PER_BATCH),
        "single_writes_per_s": rate(store.write, singles),
        "random_reads_per_s": rate(store.get, sample, repeat=READ_RUNS),
        "range_rows_per_s": rate(
            lambda start: store.scan(start, ROWS_PER_RANGE), starts, each=ROWS_PER_RANGE, repeat=READ_RUNS
        ),
    }
    assert all(store.get(key) == VALUE for key in sample[:100])
    assert len(store.scan(starts[0], ROWS_PER_RANGE)) == ROWS_PER_RANGE
    store.close()
    return result


def bound(folder: Path, keys: list[bytes]) -> dict[str, float]:
    descriptor = os.open(folder / "fsync", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(page: bytes) -> None:
        os.write(descriptor, page)
        os.fsync(descriptor)

    try:
        writes = rate(append, [os.urandom(4096)] * SINGLE_WRITES)
    finally:
        os.close(descriptor)
    reads = rate(dict.fromkeys(keys, VALUE).get, keys, repeat=READ_RUNS)
    return {"fsyncs_per_s": writes, "dict_reads_per_s": reads}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="rounded up to whole thousands")
    parser.add_argument("--folder", type=Path, help="whose disk is measured; the current folder's disk unless given")
    given = parser.parse_args()
    keys = keys_of(-(-max(given.rows, 1) // ROWS_PER_BATCH) * ROWS_PER_BATCH)
    with tempfile.TemporaryDirectory(dir=given.folder or Path.cwd(), prefix=".redb-bench-") as name:
        folder = Path(name)
        has_lmdb = importlib.util.find_spec("lmdb") is not None
        report = {
            "benchmark": "redb_peers",
            "rows": len(keys),
            "redb": measure(Redb(folder), keys),
            "lmdb": measure(Lmdb(folder), keys) if has_lmdb else None,
            "sqlite3": measure(Sqlite(folder), keys),
            "bound": bound(folder, keys),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
