"""Types of keys and values: what is stored, in which order, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import redb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

WIDTHS = (8, 16, 32, 64, 128)
INTEGERS = {
    **{f"u{bits}": st.integers(0, 2**bits - 1) for bits in WIDTHS},
    **{f"i{bits}": st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in WIDTHS},
}
SCALARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (bytes, st.binary(max_size=300)),
    (str, st.text(max_size=100)),
    (bool, st.booleans()),
    (int, INTEGERS["i64"]),
    (None, st.none()),
    *INTEGERS.items(),
]


def tuples_of(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(types, min_size=1, max_size=4)
    return items.map(lambda items: (tuple(kind for kind, _ in items), st.tuples(*(values for _, values in items))))


TYPES = st.recursive(st.sampled_from(SCALARS), tuples_of, max_leaves=6)


def order(key: Any) -> Any:
    """A key of Python's sort that orders as the store does: str by UTF-8, None as equal."""
    if isinstance(key, tuple):
        return tuple(order(item) for item in key)
    return key.encode() if isinstance(key, str) else (0 if key is None else key)


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_type_comes_back_equal_and_in_order(db: redb.Database, data: st.DataObject) -> None:
    key, keys = data.draw(TYPES)
    value, values = data.draw(TYPES)
    model = data.draw(st.dictionaries(keys, values, max_size=20))
    txn = db.begin_write()
    table = txn.open_table(redb.TableDefinition("any", key=key, value=value))
    table.insert_many(model.items())
    try:
        assert list(table) == sorted(model.items(), key=lambda pair: order(pair[0]))
        assert all(table.get(key, "absent") == value for key, value in model.items())
    finally:
        txn.abort()


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_integers_keep_to_their_range(db: redb.Database, name: str) -> None:
    bits = int(name[1:])
    least, most = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    with db.begin_write() as txn:
        table = txn.open_table(redb.TableDefinition(name, key=name, value=None))  # type: ignore[arg-type]
        table.insert(most, None)
        table.insert(least, None)
        assert [key for key, _ in table] == [least, most]
        for outside in (least - 1, most + 1):
            with pytest.raises(redb.InvalidValue, match=f"does not fit into {name}"):
                table.insert(outside, None)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (bytes, "text"),
        (bytes, 1),
        (str, b"bytes"),
        (str, None),
        ("u8", True),
        ("u8", 1.0),
        ("u8", "1"),
        (bool, 1),
        (None, 0),
        ((bytes, "u8"), b"a"),
        ((bytes, "u8"), (b"a",)),
        ((bytes, "u8"), (b"a", 1, 1)),
        ((bytes, "u8"), [b"a", 1]),
        ((bytes, "u8"), ("a", 1)),
    ],
)
def test_a_value_of_another_type_is_refused(db: redb.Database, kind: Any, wrong: Any) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(redb.TableDefinition("t", key=kind, value=kind))
        for use in (table.get, table.remove, table.range, lambda key: key in table):
            if wrong is not None or use != table.range:
                with pytest.raises(redb.InvalidType):
                    use(wrong)
        with pytest.raises(TypeError):
            table.insert(wrong, wrong)
        assert len(table) == 0


def test_a_lone_surrogate_is_refused(db: redb.Database) -> None:
    with db.begin_write() as txn, pytest.raises(redb.InvalidValue):
        txn.open_table(redb.TableDefinition("t", key=str, value=str)).insert("\ud800", "")


def test_other_buffers_are_stored_as_bytes(db: redb.Database) -> None:
    with db.begin_write() as txn:
        table = txn.open_table(redb.TableDefinition("t", key=bytes, value=bytes))
        table.insert(bytearray(b"a"), memoryview(b"xyz")[1:])
        assert list(table) == [(b"a", b"yz")]


@pytest.mark.parametrize("spec", ["u7", float, (), ("u8",) * 13, [bytes], 5, (bytes, "nope")])
def test_an_unknown_type_is_refused(spec: Any) -> None:
    with pytest.raises(redb.InvalidType):
        redb.TableDefinition("t", key=spec, value=bytes)


def test_a_type_that_is_nested_too_deep_is_refused() -> None:
    spec: Any = "u8"
    for _ in range(1000):
        spec = (spec,)
    with pytest.raises(redb.InvalidType):
        redb.TableDefinition("t", key=spec, value=bytes)


def test_a_table_needs_a_name() -> None:
    with pytest.raises(redb.InvalidValue):
        redb.TableDefinition("", key=bytes, value=bytes)


def test_definitions_compare_by_name_and_types() -> None:
    one = redb.TableDefinition("t", key=(bytes, "u32"), value=int)
    assert one == redb.TableDefinition("t", key=("bytes", "u32"), value="i64")
    assert hash(one) == hash(redb.TableDefinition("t", key=(bytes, "u32"), value="i64"))
    assert one != redb.TableDefinition("t", key=(bytes, "u32"), value="u64")
    assert one != redb.TableDefinition("u", key=(bytes, "u32"), value=int)
    assert (one.name, one.key, one.value) == ("t", "(bytes, u32)", "i64")
    assert repr(one) == 'TableDefinition("t", key=(bytes, u32), value=i64)'


def test_a_definition_can_be_subscribed_for_annotations() -> None:
    assert "TableDefinition[bytes, int]" in repr(redb.TableDefinition[bytes, int])
