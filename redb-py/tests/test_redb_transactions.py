"""Transactions, durability and savepoints."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import redb

T: redb.TableDefinition[str, int] = redb.TableDefinition("t", key=str, value="u32")
U: redb.TableDefinition[str, int] = redb.TableDefinition("u", key=str, value="u32")


def put(db: redb.Database, key: str, value: int) -> None:
    with db.begin_write() as txn:
        txn.open_table(T).insert(key, value)


def content(db: redb.Database) -> dict[str, int]:
    with db.begin_read() as txn:
        return dict(txn.open_table(T)) if "t" in txn.list_tables() else {}


def test_a_block_that_succeeds_commits(db: redb.Database) -> None:
    put(db, "a", 1)
    assert content(db) == {"a": 1}


def test_a_block_that_fails_aborts_and_lets_the_error_through(db: redb.Database) -> None:
    with pytest.raises(ZeroDivisionError), db.begin_write() as txn:
        txn.open_table(T).insert_many((key, 1 // (key != "b")) for key in "ab")
    assert content(db) == {}


def test_an_explicit_end_within_a_block_is_kept(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_table(T).insert("a", 1)
        txn.commit()
    with db.begin_write() as txn:
        txn.open_table(T).insert("a", 2)
        txn.abort()
    assert content(db) == {"a": 1}


def test_a_finished_write_transaction_refuses_all_use(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(T)
        table.insert("a", 1)
        pairs = table.range()
    for use in (
        lambda: table.get("a"),
        lambda: table.insert("a", 1),
        lambda: len(table),
        lambda: next(pairs),
        lambda: txn.open_table(T),
        txn.list_tables,
        txn.commit,
        txn.abort,
        txn.stats,
        lambda: txn.set_durability(redb.Durability.NONE),
    ):
        with pytest.raises(redb.TransactionFinished):
            use()


def test_a_closed_read_transaction_refuses_all_use(db: redb.Database) -> None:
    put(db, "a", 1)
    with db.begin_read() as txn:
        table = txn.open_table(T)
        pairs = table.range()
    for use in (lambda: table.get("a"), lambda: next(pairs), lambda: txn.open_table(T), txn.list_tables):
        with pytest.raises(redb.TransactionFinished):
            use()
    txn.close()


def test_a_read_transaction_sees_one_state(db: redb.Database) -> None:
    put(db, "a", 1)
    with db.begin_read() as txn:
        table = txn.open_table(T)
        put(db, "a", 2)
        assert table.get("a") == 1
    assert content(db) == {"a": 2}


def test_an_iterator_keeps_its_transaction_alive(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_table(T).insert_many((f"{number:04}", number) for number in range(3000))
    pairs = db.begin_read().open_table(T).range()
    gc.collect()
    assert sum(1 for _ in pairs) == 3000


def test_a_forgotten_write_transaction_aborts(db: redb.Database) -> None:
    txn = db.begin_write()
    table = txn.open_table(T)
    table.insert("a", 1)
    del txn, table
    gc.collect()
    with db.begin_write(timeout=0) as txn:
        assert len(txn.open_table(T)) == 0


def test_a_thread_is_told_when_it_would_wait_for_itself(db: redb.Database) -> None:
    with db.begin_write():
        with pytest.raises(redb.TransactionInProgress):
            db.begin_write()
        for use in (db.compact, db.check_integrity, db.close, db.stats):
            with pytest.raises(redb.TransactionInProgress):
                use()
    assert not db.closed


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_a_timeout_is_a_number_of_seconds(db: redb.Database, timeout: float) -> None:
    with pytest.raises(redb.InvalidValue):
        db.begin_write(timeout=timeout)
    db.begin_write(timeout=float("inf")).abort()


def test_a_read_needs_a_table_that_exists_and_has_its_types(db: redb.Database) -> None:
    put(db, "a", 1)
    with db.begin_read() as txn:
        with pytest.raises(redb.TableDoesNotExist):
            txn.open_table(U)
        with pytest.raises(redb.TableTypeMismatch):
            txn.open_table(redb.TableDefinition("t", key=str, value="u64"))
        with pytest.raises(redb.TableIsNotMultimap):
            txn.open_multimap_table(redb.MultimapTableDefinition("t", key=str, value="u32"))


def test_a_write_needs_the_types_of_the_table(db: redb.Database) -> None:
    put(db, "a", 1)
    other: redb.TableDefinition[bytes, int] = redb.TableDefinition("t", key=bytes, value="u32")
    for opened_before in (False, True):
        with db.begin_write() as txn:
            if opened_before:
                txn.open_table(T)
            with pytest.raises(redb.TableTypeMismatch):
                txn.open_table(other)
            with pytest.raises(redb.TableIsNotMultimap):
                txn.open_multimap_table(redb.MultimapTableDefinition("t", key=str, value="u32"))
    assert content(db) == {"a": 1}


def test_tables_are_listed_renamed_and_deleted(db: redb.Database) -> None:
    many = redb.MultimapTableDefinition[str, int]("many", key=str, value="u32")
    with db.begin_write() as txn:
        txn.open_table(T).insert("a", 1)
        txn.open_table(U)
        txn.open_multimap_table(many).insert("a", 1)
        assert txn.list_tables() == ["t", "u"]
        assert txn.list_multimap_tables() == ["many"]
        with pytest.raises(redb.TableExists):
            txn.rename_table(T, "u")
        assert txn.delete_table("u")
        assert not txn.delete_table(U)
        txn.rename_table(T, U)
        txn.rename_table(many, "more")
        assert txn.list_tables() == ["u"]
        assert txn.list_multimap_tables() == ["more"]
        assert dict(txn.open_table(U)) == {"a": 1}
        assert txn.delete_table("more")
        with pytest.raises(redb.TableDoesNotExist):
            txn.rename_table("nothing", "something")
    with db.begin_read() as reading:
        assert (reading.list_tables(), reading.list_multimap_tables()) == (["u"], [])


def test_a_handle_of_a_deleted_table_is_closed(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(T)
        table.insert_many([("a", 1), ("b", 2)])
        pairs = iter(table)
        next(pairs)
        txn.delete_table(T)
        for use in (lambda: table.get("a"), lambda: next(pairs), lambda: table.insert("a", 1)):
            with pytest.raises(redb.TableClosed):
                use()
        assert list(txn.open_table(T)) == []


def test_settings_can_change_while_tables_are_open(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(T)
        table.insert("a", 1)
        txn.set_durability(redb.Durability.NONE)
        txn.set_two_phase_commit(True)
        txn.set_quick_repair(True)
        txn.set_durability(redb.Durability.IMMEDIATE)
        table.insert("b", 2)
    assert content(db) == {"a": 1, "b": 2}


@pytest.mark.parametrize("followed", [False, True])
def test_a_commit_without_durability_is_kept_by_the_next_one_or_by_close(
    db: redb.Database, path: Path, followed: bool
) -> None:
    with db.begin_write() as txn:
        txn.set_durability(redb.Durability.NONE)
        txn.open_table(T).insert("a", 1)
    expected = {"a": 1}
    assert content(db) == expected
    if followed:
        put(db, "b", 2)
        expected["b"] = 2
    db.close()
    with redb.Database.open(path) as again:
        assert content(again) == expected


def test_an_ephemeral_savepoint_brings_a_state_back(db: redb.Database) -> None:
    put(db, "a", 1)
    with db.begin_write() as txn:
        savepoint = txn.ephemeral_savepoint()
        table = txn.open_table(T)
        table.insert("a", 2)
        txn.restore_savepoint(savepoint)
        with pytest.raises(redb.TableClosed):
            table.get("a")
        assert dict(txn.open_table(T)) == {"a": 1}
    put(db, "a", 3)
    with db.begin_write() as txn:
        txn.restore_savepoint(savepoint)
    assert content(db) == {"a": 1}


def test_a_persistent_savepoint_outlives_the_process(db: redb.Database, path: Path) -> None:
    put(db, "a", 1)
    with db.begin_write() as txn:
        number = txn.persistent_savepoint()
    put(db, "a", 2)
    db.close()
    with redb.Database.open(path) as again:
        with pytest.raises(redb.SavepointExists):
            again.compact()
        with again.begin_write() as txn:
            assert txn.list_persistent_savepoints() == [number]
            txn.restore_savepoint(txn.get_persistent_savepoint(number))
        assert content(again) == {"a": 1}
        with again.begin_write() as txn:
            assert txn.delete_persistent_savepoint(number)
            assert not txn.delete_persistent_savepoint(number)
            with pytest.raises(redb.InvalidSavepoint):
                txn.get_persistent_savepoint(number)


def test_a_savepoint_is_taken_before_any_change(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_table(T)
        with pytest.raises(redb.InvalidSavepoint):
            txn.ephemeral_savepoint()


def test_a_savepoint_of_another_database_is_refused(db: redb.Database, tmp_path: Path) -> None:
    with redb.Database.create(tmp_path / "other.redb") as other, other.begin_write() as txn:
        savepoint = txn.ephemeral_savepoint()
    with db.begin_write() as txn, pytest.raises(redb.InvalidSavepoint):
        txn.restore_savepoint(savepoint)


def test_a_persistent_savepoint_needs_a_durable_commit(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.set_durability(redb.Durability.NONE)
        with pytest.raises(redb.DurabilityError):
            txn.persistent_savepoint()
