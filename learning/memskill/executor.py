"""The embedded executor: applies the chosen memory skills to a span without a language model.

It extracts. Of a span it keeps the units, or the sentences of them, that a skill's text asks for (``affinity``) and
that memory does not hold yet; an update joins them to the item on the same matter, or puts them in the place of one
that says nearly the same; a delete takes away what its text describes, among the items that the span brings to mind.
The skills are applied in the order in which they were chosen, each unit once; ``skip`` ends the list, so as the first
it leaves memory alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from prowess.learning.memskill.affinity import View
from prowess.learning.memskill.memory import Found, MemoryBank, Operation
from prowess.learning.memskill.units import Span, Unit, Vector

__all__ = ["RETRIEVED", "EmbeddedExecutor", "Executor", "came"]

RETRIEVED = 5  # memories that are looked at with a span

LEAST = 0.35  # affinity below which a unit is not what a skill asks for: not even one word more than none
LEAST_TO_DELETE = 0.6  # a deletion can't be taken back
KNOWN = 0.95  # cosine from which memory holds the same
SAME_MATTER = 0.5  # cosine from which an item tells of the same matter
SAME_CLAIM = 0.8  # … and says nearly the same, so that the newer one takes its place
MOST_ITEM_TOKENS = 120  # an item that grew beyond is no longer one matter

_NUMBER = re.compile(r"\d+")


class Executor(Protocol):
    """What applies skills. Deterministic where no language model is asked."""

    def plan(
        self, span: Span, chosen: Sequence[View], memory: MemoryBank, retrieved: Sequence[Found]
    ) -> list[Operation]:
        """The operations on ``memory`` that ``chosen``, in order, make of ``span``."""
        ...


class EmbeddedExecutor:
    """See the module."""

    def plan(
        self, span: Span, chosen: Sequence[View], memory: MemoryBank, retrieved: Sequence[Found]
    ) -> list[Operation]:
        """The operations on ``memory`` that ``chosen``, in order, make of ``span``."""
        left = list(span.units)
        operations: list[Operation] = []
        for view in chosen:
            if view.action == "skip":
                break
            if view.action == "delete":
                operations += _deletions(view, retrieved)
                continue
            operations += came(view, left)
            wanted = _wanted(view, left, memory)
            made = _inserts(view, wanted) if view.action == "insert" else _updates(view, wanted, memory)
            taken = {source for operation in made if operation.unit for source in operation.unit.sources}
            left = [unit for unit in left if not taken.intersection(unit.sources)]
            operations += made
        return operations


def _is_known(units: Sequence[Unit], memory: MemoryBank) -> list[bool]:
    """For each unit whether memory holds the same, with the same numbers: vectors hardly tell 11 from 12."""
    if not memory.items or not units:
        return [False] * len(units)
    cosines = _rows(units) @ memory.rows().T
    items = list(memory.items.values())
    return [
        (float(row.max()) >= KNOWN and _numbers(unit.text) <= _numbers(items[int(row.argmax())].text))
        or (bool(unit.lost) and any(unit.text in item.text for item in items))  # an earlier memory has its own vector
        for unit, row in zip(units, cosines, strict=True)
    ]


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


def _rows(units: Sequence[Unit]) -> Vector:
    return np.stack([unit.vector for unit in units])


def _wanted(view: View, units: Sequence[Unit], memory: MemoryBank) -> list[tuple[Unit, float]]:
    """What the skill asks for and memory does not hold yet, most asked for first, at most as much as it allows."""
    cut = view.excerpts(units)
    new = [unit for unit, held in zip(cut, _is_known(cut, memory), strict=True) if not held]
    found = list(zip(new, view.affinities(new) if new else [], strict=True))
    if view.everything:
        return found
    return sorted((pair for pair in found if pair[1] >= LEAST), key=lambda pair: -pair[1])[: view.most]


def came(view: View, units: Sequence[Unit]) -> list[Operation]:
    """What the skill asks for of ``units`` came, whether memory holds the same or not: told where that counts."""
    if not view.again:
        return []
    asked = zip(units, view.affinities(units) if units else [], strict=True)
    return [Operation(action="again", skill=view.name, unit=unit) for unit, value in asked if value >= LEAST]


def _inserts(view: View, wanted: Sequence[tuple[Unit, float]]) -> list[Operation]:
    return [Operation(action="insert", skill=view.name, unit=unit, importance=value) for unit, value in wanted]


def _updates(view: View, wanted: Sequence[tuple[Unit, float]], memory: MemoryBank) -> list[Operation]:
    if not wanted or not memory.items:
        return []
    items = list(memory.items.values())
    cosines = _rows([unit for unit, _ in wanted]) @ memory.rows().T
    operations = []
    for (unit, value), row in zip(wanted, cosines, strict=True):
        item, cosine = items[int(row.argmax())], float(row.max())
        supersede = cosine >= SAME_CLAIM
        if cosine < SAME_MATTER or (not supersede and item.tokens + unit.tokens > MOST_ITEM_TOKENS):
            continue
        operations.append(
            Operation(action="update", skill=view.name, item=item.id, unit=unit, importance=value, supersede=supersede)
        )
    return operations


def _deletions(view: View, retrieved: Sequence[Found]) -> list[Operation]:
    return [
        Operation(action="delete", skill=view.name, item=found.item.id)
        for found in retrieved
        if float(np.mean(view.affinities(found.item.units))) >= LEAST_TO_DELETE
    ]
