"""Many threads on one database, several processes on one file, and processes made by fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redb

T: redb.TableDefinition[int, int] = redb.TableDefinition("t", key="u64", value="u64")

WAIT = 30.0


def run(workers: list[Callable[[], None]]) -> None:
    """Runs all at once; an error of any is raised, and none may take longer than the wait."""
    with ThreadPoolExecutor(len(workers)) as pool:
        for future in [pool.submit(worker) for worker in workers]:
            future.result(timeout=WAIT)


def test_writers_take_turns_and_lose_nothing(db: redb.Database) -> None:
    def add() -> None:
        for _ in range(50):
            with db.begin_write() as txn:
                txn.set_durability(redb.Durability.NONE)
                table = txn.open_table(T)
                table.insert(0, table.get(0, 0) + 1)

    run([add] * 6)
    with db.begin_read() as txn:
        assert txn.open_table(T).get(0) == 300


def test_readers_see_whole_commits_beside_a_writer(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_table(T).insert_many((key, 0) for key in range(500))
    done = threading.Event()

    def write() -> None:
        for number in range(1, 60):
            with db.begin_write() as txn:
                txn.set_durability(redb.Durability.NONE)
                txn.open_table(T).insert_many((key, number) for key in range(500))
        done.set()

    def look() -> None:
        last = 0
        while not done.is_set():
            with db.begin_read() as txn:
                values = {value for _, value in txn.open_table(T)}
            assert len(values) == 1
            assert last <= min(values)
            last = min(values)

    run([write, look, look, look])


def test_threads_share_one_write_transaction(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(T)

        def insert(part: int) -> Callable[[], None]:
            def work() -> None:
                for key in range(part, 2000, 4):
                    table.insert(key, key)
                    assert table.get(key) == key
                    assert table.retain(lambda _key, _value: True, key, key, include_end=True) == 0
                    assert next(table.range(key)) == (key, key)

            return work

        run([insert(part) for part in range(4)])
        assert len(table) == 2000


def test_threads_share_one_iterator(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_table(T).insert_many((key, key) for key in range(20_000))
    with db.begin_read() as reading:
        pairs = reading.open_table(T).range()
        seen: list[int] = []

        def take() -> None:
            seen.extend(key for key, _ in pairs)

        run([take] * 4)
    assert sorted(seen) == list(range(20_000))


def test_other_threads_run_while_one_waits_to_write(db: redb.Database) -> None:
    txn = db.begin_write()
    began = threading.Event()

    def wait() -> None:
        began.set()
        db.begin_write().abort()

    thread = threading.Thread(target=wait)
    thread.start()
    assert began.wait(WAIT)
    with db.begin_read() as reading:
        assert reading.list_tables() == []
    txn.abort()
    thread.join(WAIT)
    assert not thread.is_alive()


def test_a_wait_ends_at_its_timeout(db: redb.Database) -> None:
    txn = db.begin_write()

    def wait() -> None:
        started = time.monotonic()
        with pytest.raises(redb.TransactionTimeout):
            db.begin_write(timeout=0.2)
        assert 0.2 <= time.monotonic() - started < WAIT

    run([wait])
    txn.abort()


def test_a_transaction_may_end_in_another_thread(db: redb.Database) -> None:
    txn = db.begin_write()
    txn.open_table(T).insert(1, 1)
    run([txn.commit])
    db.begin_write(timeout=0).abort()


def test_a_signal_ends_the_wait_for_the_writer(db: redb.Database) -> None:
    held = threading.Event()
    free = threading.Event()

    def hold() -> None:
        with db.begin_write():
            held.set()
            free.wait(WAIT)

    def interrupt(_number: int, _frame: object) -> None:
        raise InterruptedError

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(WAIT)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(InterruptedError):
            db.begin_write()
    finally:
        signal.signal(signal.SIGALRM, before)
        free.set()
        thread.join(WAIT)


HOLD = """
import sys, redb
T = redb.TableDefinition("t", key="u64", value="u64")
db = redb.Builder().set_concurrency_mode(redb.ConcurrencyMode.MULTI_WRITER).open(sys.argv[1])
with db.begin_write() as txn:
    txn.open_table(T).insert(2, 22)
    print("holding", flush=True)
    sys.stdin.readline()
"""


def test_several_writers_wait_for_each_other(path: Path) -> None:
    mode = redb.ConcurrencyMode.MULTI_WRITER
    with redb.Builder().set_concurrency_mode(mode).create(path) as db:
        with db.begin_write() as txn:
            txn.open_table(T).insert(1, 11)
            with pytest.raises(redb.SavepointError):
                txn.ephemeral_savepoint()
        command = [sys.executable, "-I", "-c", HOLD, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "holding\n"
            with pytest.raises(redb.TransactionTimeout):
                db.begin_write(timeout=0.1)
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(db.begin_write)
                other.communicate("\n", timeout=WAIT)  # this thread is not held up by the one that waits
                with waiting.result(WAIT) as txn:
                    assert list(txn.open_table(T)) == [(1, 11), (2, 22)]


def test_a_signal_ends_the_wait_for_another_process(path: Path) -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise InterruptedError

    with redb.Builder().set_concurrency_mode(redb.ConcurrencyMode.MULTI_WRITER).create(path) as db:
        command = [sys.executable, "-I", "-c", HOLD, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "holding\n"
            before = signal.signal(signal.SIGALRM, interrupt)
            late = threading.Timer(WAIT / 2, other.kill)  # where the wait goes on, the test ends all the same
            late.start()
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with pytest.raises(InterruptedError):
                    db.begin_write()
                assert other.poll() is None
            finally:
                signal.signal(signal.SIGALRM, before)
                late.cancel()
            other.communicate("\n", timeout=WAIT)
        with db.begin_write(timeout=WAIT) as txn:  # nothing of the wait is left
            assert list(txn.open_table(T)) == [(2, 22)]


def test_closing_meets_threads_with_an_exception(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_table(T).insert_many((key, key) for key in range(5000))
    started = threading.Barrier(5)

    def use() -> None:
        started.wait(WAIT)
        try:
            for _ in range(10_000):
                with db.begin_write(timeout=WAIT) as txn:
                    txn.set_durability(redb.Durability.NONE)
                    txn.open_table(T).insert(1, 1)
                with db.begin_read() as reading:
                    list(reading.open_table(T).range(0, 50))
        except redb.DatabaseClosed:
            return
        raise AssertionError("the database was not closed")

    def close() -> None:
        started.wait(WAIT)
        deadline = time.monotonic() + WAIT
        while not db.closed and time.monotonic() < deadline:
            try:
                db.close()
            except redb.TransactionInProgress:
                continue

    run([use, use, use, use, close])
    assert db.closed


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_leaves_the_file_alone(db: redb.Database, path: Path) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(T)
        table.insert(1, 1)
        reading = db.begin_read()
        child = os.fork()
        if child == 0:
            refused = 0
            uses = (db.begin_read, db.begin_write, db.close, txn.commit, reading.list_tables, reading.close)
            for use in (*uses, lambda: table.insert(2, 2), lambda: table.get(1), lambda: list(table)):
                try:
                    use()
                except redb.DatabaseClosed:
                    refused += 1
            del table, txn, db, reading, uses, use
            os._exit(0 if refused == 9 else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        table.insert(3, 3)
    db.close()
    with redb.Database.open(path) as again, again.begin_read() as reading:
        assert list(reading.open_table(T)) == [(1, 1), (3, 3)]
        assert len(reading.open_table(T)) == 2
