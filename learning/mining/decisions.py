"""Decision points: the same moves before, another move next, and another reward."""

from __future__ import annotations

import msgspec
import numpy as np

from prowess.learning.arrays import Flags, Ints
from prowess.learning.mining.candidates import Candidates, Told
from prowess.learning.mining.incidence import EPISODE_BITS, Groups, Incidence, changes

__all__ = ["Forks"]

MAX_STATES = 400  # decision points of each depth and options looked at, the most frequent first
MAX_OPTIONS = 12
NAMED = 3  # other choices that are named


class _Sorted(msgspec.Struct, frozen=True):
    """Options by state, the most taken first: their places in the table, the number of their state, and where each
    state's begin (one more)."""

    place: Ints
    state: Ints
    begins: Ints

    @property
    def turn(self) -> Ints:
        """Of each option, how many of its state are taken more often."""
        return np.arange(len(self.place)) - self.begins[self.state]


class Forks:
    """The decision points of episodes; what each shows is (one or two moves, what came next)."""

    def __init__(self, shown: Incidence) -> None:
        self._shown = shown
        self._order = np.zeros(0, np.int64)  # by number: its place among all, those after one move first
        self._state = np.zeros(0, np.int64)  # by number: the place of the moves before

    def candidates(self, least: int) -> Candidates:
        """After the same one or two moves, each next move against the others, at an episode's first such moment."""
        numbers, groups = self._shown.table()
        self._rank()
        options = self._sorted(numbers, groups.sizes)
        kept = self._kept(options, numbers, groups.sizes)
        asked = np.flatnonzero(kept[options.state] & _worth_asking(options, groups.sizes, least))
        inside = np.flatnonzero(kept[options.state])
        ends = np.cumsum(groups.sizes[options.place[inside]])
        last = np.flatnonzero(np.diff(np.r_[options.state[inside], -1]))
        wholes = Groups(groups.at(options.place[inside]).members, np.r_[0, ends[last]])

        def told(index: int) -> Told:
            return self._told(options, numbers, int(asked[index]))

        return Candidates(
            "decision",
            groups.at(options.place[asked]),
            told,
            wholes,
            (np.cumsum(kept) - 1)[options.state[asked]],
        )

    def _rank(self) -> None:
        keys = self._shown.keys
        if len(self._order) == len(keys):
            return
        ranked = sorted(range(len(keys)), key=lambda number: (len(keys[number][0]), keys[number]))
        fresh = [keys[one][0] != keys[other][0] for one, other in zip(ranked[1:], ranked[:-1], strict=True)]
        self._order, self._state = np.empty((2, len(keys)), np.int64)
        self._order[ranked] = np.arange(len(keys))
        self._state[ranked] = np.r_[0, np.cumsum(fresh, dtype=np.int64)]

    def _sorted(self, numbers: Ints, sizes: Ints) -> _Sorted:
        named = np.argsort(self._order[numbers])
        largest_first = (
            self._state[numbers] << EPISODE_BITS
        ) - sizes  # within a state; a stable sort keeps names in order
        place = named[np.argsort(largest_first[named], kind="stable")]
        fresh = changes(self._state[numbers[place]])
        return _Sorted(place, np.cumsum(fresh) - 1, np.append(np.flatnonzero(fresh), len(place)))

    def _kept(self, options: _Sorted, numbers: Ints, sizes: Ints) -> Flags:
        """By state: whether there is a choice, and it is one of the most visited of its depth."""
        first = options.place[options.begins[:-1]]
        depth = np.array([len(self._shown.keys[number][0]) for number in numbers[first].tolist()], np.int64)
        visits = np.bincount(options.state, sizes[options.place], len(first))
        busiest = np.zeros(len(first), np.bool_)
        for wanted in (1, 2):
            at = np.flatnonzero(depth == wanted)
            busiest[at[np.argsort(-visits[at], kind="stable")[:MAX_STATES]]] = True
        return busiest & (np.diff(options.begins) > 1)

    def _told(self, options: _Sorted, numbers: Ints, asked: int) -> Told:
        begin, end = options.begins[options.state[asked]], options.begins[options.state[asked] + 1]
        keys = [self._shown.keys[number] for number in numbers[options.place[begin : min(end, begin + NAMED + 1)]]]
        after, choice = self._shown.keys[numbers[options.place[asked]]]
        instead = [name for _, name in keys if name != choice][:NAMED]
        subject = f"after {' → '.join(after)} the next move is {choice} (not {' or '.join(instead)})"
        return Told((*after, "then", choice), subject, {"after": [*after], "choice": choice, "instead": instead})


def _worth_asking(options: _Sorted, sizes: Ints, least: int) -> Flags:
    """Whether each option is frequent enough, and does not say the same as another with the sign turned."""
    frequent = (sizes[options.place] >= least) & (options.turn < MAX_OPTIONS)
    count = np.diff(options.begins)
    mirrored = (count == 2) & (np.bincount(options.state, frequent, len(count)) == 2)
    return np.asarray(frequent & ~(mirrored[options.state] & (options.turn == 1)), np.bool_)
