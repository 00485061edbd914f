"""Each hazard of the clients, against the real ones, and the rule that keeps it away."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.storage.catalog.adapter import Backend, Connection, libsql_available, statements
from prowess.storage.errors import (
    ConstraintViolated,
    InvalidInput,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreDefect,
    StoreUnavailable,
)

TABLE = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INTEGER UNIQUE CHECK (n <> 13)) STRICT"


@pytest.fixture
def table(db: Connection) -> Connection:
    db.execute(TABLE)
    return db


def count(db: Connection) -> int:
    [[rows]] = db.execute("SELECT count(*) FROM t")
    return int(rows)


# ---- what the libSQL client really does; if one of these fails, a rule may have become needless


@pytest.mark.skipif(not libsql_available(), reason="no libSQL client here")
class TestTheClientAsItIs:
    def raw(self, path: Path):  # type: ignore[no-untyped-def]  # the client has no types
        import libsql

        connection = libsql.connect(str(path / "raw.db"), isolation_level=None, timeout=0)
        connection.execute(TABLE).fetchall()
        return connection

    def test_it_panics_at_text_that_is_no_unicode(self, tmp_path: Path) -> None:
        with pytest.raises(BaseException, match="Utf8Error") as caught:
            self.raw(tmp_path).execute("SELECT CAST(x'ff' AS TEXT)").fetchall()
        assert not isinstance(caught.value, Exception)

    def test_it_raises_value_error_for_everything(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="no such table: absent"):
            self.raw(tmp_path).execute("SELECT * FROM absent").fetchall()

    def test_it_runs_a_statement_again_when_fetched_past_its_end(self, tmp_path: Path) -> None:
        raw = self.raw(tmp_path)
        cursor = raw.execute("INSERT INTO t (a) VALUES ('x') RETURNING id")
        assert cursor.fetchall() == [(1,)]
        assert cursor.fetchall() == [(2,)]

    def test_it_binds_large_integers_as_floats(self, tmp_path: Path) -> None:
        raw = self.raw(tmp_path)
        assert raw.execute("SELECT typeof(?), typeof(?)", (2**31 - 1, 2**31)).fetchall() == [("integer", "real")]

    def test_it_fills_missing_parameters_with_null(self, tmp_path: Path) -> None:
        assert self.raw(tmp_path).execute("SELECT ?, ?", (1,)).fetchall() == [(1, None)]

    def test_it_cuts_text_at_nul(self, tmp_path: Path) -> None:
        assert self.raw(tmp_path).execute("SELECT ?", ("a\0b",)).fetchall() == [("a",)]

    def test_it_ignores_further_statements(self, tmp_path: Path) -> None:
        assert self.raw(tmp_path).execute("SELECT 1; SELECT 2").fetchall() == [(1,)]

    def test_its_connection_swallows_errors_of_scripts(self, tmp_path: Path) -> None:
        assert self.raw(tmp_path).executescript("CREATE TABLE u (a); CREATE TABL v (a)") is None

    def test_it_panics_after_close(self, tmp_path: Path) -> None:
        raw = self.raw(tmp_path)
        raw.close()
        with pytest.raises(BaseException, match="unwrap") as caught:
            raw.execute("SELECT 1")
        assert not isinstance(caught.value, Exception)

    def test_it_begins_no_transaction_before_other_statements(self, tmp_path: Path) -> None:
        import libsql

        raw = libsql.connect(str(tmp_path / "legacy.db"))
        raw.execute("CREATE TABLE t (a)").fetchall()
        assert not raw.in_transaction
        raw.execute("INSERT INTO t VALUES (1)").fetchall()
        assert raw.in_transaction


# ---- the rules


def test_libsql_is_chosen_where_it_can_be_imported(tmp_path: Path) -> None:
    [[version]] = Connection(tmp_path / "a.db").execute("SELECT sqlite_version()")
    [[expected]] = Connection(tmp_path / "a.db", backend="libsql" if libsql_available() else "sqlite3").execute(
        "SELECT sqlite_version()"
    )
    assert version == expected


def test_both_clients_open_the_same_file(tmp_path: Path, backend: Backend) -> None:
    first = Connection(tmp_path / "a.db", backend=backend)
    first.execute(TABLE)
    first.execute("INSERT INTO t (a, n) VALUES (?, ?)", ("a\0b", 2**40))
    first.close()
    for other in ("auto", "sqlite3"):
        assert Connection(tmp_path / "a.db", backend=other).execute("SELECT a, n FROM t") == [("a\0b", 2**40)]


def test_a_returning_statement_runs_once(table: Connection) -> None:
    assert table.execute("INSERT INTO t (a) VALUES ('x') RETURNING id") == [(1,)]
    assert count(table) == 1


def test_a_statement_without_rows_answers_with_none(table: Connection) -> None:
    assert table.execute("INSERT INTO t (a) VALUES ('x')") == []
    assert table.execute("SELECT * FROM t WHERE 0") == []


@pytest.mark.parametrize("value", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63)])
def test_integers_stay_integers(table: Connection, value: int) -> None:
    assert table.execute("SELECT typeof(?), ?, ?", (value, value, 5)) == [("integer", value, 5)]
    table.execute("INSERT INTO t (a, n) VALUES ('?', ?)", (value,))
    assert table.execute("SELECT n FROM t WHERE n = ? AND a = '?'", (value,)) == [(value,)]
    assert table.execute("SELECT n FROM t LIMIT ?", (max(value, 1),)) == [(value,)]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400])
def test_integers_beyond_64_bits_are_refused(db: Connection, value: int) -> None:
    with pytest.raises(InvalidInput, match="64 bits"):
        db.execute("SELECT ?", (value,))


def test_truth_is_stored_as_one_and_zero(db: Connection) -> None:
    assert db.execute("SELECT ?, ?", (True, False)) == [(1, 0)]


@pytest.mark.parametrize("params", [(), (1,), (1, 2, 3)])
def test_missing_and_extra_parameters_are_refused(db: Connection, params: tuple[int, ...]) -> None:
    with pytest.raises(StoreDefect, match=f"{len(params)} parameters for 2 places"):
        db.execute("SELECT ?, ? -- why?", params)


def test_question_marks_in_quotes_and_comments_are_no_parameters(db: Connection) -> None:
    assert db.execute('SELECT \'?\', "?", ? /* ? */ FROM (SELECT 1 AS "?")', (7,)) == [("?", 1, 7)]


@pytest.mark.parametrize("sql", ["SELECT ?1", "SELECT :name", "SELECT @name", "SELECT $name"])
def test_named_and_numbered_parameters_are_refused(db: Connection, sql: str) -> None:
    with pytest.raises(StoreDefect, match="only plain"):
        db.execute(sql, (1,))


@pytest.mark.parametrize("value", [[1], {"a": 1}, bytearray(b"x"), object(), Path("x")])
def test_values_of_other_types_are_refused(db: Connection, value: object) -> None:
    with pytest.raises(StoreDefect, match="cannot bind"):
        db.execute("SELECT ?", (value,))


def test_not_a_number_is_refused_instead_of_becoming_null(db: Connection) -> None:
    with pytest.raises(InvalidInput, match="NaN"):
        db.execute("SELECT ?", (float("nan"),))


@pytest.mark.parametrize(
    "text", ["a\0b", "\0", "\x10", "\x100", "\0\x10\0", "naïve 日本 🎉", "", "'; DROP TABLE t; --"]
)
def test_text_comes_back_as_it_was_given(table: Connection, text: str) -> None:
    table.execute("INSERT INTO t (a) VALUES (?)", (text,))
    assert table.execute("SELECT a FROM t WHERE a = ?", (text,)) == [(text,)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2))
def test_any_two_texts_stay_as_different_as_they_were(pair: list[str]) -> None:
    db = Connection(Path(":memory:"))
    assert db.execute("SELECT ?, ?, ? = ?", [*pair, *pair]) == [(*pair, int(pair[0] == pair[1]))]
    db.close()


def test_lone_surrogates_are_refused(db: Connection) -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        db.execute("SELECT ?", ("a\ud800b",))


def test_bytes_come_back_as_they_were_given(db: Connection) -> None:
    assert db.execute("SELECT ?, typeof(?)", (b"\0\x10\xff", b"")) == [(b"\0\x10\xff", "blob")]


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "INSERT INTO t (a) VALUES ('x'); DROP TABLE t"])
def test_several_statements_are_refused(table: Connection, sql: str) -> None:
    with pytest.raises(StoreDefect, match="more than one statement"):
        table.execute(sql)
    assert count(table) == 0


def test_nul_in_a_statement_is_refused(db: Connection) -> None:
    with pytest.raises(StoreDefect, match="NUL"):
        db.execute("SELECT 1\0, 2")


def test_a_script_stops_at_its_first_failure(db: Connection) -> None:
    with pytest.raises(StoreDefect, match="syntax error"):
        db.script("CREATE TABLE u (a);\nCREATE TABL v (a);\nCREATE TABLE w (a);")
    assert db.execute("SELECT name FROM sqlite_master") == [("u",)]


def test_a_script_is_split_at_the_ends_of_statements_only() -> None:
    script = "-- one; two\nSELECT ';' ;\n\nSELECT\n  2;\n-- the end\n"
    assert list(statements(script)) == ["-- one; two\nSELECT ';' ;", "SELECT\n  2;"]
    with pytest.raises(StoreDefect, match="ends inside"):
        list(statements("SELECT 1;\nSELECT"))


# ---- transactions


def test_a_transaction_commits_at_its_end(table: Connection, tmp_path: Path, backend: Backend) -> None:
    other = Connection(tmp_path / "any.db", backend=backend)
    with table.transaction():
        table.execute("INSERT INTO t (a) VALUES ('x')")
        assert count(other) == 0
    assert count(other) == 1


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_transaction_rolls_back_on_any_error(table: Connection, error: type[BaseException]) -> None:
    def interrupted() -> None:
        with table.transaction():
            table.execute("INSERT INTO t (a) VALUES ('x')")
            raise error

    with pytest.raises(error):
        interrupted()
    assert count(table) == 0
    with table.transaction():
        table.execute("INSERT INTO t (a) VALUES ('y')")
    assert count(table) == 1


def test_a_snapshot_does_not_see_what_is_written_meanwhile(table: Connection, tmp_path: Path, backend: Backend) -> None:
    table.execute("PRAGMA journal_mode = WAL")
    other = Connection(tmp_path / "any.db", backend=backend)
    with table.snapshot():
        assert count(table) == 0
        other.execute("INSERT INTO t (a) VALUES ('x')")
        assert count(table) == 0
    assert count(table) == 1


def test_a_connection_may_move_between_threads(table: Connection) -> None:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(count(table)))
    thread.start()
    thread.join(10)
    assert seen == [0]


# ---- errors


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("INSERT INTO t (a, n) VALUES ('x', 1), ('y', 1)", "UNIQUE constraint failed: t.n"),
        ("INSERT INTO t (a) VALUES (NULL)", "NOT NULL constraint failed: t.a"),
        ("INSERT INTO t (a, n) VALUES ('x', 13)", "CHECK constraint failed"),
        ("INSERT INTO t (a, n) VALUES ('x', 'many')", "cannot store TEXT value in INTEGER column"),
    ],
)
def test_a_broken_constraint_is_named(table: Connection, sql: str, message: str) -> None:
    with pytest.raises(ConstraintViolated, match=message):
        table.execute(sql)


def test_a_locked_file_is_busy_at_once(table: Connection, tmp_path: Path, backend: Backend) -> None:
    other = Connection(tmp_path / "any.db", backend=backend)
    with table.transaction(), pytest.raises(StoreBusy) as caught:
        other.execute("BEGIN IMMEDIATE")
    assert "try again" in caught.value.hint
    other.execute("BEGIN IMMEDIATE")


def test_a_full_disk_is_unavailable_and_nothing_is_kept(table: Connection) -> None:
    table.execute("PRAGMA max_page_count = 8")
    with pytest.raises(StoreUnavailable, match="full") as caught, table.transaction():
        table.many("INSERT INTO t (a) VALUES (?)", [("x" * 4000,)] * 100)
    assert "free some space" in caught.value.hint
    assert count(table) == 0


def test_a_read_only_connection_refuses_to_write(table: Connection, tmp_path: Path, backend: Backend) -> None:
    reader = Connection(tmp_path / "any.db", backend=backend, read_only=True)
    assert count(reader) == 0
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        reader.execute("INSERT INTO t (a) VALUES ('x')")


def test_a_read_only_connection_makes_no_file(tmp_path: Path, backend: Backend) -> None:
    with pytest.raises(StoreUnavailable, match="no catalog"):
        Connection(tmp_path / "absent.db", backend=backend, read_only=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["absent/a.db", "."])
def test_a_path_that_cannot_be_opened_is_unavailable(tmp_path: Path, backend: Backend, place: str) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        Connection(tmp_path / place, backend=backend).execute("SELECT * FROM sqlite_master")


def test_another_kind_of_file_is_damaged(tmp_path: Path, backend: Backend) -> None:
    (tmp_path / "a.db").write_bytes(b"this is a text about databases\n" * 200)
    with pytest.raises(StoreDamaged, match="not a database"):
        Connection(tmp_path / "a.db", backend=backend).execute("SELECT * FROM sqlite_master")


@pytest.mark.parametrize("kept", [4096, 5000])
def test_a_truncated_file_is_damaged(table: Connection, tmp_path: Path, backend: Backend, kept: int) -> None:
    with table.transaction():
        table.many("INSERT INTO t (a) VALUES (?)", [("x" * 1000,)] * 50)
    table.close()
    os.truncate(tmp_path / "any.db", kept)
    with pytest.raises(StoreDamaged, match="corrupted") as caught:
        Connection(tmp_path / "any.db", backend=backend).execute("SELECT * FROM t")
    assert "rebuild" in caught.value.hint


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT 1 FROM absent", "table"),
        ("SELECT absent FROM t", "column"),
        ("SELECT 1 FROM t INDEXED BY absent", "index"),
    ],
)
def test_a_missing_part_of_the_schema_is_damaged(table: Connection, sql: str, name: str) -> None:
    with pytest.raises(StoreDamaged, match=f"no such {name}"):
        table.execute(sql)


@pytest.mark.parametrize("sql", ["SELEC", "COMMIT", "SELECT absent()"])
def test_any_other_failure_is_a_defect(db: Connection, sql: str) -> None:
    with pytest.raises(StoreDefect, match="unexpected database error"):
        db.execute(sql)


def test_use_after_close_is_a_typed_error(db: Connection) -> None:
    db.close()
    db.close()
    with pytest.raises(StoreClosed):
        db.execute("SELECT 1")
    with pytest.raises(StoreClosed), db.transaction():
        raise AssertionError("a closed connection has no transactions")


def test_text_that_is_no_unicode_is_damage(db: Connection) -> None:
    with pytest.raises(StoreDamaged, match="corrupted") as caught:
        db.execute("SELECT CAST(x'ff41' AS TEXT)")
    assert "prowess rebuild" in caught.value.hint
