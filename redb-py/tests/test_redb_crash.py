"""kill -9: every commit that was acknowledged is found again, whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import redb

KILLS = int(os.environ.get("REDB_PY_KILLS", "30"))
SEED = 20_261
T: redb.TableDefinition[tuple[int, int], bytes] = redb.TableDefinition("t", key=("u32", "u32"), value=bytes)

# Commits rows (round, 0) to (round, n) together and prints the round when the commit has returned.
WRITER = """
import random, sys, redb
T = redb.TableDefinition("t", key=("u32", "u32"), value=bytes)
rng = random.Random(int(sys.argv[2]))
db = redb.Database.create(sys.argv[1])
with db.begin_read() as txn:
    last = txn.open_table(T).last() if txn.list_tables() else None
number = last[0][0] + 1 if last else 0
while True:
    with db.begin_write() as txn:
        txn.set_quick_repair(rng.random() < 0.3)
        txn.set_two_phase_commit(rng.random() < 0.3)
        table = txn.open_table(T)
        rows = rng.randrange(1, 40)
        table.insert_many(((number, row), b"%d" % rows + bytes(rng.randrange(3000))) for row in range(rows))
    print(number, flush=True)
    number += 1
"""


def write_until_killed(path: Path, rng: random.Random) -> int:
    """Kills a writer after some acknowledgements and a random pause; returns the last acknowledged round."""
    command = [sys.executable, "-I", "-c", WRITER, str(path), str(rng.randrange(10**9))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(rng.randrange(1, 12)):
            assert writer.stdout.readline()
        # Work of a random length, so that the kill falls anywhere in the life of a commit.
        sum(range(rng.randrange(300_000)))
        writer.send_signal(signal.SIGKILL)
        acknowledged = writer.stdout.read().split("\n")
    return int(acknowledged[-2]) if len(acknowledged) > 1 else -1


def test_every_acknowledged_commit_survives_a_kill(path: Path) -> None:
    rng = random.Random(SEED)
    acknowledged = -1
    for _ in range(KILLS):
        acknowledged = max(acknowledged, write_until_killed(path, rng))
        with redb.Database.open(path) as db, db.begin_read() as txn:
            rows: dict[int, list[tuple[int, int]]] = {}
            for (number, row), value in txn.open_table(T):
                rows.setdefault(number, []).append((row, int(value.rstrip(b"\0"))))
        assert list(rows) == list(range(len(rows)))
        assert len(rows) > acknowledged
        for found in rows.values():
            assert found == [(row, len(found)) for row in range(len(found))]
