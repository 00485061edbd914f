"""Which episodes show what, as sorted integers: 100,000 steps are counted in milliseconds, and some more are added
without counting the others again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from prowess.learning.arrays import Flags, Ints

__all__ = [
    "EPISODE_BITS",
    "EPISODE_MASK",
    "Groups",
    "Incidence",
    "Tally",
    "changes",
    "distinct",
    "inserted",
    "slices",
]

Number = TypeVar("Number", bound=np.generic)
Members = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]

EPISODE_BITS = 24  # of an episode's number; the rest of 63 bits is what it shows
EPISODE_MASK = (1 << EPISODE_BITS) - 1

Tally = dict[Hashable, int]  # what one episode shows, and how often


class Groups(msgspec.Struct, frozen=True):
    """Groups of episodes by number: those of group i are ``members[begins[i]:begins[i + 1]]``, sorted, none empty."""

    members: Members
    begins: Ints

    def __len__(self) -> int:
        return len(self.begins) - 1

    @property
    def sizes(self) -> Ints:
        return np.diff(self.begins)

    def of(self, place: int) -> Members:
        """The episodes of one group."""
        return self.members[self.begins[place] : self.begins[place + 1]]

    def at(self, places: Ints) -> Groups:
        """The groups at ``places``, in that order."""
        sizes = self.sizes[places]
        return Groups(self.members[slices(self.begins[places], sizes)], np.r_[0, np.cumsum(sizes)])


class _Numbers(dict[Hashable, int]):
    """Numbers by key; what is asked for first gets the next one and goes to the end of ``keys``."""

    def __init__(self, keys: list[Any]) -> None:
        super().__init__()
        self._keys = keys

    def __missing__(self, key: Hashable) -> int:
        number = self[key] = len(self._keys)
        self._keys.append(key)
        return number


class Incidence:
    """What episodes show, each thing numbered when first seen, with how often each episode shows it."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self._numbers = _Numbers(self.keys)
        self._table: tuple[Ints, Groups] | None = None
        self._pairs = np.zeros(0, np.int64)
        self._times = np.zeros(0, np.int64)

    def number(self, key: Hashable) -> int:
        """The number of ``key``, a new one where it was not seen before."""
        return self._numbers[key]

    def drop(self, gone: Flags) -> None:
        """Take out the episodes whose number ``gone`` has True for."""
        stay = ~gone[self._pairs & EPISODE_MASK]
        self._pairs, self._times, self._table = self._pairs[stay], self._times[stay], None

    def add(self, told: Sequence[tuple[int, Tally]]) -> None:
        """Put in what new episodes, by number, show."""
        number = self._numbers
        pairs = [number[key] << EPISODE_BITS | episode for episode, tally in told for key in tally]
        if not pairs:
            return
        times = [count for _, tally in told for count in tally.values()]
        fresh, counts = np.array(pairs, np.int64), np.array(times, np.int64)
        order = np.argsort(fresh)
        places = np.searchsorted(self._pairs, fresh[order])
        self._pairs = inserted(self._pairs, places, fresh[order])
        self._times = inserted(self._times, places, counts[order])
        self._table = None

    def table(self) -> tuple[Ints, Groups]:
        """The numbers of what some episode shows, and the episodes of each."""
        if self._table is None:
            numbers = self._pairs >> EPISODE_BITS
            begins = np.flatnonzero(changes(numbers))
            groups = Groups(self._pairs & EPISODE_MASK, np.append(begins, len(numbers)))
            self._table = numbers[begins], groups
        return self._table

    def times(self) -> Ints:
        """How often each was shown in all, in the order of ``table``."""
        begins = self.table()[1].begins[:-1]
        return np.asarray(np.add.reduceat(self._times, begins), np.int64) if len(begins) else self._times


def inserted(
    values: np.ndarray[Any, np.dtype[Number]], places: Ints, fresh: np.ndarray[Any, np.dtype[Number]]
) -> np.ndarray[Any, np.dtype[Number]]:
    """``values`` with each of ``fresh`` before its place (non-decreasing)."""
    if len(values) == 0 or len(fresh) == 0:
        return fresh if len(values) == 0 else values
    at = places + np.arange(len(fresh))
    old = np.ones(len(values) + len(fresh), np.bool_)
    old[at] = False
    result = np.empty_like(values, shape=len(old))
    result[at], result[old] = fresh, values
    return result


def changes(values: np.ndarray[Any, Any]) -> Flags:
    """Whether each is another one than that before it."""
    changed = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def slices(begins: Ints, sizes: Ints) -> Ints:
    """The indices of consecutive stretches, each ``sizes[i]`` from ``begins[i]`` on."""
    ends = np.cumsum(sizes)
    return np.asarray(np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - sizes), sizes), np.int64)


def distinct(values: Ints) -> Ints:
    """Sorted without repeats; on integers several times as fast as numpy's own, which hashes."""
    ranked = np.sort(values)
    return np.asarray(ranked[changes(ranked)], np.int64)
