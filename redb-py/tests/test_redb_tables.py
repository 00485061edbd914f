"""Tables of one value for each key: reading, writing, ranges."""

from __future__ import annotations

from typing import Any

import pytest
import redb

WORDS: redb.TableDefinition[str, int] = redb.TableDefinition("words", key=str, value="u32")
STEPS: redb.TableDefinition[tuple[bytes, int], bytes] = redb.TableDefinition("steps", key=(bytes, "u32"), value=bytes)


def fill(db: redb.Database, pairs: dict[str, int]) -> None:
    with db.begin_write() as txn:
        txn.open_table(WORDS).insert_many(pairs.items())


def read(db: redb.Database) -> list[tuple[str, int]]:
    with db.begin_read() as txn:
        return list(txn.open_table(WORDS))


def test_insert_returns_the_value_that_was_there(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        assert table.insert("a", 1) is None
        assert table.insert("a", 2) == 1
        assert table.get("a") == 2


def test_get_of_an_unknown_key_gives_the_default(db: redb.Database) -> None:
    fill(db, {"a": 1})
    with db.begin_read() as txn:
        table = txn.open_table(WORDS)
        assert table.get("b") is None
        assert table.get("b", 7) == 7
        assert "a" in table
        assert "b" not in table


def test_remove_returns_the_value_and_leaves_no_trace(db: redb.Database) -> None:
    fill(db, {"a": 1, "b": 2})
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        assert table.remove("a") == 1
        assert table.remove("a") is None
        assert len(table) == 1
    assert read(db) == [("b", 2)]


def test_first_last_and_pops_take_the_ends(db: redb.Database) -> None:
    fill(db, {"b": 2, "a": 1, "c": 3})
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        assert (table.first(), table.last()) == (("a", 1), ("c", 3))
        assert (table.pop_first(), table.pop_last(), table.pop_first()) == (("a", 1), ("c", 3), ("b", 2))
        assert (table.pop_first(), table.pop_last(), table.first(), table.last()) == (None, None, None, None)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, "abcd"),
        ({"start": "b"}, "bcd"),
        ({"end": "c"}, "ab"),
        ({"start": "b", "end": "d"}, "bc"),
        ({"start": "b", "end": "d", "include_end": True}, "bcd"),
        ({"start": "b", "end": "d", "include_start": False}, "c"),
        ({"start": "b", "end": "d", "reverse": True}, "cb"),
        ({"reverse": True}, "dcba"),
        ({"start": "b", "end": "b"}, ""),
        ({"start": "b", "end": "b", "include_end": True}, "b"),
        ({"start": "b", "end": "b", "include_start": False, "include_end": True}, ""),
        ({"start": "c", "end": "b"}, ""),
        ({"start": "x"}, ""),
    ],
)
def test_a_range_keeps_to_its_bounds(db: redb.Database, bounds: dict[str, Any], expected: str) -> None:
    fill(db, {"a": 1, "b": 2, "c": 3, "d": 4})
    with db.begin_read() as reading:
        assert "".join(key for key, _ in reading.open_table(WORDS).range(**bounds)) == expected
    with db.begin_write() as writing:
        assert "".join(key for key, _ in writing.open_table(WORDS).range(**bounds)) == expected


def test_a_long_range_comes_whole_in_both_directions(db: redb.Database) -> None:
    pairs = {f"{number:05}": number for number in range(5000)}
    fill(db, pairs)
    assert read(db) == list(pairs.items())
    with db.begin_read() as txn:
        assert list(txn.open_table(WORDS).range(reverse=True)) == list(reversed(pairs.items()))


def test_tuple_keys_order_by_element(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(STEPS)
        for key in [(b"b", 0), (b"a", 256), (b"a", 2), (b"ab", 1), (b"", 9)]:
            table.insert(key, b"%d" % key[1])
        assert [key for key, _ in table] == [(b"", 9), (b"a", 2), (b"a", 256), (b"ab", 1), (b"b", 0)]
        assert list(table.range((b"a", 0), (b"a", 2**32 - 1), include_end=True)) == [
            ((b"a", 2), b"2"),
            ((b"a", 256), b"256"),
        ]


def test_drain_returns_what_it_removes(db: redb.Database) -> None:
    fill(db, {"a": 1, "b": 2, "c": 3, "d": 4})
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        assert table.drain("b", "d") == [("b", 2), ("c", 3)]
        assert table.drain("b", "d") == []
        assert table.drain("z", "a") == []
        assert table.drain() == [("a", 1), ("d", 4)]


def test_remove_range_counts_what_it_removes(db: redb.Database) -> None:
    fill(db, {"a": 1, "b": 2, "c": 3, "d": 4})
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        assert table.remove_range("b", "c", include_end=True) == 2
        assert table.remove_range("d", "a") == 0
    assert read(db) == [("a", 1), ("d", 4)]


def test_retain_keeps_what_the_function_wants(db: redb.Database) -> None:
    fill(db, {f"{number:04}": number for number in range(3000)})
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        assert table.retain(lambda _key, value: value % 3 == 0) == 2000
        assert table.retain(lambda _key, _value: False, "0003", "0009", include_end=True) == 3
    assert [value for _, value in read(db)][:4] == [0, 12, 15, 18]


def test_retain_may_use_the_table_it_works_on(db: redb.Database) -> None:
    fill(db, {"a": 1, "b": 2})
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        assert table.retain(lambda key, _value: table.get(key) == 2 and len(table) == 2) == 1
    assert read(db) == [("b", 2)]


def test_an_error_in_the_function_of_retain_aborts_as_any_other(db: redb.Database) -> None:
    fill(db, {"a": 1, "b": 2})
    with pytest.raises(ZeroDivisionError), db.begin_write() as txn:
        txn.open_table(WORDS).retain(lambda _key, value: 1 // (value - 2))
    assert read(db) == [("a", 1), ("b", 2)]


def test_a_table_may_change_while_it_is_iterated(db: redb.Database) -> None:
    fill(db, {f"{number:03}": number for number in range(100)})
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        seen = []
        for key, value in table:
            seen.append(value)
            table.remove(key)
            table.remove(f"{value + 1:03}")
            if value == 50:
                table.insert("999", 999)
                table.insert("000", 0)
        assert seen == [*range(0, 100, 2), 999]
        assert list(table) == [("000", 0)]


def test_an_iterator_that_has_ended_stays_ended(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(WORDS)
        pairs = iter(table)
        assert next(pairs, None) is None
        table.insert("a", 1)
        assert next(pairs, None) is None


def test_two_handles_of_a_table_see_each_other(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_table(WORDS).insert("a", 1)
        assert txn.open_table(WORDS).get("a") == 1


def test_a_value_of_several_pages_comes_back_whole(db: redb.Database) -> None:
    value = bytes(range(256)) * 40_000
    with db.begin_write() as txn:
        assert txn.open_table(STEPS).insert((b"k" * 5000, 0), value) is None
    with db.begin_read() as reading:
        assert reading.open_table(STEPS).get((b"k" * 5000, 0)) == value


def test_stats_count_the_bytes_of_a_table(db: redb.Database) -> None:
    fill(db, {"a": 1, "bb": 2})
    with db.begin_read() as txn:
        assert txn.open_table(WORDS).stats().stored_bytes == len("a") + len("bb") + 2 * 4
