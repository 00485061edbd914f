"""Which episodes show what, as sorted integers: 100,000 steps are counted in milliseconds, and some more are added
without counting the others again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec
import numpy as np

__all__ = ["EPISODE_BITS", "EPISODE_MASK", "Groups", "Incidence", "Ints", "Tally", "distinct", "inserted", "slices"]

Ints = np.ndarray[Any, np.dtype[np.int64]]

EPISODE_BITS = 24  # of an episode's number; the rest of 63 bits is what it shows
EPISODE_MASK = (1 << EPISODE_BITS) - 1

Tally = dict[Hashable, int]  # what one episode shows, and how often


class Groups(msgspec.Struct, frozen=True):
    """Groups of episodes by number: those of group i are ``members[begins[i]:begins[i + 1]]``, sorted, none empty."""

    members: Ints
    begins: Ints

    def __len__(self) -> int:
        return len(self.begins) - 1

    @property
    def sizes(self) -> Ints:
        return np.diff(self.begins)

    def of(self, place: int) -> Ints:
        """The episodes of one group."""
        return self.members[self.begins[place] : self.begins[place + 1]]

    def at(self, places: Ints) -> Groups:
        """The groups at ``places``, in that order."""
        sizes = self.sizes[places]
        return Groups(self.members[slices(self.begins[places], sizes)], np.r_[0, np.cumsum(sizes)])


class Incidence:
    """What episodes show, each thing numbered when first seen, with how often each episode shows it."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self._numbers: dict[Hashable, int] = {}
        self._pairs = np.zeros(0, np.int64)
        self._times = np.zeros(0, np.int64)

    def number(self, key: Hashable) -> int:
        """The number of ``key``, a new one where it was not seen before."""
        number = self._numbers.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number

    def drop(self, gone: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        """Take out the episodes whose number ``gone`` has True for."""
        stay = ~gone[self._pairs & EPISODE_MASK]
        self._pairs, self._times = self._pairs[stay], self._times[stay]

    def add(self, told: Iterable[tuple[int, Tally]]) -> None:
        """Put in what new episodes, by number, show."""
        rows: list[tuple[int, int]] = []
        for episode, tally in told:
            for key, times in tally.items():
                number = self._numbers.get(key)
                rows.append(((self.number(key) if number is None else number) << EPISODE_BITS | episode, times))
        fresh = np.array(rows, np.int64).reshape(-1, 2)
        fresh = fresh[np.argsort(fresh[:, 0])]
        places = np.searchsorted(self._pairs, fresh[:, 0])
        self._pairs = inserted(self._pairs, places, fresh[:, 0])
        self._times = inserted(self._times, places, fresh[:, 1])

    def table(self) -> tuple[Ints, Groups]:
        """The numbers of what some episode shows, and the episodes of each."""
        begins, numbers = self._begins()
        return numbers, Groups(self._pairs & EPISODE_MASK, np.r_[begins, len(self._pairs)])

    def times(self) -> Ints:
        """How often each was shown in all, in the order of ``table``."""
        begins, _ = self._begins()
        return np.asarray(np.add.reduceat(self._times, begins), np.int64) if len(begins) else self._times

    def _begins(self) -> tuple[Ints, Ints]:
        numbers = self._pairs >> EPISODE_BITS
        begins = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]][: len(numbers)])
        return begins, numbers[begins]


def inserted(values: Ints, places: Ints, fresh: Ints) -> Ints:
    """``values`` with each of ``fresh`` before its place (non-decreasing)."""
    if len(values) == 0 or len(fresh) == 0:
        return fresh if len(values) == 0 else values
    at = places + np.arange(len(fresh))
    old = np.ones(len(values) + len(fresh), np.bool_)
    old[at] = False
    result = np.empty(len(old), np.int64)
    result[at], result[old] = fresh, values
    return result


def slices(begins: Ints, sizes: Ints) -> Ints:
    """The indices of consecutive stretches, each ``sizes[i]`` from ``begins[i]`` on."""
    ends = np.cumsum(sizes)
    return np.asarray(np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - sizes), sizes), np.int64)


def distinct(values: Ints) -> Ints:
    """Sorted without repeats; on integers several times as fast as numpy's own, which hashes."""
    ranked = np.sort(values)
    return np.asarray(ranked[np.r_[True, ranked[1:] != ranked[:-1]][: len(ranked)]], np.int64)
