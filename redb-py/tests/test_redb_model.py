"""A table against a dict, through any sequence of operations, commits, aborts and reopenings."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import redb
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

T: redb.TableDefinition[tuple[bytes, int], bytes] = redb.TableDefinition("t", key=(bytes, "i16"), value=bytes)

KEYS = st.tuples(st.binary(max_size=2), st.integers(-3, 3))
VALUES = st.binary(max_size=2000)
BOUNDS = st.fixed_dictionaries(
    {"include_start": st.booleans(), "include_end": st.booleans()}, optional={"start": KEYS, "end": KEYS}
)
Model = dict[tuple[bytes, int], bytes]


def within(model: Model, bounds: dict[str, Any]) -> list[tuple[tuple[bytes, int], bytes]]:
    start, end = bounds.get("start"), bounds.get("end")
    return [
        (key, value)
        for key, value in sorted(model.items())
        if (start is None or key > start or (bounds["include_start"] and key == start))
        and (end is None or key < end or (bounds["include_end"] and key == end))
    ]


class TableMachine(RuleBasedStateMachine):
    """`saved` is what a reader sees, `model` what the open write transaction sees."""

    @initialize()
    def create(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="redb-model-"))
        self.db = redb.Database.create(self.folder / "model.redb")
        self.saved: Model = {}
        self.begin()

    def begin(self) -> None:
        self.model = dict(self.saved)
        self.txn = self.db.begin_write(timeout=0)
        self.table = self.txn.open_table(T)

    @rule(key=KEYS, value=VALUES)
    def insert(self, key: tuple[bytes, int], value: bytes) -> None:
        assert self.table.insert(key, value) == self.model.get(key)
        self.model[key] = value

    @rule(pairs=st.lists(st.tuples(KEYS, VALUES), max_size=30))
    def insert_many(self, pairs: list[tuple[tuple[bytes, int], bytes]]) -> None:
        assert self.table.insert_many(pairs) == len(pairs)
        self.model.update(pairs)

    @rule(key=KEYS)
    def remove(self, key: tuple[bytes, int]) -> None:
        assert self.table.remove(key) == self.model.pop(key, None)

    @rule(key=KEYS)
    def get(self, key: tuple[bytes, int]) -> None:
        assert self.table.get(key) == self.model.get(key)
        assert (key in self.table) == (key in self.model)

    @rule(last=st.booleans())
    def pop(self, last: bool) -> None:
        expected = None
        if self.model:
            key = max(self.model) if last else min(self.model)
            expected = (key, self.model.pop(key))
        assert (self.table.pop_last() if last else self.table.pop_first()) == expected

    @rule(bounds=BOUNDS, reverse=st.booleans())
    def ranges(self, bounds: dict[str, Any], reverse: bool) -> None:
        expected = within(self.model, bounds)
        assert list(self.table.range(reverse=reverse, **bounds)) == (expected[::-1] if reverse else expected)

    @rule(bounds=BOUNDS, how=st.sampled_from(["drain", "remove_range"]))
    def drain(self, bounds: dict[str, Any], how: str) -> None:
        expected = within(self.model, bounds)
        result = getattr(self.table, how)(**bounds)
        assert result == (expected if how == "drain" else len(expected))
        for key, _ in expected:
            del self.model[key]

    @rule(bounds=BOUNDS, parity=st.integers(0, 1))
    def retain(self, bounds: dict[str, Any], parity: int) -> None:
        unwanted = [key for key, value in within(self.model, bounds) if len(value) % 2 != parity]
        assert self.table.retain(lambda _key, value: len(value) % 2 == parity, **bounds) == len(unwanted)
        for key in unwanted:
            del self.model[key]

    @rule(durable=st.booleans(), quick=st.booleans())
    def commit(self, durable: bool, quick: bool) -> None:
        self.txn.set_durability(redb.Durability.IMMEDIATE if durable else redb.Durability.NONE)
        self.txn.set_quick_repair(quick and durable)
        self.txn.commit()
        self.saved = self.model
        self.begin()

    @rule()
    def abort(self) -> None:
        self.txn.abort()
        self.begin()

    @precondition(lambda self: self.model == self.saved)
    @rule(compact=st.booleans())
    def reopen(self, compact: bool) -> None:
        self.txn.abort()
        if compact:
            self.db.compact()
        assert self.db.check_integrity()
        self.db.close()
        self.db = redb.Database.open(self.folder / "model.redb")
        self.begin()

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "txn"):
            return
        ordered = sorted(self.model.items())
        assert len(self.table) == len(ordered)
        assert (self.table.first(), self.table.last()) == ((ordered[0], ordered[-1]) if ordered else (None, None))
        with self.db.begin_read() as txn:
            readers = dict(txn.open_table(T)) if "t" in txn.list_tables() else {}
        assert readers == self.saved

    def teardown(self) -> None:
        if hasattr(self, "txn"):
            self.txn.abort()
            self.db.close()
            shutil.rmtree(self.folder)


TestTable = TableMachine.TestCase
TestTable.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
