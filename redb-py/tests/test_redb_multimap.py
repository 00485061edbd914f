"""Tables with a sorted set of values for each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TAGS: redb.MultimapTableDefinition[str, int] = redb.MultimapTableDefinition("tags", key=str, value="i32")


def test_a_key_has_its_values_in_order_and_once(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_multimap_table(TAGS)
        assert [table.insert("a", value) for value in (3, -1, 3)] == [False, False, True]
        assert table.get("a") == [-1, 3]
        assert table.get("b") == []
        assert ("a" in table, "b" in table, len(table)) == (True, False, 2)
    with db.begin_read() as reading:
        assert reading.open_multimap_table(TAGS).get("a") == [-1, 3]


def test_values_are_removed_singly_or_all(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_multimap_table(TAGS)
        assert table.insert_many([("a", 1), ("a", 2), ("b", 5), ("b", 4)]) == 4
        assert (table.remove("a", 1), table.remove("a", 1)) == (True, False)
        assert (table.remove_all("b"), table.remove_all("b")) == ([4, 5], [])
        assert list(table) == [("a", 2)]


def test_a_key_may_have_very_many_values(db: redb.Database) -> None:
    with db.begin_write() as txn:
        txn.open_multimap_table(TAGS).insert_many(("a", value) for value in range(20_000))
    with db.begin_read() as reading:
        table = reading.open_multimap_table(TAGS)
        assert table.get("a") == list(range(20_000))
        assert [value for _, value in table.range(reverse=True)] == list(reversed(range(20_000)))
        assert table.stats().stored_bytes >= 20_000 * 4


def test_large_pairs_reach_the_table_before_all_are_there(db: redb.Database) -> None:
    """A source of a gigabyte is not held in memory: what both kinds of table take goes on in batches of some MB."""
    plain: redb.TableDefinition[int, bytes] = redb.TableDefinition("plain", key=int, value=bytes)
    multi: redb.MultimapTableDefinition[int, bytes] = redb.MultimapTableDefinition("multi", key=int, value=bytes)
    with db.begin_write() as txn:
        for table in (txn.open_table(plain), txn.open_multimap_table(multi)):
            stored: list[int] = []

            def pairs(table: Any = table, stored: list[int] = stored) -> Iterator[tuple[int, bytes]]:
                for number in range(12):
                    stored.append(len(table))
                    yield number, bytes(1 << 20)

            assert table.insert_many(pairs()) == 12
            assert all(number - held <= 5 for number, held in enumerate(stored))


@pytest.mark.parametrize("reverse", [False, True])
def test_an_iterator_goes_on_behind_its_last_value_when_the_table_changes(db: redb.Database, reverse: bool) -> None:
    with db.begin_write() as txn:
        table = txn.open_multimap_table(TAGS)
        table.insert_many((key, value) for key in "abc" for value in range(5))
        seen = []
        for key, value in table.range(reverse=reverse):
            seen.append((key, value))
            table.remove(key, value)
            table.insert("b", 2)
        expected = sorted(((key, value) for key in "abc" for value in range(5)), reverse=reverse)
        assert seen == expected
        assert list(table) == [("b", 2)]


@given(
    pairs=st.lists(st.tuples(st.text(max_size=3), st.integers(-9, 9)), max_size=60),
    removed=st.lists(st.tuples(st.text(max_size=3), st.integers(-9, 9)), max_size=20),
    bounds=st.fixed_dictionaries(
        {"include_start": st.booleans(), "include_end": st.booleans(), "reverse": st.booleans()},
        optional={"start": st.text(max_size=2), "end": st.text(max_size=2)},
    ),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_behaves_as_a_sorted_set_of_pairs(
    db: redb.Database, pairs: list[tuple[str, int]], removed: list[tuple[str, int]], bounds: dict[str, Any]
) -> None:
    def inside(key: str) -> bool:
        start, end = bounds.get("start"), bounds.get("end")
        after = start is None or key > start or (bounds["include_start"] and key == start)
        before = end is None or key < end or (bounds["include_end"] and key == end)
        return after and before

    txn = db.begin_write()
    table = txn.open_multimap_table(TAGS)
    model: set[tuple[str, int]] = set()
    try:
        for key, value in pairs:
            assert table.insert(key, value) == ((key, value) in model)
            model.add((key, value))
        for key, value in removed:
            assert table.remove(key, value) == ((key, value) in model)
            model.discard((key, value))
        expected = sorted((pair for pair in model if inside(pair[0])), reverse=bounds["reverse"])
        assert list(table.range(**bounds)) == expected
        assert len(table) == len(model)
    finally:
        txn.abort()
