"""The memory bank: items with their history, found by words and meaning, and capped by how recent, important and
unlike the others they are."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from prowess.learning.memskill.units import Unit, Vector, unit_vector

__all__ = ["Found", "Item", "Limits", "MemoryBank", "Operation"]

LEXICAL_SHARE = 0.5  # of a search's score; conversations are found better by words, terse steps by meaning
LENGTH_SHARE = 0.3  # how far a long item's shared words count less
LIKENESS_POWER = 16  # only near-copies count as such: of cosine .8 this leaves .03, of .9 .19, of .98 .72
LIKE = 0.8  # cosine below which that is as good as nothing
AGAIN = 0.25  # of what an item's importance lacks to 1, the share that it gains when the same comes again


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much memory may hold, and what goes first: the item of least
    ``importance_share`` x importance + rest x recency, where recency halves every ``half_life`` spans, and a near-copy
    of a better item counts less.
    """

    items: int = 200
    tokens: int = 8_000
    importance_share: float = 0.9
    half_life: float = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One change of memory, by ``skill``. ``item`` is whose (update, delete), ``unit`` what comes in.

    An update joins the unit to the item; with ``supersede`` it takes the item's place. ``again`` tells only that the
    unit came: what is there and like it gains importance.
    """

    action: Literal["insert", "update", "delete", "again"]
    skill: str
    item: int | None = None
    unit: Unit | None = None
    importance: float = 0.0
    supersede: bool = False


class Past(NamedTuple):
    """One operation in an item's history: when, what, by which skill."""

    tick: int
    action: str
    skill: str


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """What is remembered. ``importance`` in [0, 1], ``at`` the tick (span) of the last change."""

    id: int
    units: tuple[Unit, ...]
    importance: float
    at: int
    history: tuple[Past, ...]
    vector: Vector
    terms: frozenset[str]
    sources: frozenset[str]
    tokens: int

    @property
    def lost(self) -> bool:
        """Whether any of its units is an excerpt."""
        return any(unit.lost for unit in self.units)

    @property
    def text(self) -> str:
        return " ".join(unit.text for unit in self.units)


def _item(item_id: int, units: tuple[Unit, ...], importance: float, at: int, history: tuple[Past, ...]) -> Item:
    vectors = [unit.vector for unit in units]
    vector = vectors[0] if len(vectors) == 1 else unit_vector(np.mean(vectors, axis=0))
    terms = frozenset[str]().union(*(unit.terms for unit in units))
    sources = frozenset(source for unit in units for source in unit.sources)
    return Item(item_id, units, importance, at, history, vector, terms, sources, sum(unit.tokens for unit in units))


class Found(NamedTuple):
    """An item that a search found, with its score in [-1, 1]."""

    item: Item
    score: float


@dataclass(slots=True)
class MemoryBank:
    """All items, by id. Ids are never used twice. ``dropped`` counts the items that retention took, ``tokens`` those
    of all items.
    """

    limits: Limits = field(default_factory=Limits)
    items: dict[int, Item] = field(default_factory=dict)
    tick: int = 0
    dropped: int = 0
    tokens: int = 0
    _next: int = 1
    _rows: Vector | None = None
    _places: dict[str, list[int]] | None = None

    def rows(self) -> Vector:
        """The items' vectors in order of ``items``, shape (n, dim); (0, 0) without items."""
        if self._rows is None:
            vectors = [item.vector for item in self.items.values()]
            self._rows = np.stack(vectors) if vectors else np.zeros((0, 0), np.float32)
        return self._rows

    def near(self, vector: Vector, k: int) -> list[Found]:
        """The ``k`` items nearest in meaning, nearest first."""
        if not self.items:
            return []
        cosines = self.rows() @ vector
        items = list(self.items.values())
        order = np.argsort(-cosines, kind="stable")[:k]
        return [Found(items[index], float(cosines[index])) for index in order]

    def search(self, vector: Vector, terms: Collection[str], k: int) -> list[Found]:
        """The ``k`` items that answer a query best, by meaning and by shared words (rare ones count more)."""
        if not self.items:
            return []
        items = list(self.items.values())
        cosines = np.maximum(self.rows() @ vector, 0.0)
        scores = (1 - LEXICAL_SHARE) * cosines + LEXICAL_SHARE * self._lexical(items, terms)
        order = np.argsort(-scores, kind="stable")[:k]
        return [Found(items[index], float(scores[index])) for index in order]

    def _lexical(self, items: Sequence[Item], terms: Collection[str]) -> Vector:
        """For each item the share of the query's words that it has, weighed by how rare they are in memory."""
        places = self._where(items)
        scores, whole = np.zeros(len(items), np.float32), 0.0
        for term in sorted(terms):
            having = places.get(term, [])
            weight = math.log(1 + len(items) / (1 + len(having)))
            scores[having] += weight
            whole += weight
        sizes = np.asarray([len(item.terms) for item in items], np.float32)
        longer = sizes / (float(sizes.mean()) or 1.0)
        return scores / np.float32(whole or 1.0) / (1 - LENGTH_SHARE + LENGTH_SHARE * longer)

    def _where(self, items: Sequence[Item]) -> dict[str, list[int]]:
        """For each word the places of the items that have it, kept until memory changes."""
        if self._places is None:
            self._places = {}
            for place, item in enumerate(items):
                for term in item.terms:
                    self._places.setdefault(term, []).append(place)
        return self._places

    def restore(self, unit: Unit, importance: float) -> Item:
        """Take in what an earlier memory held, without an operation."""
        return self._put(_item(self._fresh(), (unit,), importance, self.tick, ()))

    def apply(self, operations: Sequence[Operation]) -> None:
        """Do them in order, then keep within the limits; one tick passes. An item that is gone is passed over."""
        self.tick += 1
        for operation in operations:
            self._apply(operation)
        self._retain()

    def _apply(self, operation: Operation) -> None:
        if operation.action == "again":
            self._strengthen(operation.unit)
            return
        past = Past(self.tick, operation.action, operation.skill)
        if operation.action == "insert" and operation.unit is not None:
            self._put(_item(self._fresh(), (operation.unit,), operation.importance, self.tick, (past,)))
            return
        old = self.items.get(operation.item or 0)
        if old is None:
            return
        if operation.action == "delete":
            self._drop(old.id)
        elif operation.unit is not None:
            self._put(_updated(old, operation, past))

    def _strengthen(self, unit: Unit | None) -> None:
        """Raise the importance of each item by its likeness to ``unit``; vectors and places stay as they are."""
        if unit is None or not self.items:
            return
        items, cosines = list(self.items.values()), self.rows() @ unit.vector
        for place in np.flatnonzero(cosines >= LIKE):
            item = items[place]
            gain = AGAIN * min(float(cosines[place]), 1.0) ** LIKENESS_POWER * (1 - item.importance)
            self.items[item.id] = replace(item, importance=item.importance + gain)

    def _put(self, item: Item) -> Item:
        if (old := self.items.get(item.id)) is not None:
            self.tokens -= old.tokens
        self.items[item.id] = item
        self.tokens += item.tokens
        self._rows = self._places = None
        return item

    def _fresh(self) -> int:
        self._next += 1
        return self._next - 1

    def _drop(self, item_id: int) -> None:
        self.tokens -= self.items.pop(item_id).tokens
        self._rows = self._places = None

    def _retain(self) -> None:
        if self._fits():
            return
        items = sorted(self.items.values(), key=lambda each: (self.priority(each), each.id))
        worth = np.asarray([self.priority(item) for item in items])
        rows = np.stack([item.vector for item in items])
        cosines = np.triu(np.clip(rows @ rows.T, 0.0, 1.0), 1)  # of each item with those that outrank it
        while not self._fits():
            place = int(np.argmin(worth * (1 - cosines.max(axis=1) ** LIKENESS_POWER)))
            self._drop(items[place].id)
            self.dropped += 1
            cosines[place] = cosines[:, place] = 0.0
            worth[place] = np.inf

    def _fits(self) -> bool:
        return len(self.items) <= self.limits.items and self.tokens <= self.limits.tokens

    def priority(self, item: Item) -> float:
        """How much an item alone is worth keeping, in [0, 1]."""
        recency = math.exp2((item.at - self.tick) / self.limits.half_life)
        share = self.limits.importance_share
        return share * item.importance + (1 - share) * recency


def _updated(old: Item, operation: Operation, past: Past) -> Item:
    assert operation.unit is not None
    units = (operation.unit,) if operation.supersede else (*old.units, operation.unit)
    return _item(old.id, units, max(old.importance, operation.importance), past.tick, (*old.history, past))
