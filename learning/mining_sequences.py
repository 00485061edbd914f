"""Frequent sequences of moves: contiguous ones, and ones with up to two other moves between their members.

Grown level by level from the positions where they end (as in PrefixSpan, Pei et al. 2001), all positions of a level at
once. Which sequences are looked at depends on their support alone, never on rewards, so that tests on them stay honest.

Each level is kept, so that new episodes cost only their own positions: a sequence that was followed before is followed
on where positions are new, one that was not is followed from all of its positions. What is then kept is decided by the
supports of now, so the result is that of growing from nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from prowess.learning.mining_candidates import Candidates, Told, marks_of
from prowess.learning.mining_incidence import Groups, Ints, distinct, inserted, slices

__all__ = ["MOST_VERBS", "Grown", "Growth", "Moves", "sequences"]

LONGEST = 6
REACH = 3  # a gapped sequence's next member is at most the third move on
ROW_BUDGET = 60_000  # positions followed per level: bounds the time on large stores, the rarest sequences go first
LEVEL_BUDGET = 600  # sequences kept per level and family

# A row is (sequence so far, next move, position) in one integer.
_POSITION_BITS, _VERB_BITS = 24, 19
_POSITION_MASK, _VERB_MASK = (1 << _POSITION_BITS) - 1, (1 << _VERB_BITS) - 1
_MOST_PREFIXES = 1 << 20
MOST_VERBS = 1 << _VERB_BITS

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Moves:
    """The moves of all episodes one after another: ``verb`` numbers and ``owner``, the episodes' numbers."""

    def __init__(self) -> None:
        self.verb = np.zeros(0, np.int64)
        self.owner = np.zeros(0, np.int64)

    def add(self, verbs: list[int], owners: list[int]) -> None:
        """Put new episodes at the end."""
        self.verb = np.r_[self.verb, np.array(verbs, np.int64)]
        self.owner = np.r_[self.owner, np.array(owners, np.int64)]

    @property
    def full(self) -> bool:
        """Whether positions may soon not fit into a row any more."""
        return len(self.verb) > _POSITION_MASK // 2


class Grown(msgspec.Struct, frozen=True):
    """Sequences of one family, as verb numbers, with the episodes that show each."""

    verbs: list[tuple[int, ...]]
    groups: list[Groups]


class _Ends(msgspec.Struct, frozen=True):
    """Where sequences of one length end: their numbers and the positions, ordered by both."""

    number: Ints
    position: Ints


class _Level:
    """Everything that follows the kept sequences of one length."""

    def __init__(self) -> None:
        self.rows = np.zeros(0, np.int64)
        self.followed = np.zeros(0, np.bool_)  # by the sequence's number: its rows are here
        self._codes = np.zeros(0, np.int64)  # of the longer sequences, sorted
        self._numbers = np.zeros(0, np.int64)  # of each of them
        self.verbs: list[tuple[int, ...]] = []  # of the longer sequences, by number

    def numbers(self, codes: Ints, shorter: Sequence[tuple[int, ...]]) -> Ints:
        """The numbers of longer sequences by code, each of which is there once; new ones get new numbers."""
        fresh = codes[~np.isin(codes, self._codes, assume_unique=True)]
        numbers = np.arange(len(self.verbs), len(self.verbs) + len(fresh))
        self.verbs += [(*shorter[code >> _VERB_BITS], code & _VERB_MASK) for code in fresh.tolist()]
        order = np.argsort(fresh)
        at = np.searchsorted(self._codes, fresh[order])
        self._codes, self._numbers = (
            inserted(old, at, new[order]) for old, new in ((self._codes, fresh), (self._numbers, numbers))
        )
        return np.asarray(self._numbers[np.searchsorted(self._codes, codes)], np.int64)


class Growth:
    """One family of sequences, whose next member is at most ``reach`` moves on."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._levels = [_Level() for _ in range(LONGEST - 1)]

    @property
    def full(self) -> bool:
        """Whether numbers of sequences may soon not fit into a row any more."""
        return any(len(level.verbs) > _MOST_PREFIXES // 2 for level in self._levels)

    def drop(self, gone: Flags, moves: Moves) -> None:
        """Take out the episodes whose number ``gone`` has True for."""
        for level in self._levels:
            level.rows = level.rows[~gone[moves.owner[level.rows & _POSITION_MASK]]]

    def grow(self, moves: Moves, gone: Flags, first_new: int, least: int, rank: Ints) -> Grown:
        """The frequent sequences of now; positions from ``first_new`` on were not there the last time.

        ``rank`` orders verb numbers by name, which settles which of equally frequent sequences come first.
        """
        position = np.flatnonzero(~gone[moves.owner]) if gone.any() else np.arange(len(moves.verb))
        ends = _Ends(moves.verb[position], position)
        verbs: list[tuple[int, ...]] = [(verb,) for verb in range(len(rank))]
        share = np.minimum(self._reach * np.bincount(ends.number, minlength=len(rank)) / max(len(position), 1), 1.0)
        ranks, grown = rank, Grown([], [])
        for depth, level in enumerate(self._levels):
            self._follow(level, ends, len(verbs), moves, first_new, first=depth == 0)
            counted = _counted(level.rows, moves)
            prefix, last = counted.codes >> _VERB_BITS, counted.codes & _VERB_MASK
            before = np.bincount(ends.number, minlength=len(verbs))[prefix]
            kept = _picked(counted, before, share[last], ranks[prefix] * len(rank) + rank[last], least)
            numbers = level.numbers(counted.codes[kept], verbs)
            grown.verbs.extend([level.verbs[number] for number in numbers.tolist()])
            grown.groups.append(counted.groups.at(kept))
            sizes = counted.rows[kept]
            ends = _Ends(np.repeat(numbers, sizes), counted.position[slices(counted.starts[kept], sizes)])
            verbs, ranks = level.verbs, np.zeros(len(level.verbs), np.int64)
            ranks[numbers] = np.arange(len(kept))
        return grown

    def _follow(self, level: _Level, ends: _Ends, count: int, moves: Moves, first_new: int, *, first: bool) -> None:
        """Bring the level's rows up to date with the sequences that end at ``ends``."""
        before = np.zeros(count, np.bool_)
        before[: len(level.followed)] = level.followed
        if first:
            before[:] = True  # every verb is followed, and a verb that is new has new positions only
        now = np.zeros(count, np.bool_)
        now[ends.number] = True
        if (before & ~now).any():
            level.rows = level.rows[now[level.rows >> (_VERB_BITS + _POSITION_BITS)]]
        fresh = np.flatnonzero(~before[ends.number] | (ends.position >= first_new))
        rows = distinct(_extended(ends.number[fresh], ends.position[fresh], moves, self._reach))
        level.rows = inserted(level.rows, np.searchsorted(level.rows, rows), rows)
        level.followed = now


def _extended(number: Ints, position: Ints, moves: Moves, reach: int) -> Ints:
    """Each sequence, by its end, followed by every move within ``reach``."""
    rows = []
    for distance in range(1, reach + 1):
        inside = np.flatnonzero(position + distance < len(moves.verb))
        after = position[inside] + distance
        same = moves.owner[after] == moves.owner[after - distance]
        after = after[same]
        rows.append((number[inside][same] << _VERB_BITS | moves.verb[after]) << _POSITION_BITS | after)
    return np.concatenate(rows)


class _Counted(msgspec.Struct, frozen=True):
    """All rows of a level by sequence: each one's code, its rows' positions from ``starts[i]`` on, its episodes."""

    codes: Ints
    starts: Ints
    position: Ints
    groups: Groups

    @property
    def rows(self) -> Ints:
        return np.diff(self.starts)


def _counted(rows: Ints, moves: Moves) -> _Counted:
    codes, position = rows >> _POSITION_BITS, rows & _POSITION_MASK
    episodes = moves.owner[position]
    fresh = _changes(codes)
    starts = np.r_[np.flatnonzero(fresh), len(codes)]
    pairs = np.flatnonzero(fresh | _changes(episodes))
    groups = Groups(episodes[pairs], np.asarray(np.searchsorted(pairs, starts), np.int64))
    return _Counted(codes[starts[:-1]], starts, position, groups)


def _changes(values: Ints) -> Flags:
    """Whether each is another one than that before it."""
    changed = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def _picked(counted: _Counted, before: Ints, chance: Floats, order: Ints, least: int) -> Ints:
    """Places of the sequences to keep, in ``order``: half for being frequent, half for being more frequent than
    ``before`` (positions of the same without its last move) and the ``chance`` of that move let expect."""
    support, rows = counted.groups.sizes, counted.rows
    left = support >= least
    enough = np.flatnonzero(left)
    first = _affordable(enough, support[enough], order, rows)
    left[first] = False
    others = np.flatnonzero(left)
    surprise = _surprise(support[others], before[others] * chance[others])
    kept = np.r_[first, _affordable(others, surprise, order, rows)]
    return np.asarray(kept[np.argsort(order[kept])], np.int64)


def _affordable(places: Ints, worth: Ints | Floats, order: Ints, rows: Ints) -> Ints:
    """Of ``places`` those of most ``worth`` that half of the budgets allow; one in any case."""
    most = LEVEL_BUDGET // 2
    if len(places) > most:  # sorting them all would take longer than everything else
        best = np.flatnonzero(worth >= np.partition(worth, len(worth) - most)[len(worth) - most])
        places, worth = places[best], worth[best]
    ranked = places[np.lexsort((order[places], -worth))][:most]
    within = np.cumsum(rows[ranked]) <= ROW_BUDGET // 2
    within[:1] = True
    return ranked[within]


def _surprise(support: Ints, expected: Floats) -> Floats:
    """How far counts lie above what was expected, in standard deviations (signed root of the Poisson deviance)."""
    deviance = 2 * (support * np.log(support / expected) - (support - expected))
    return np.asarray(np.sign(support - expected) * np.sqrt(np.maximum(deviance, 0.0)), np.float64)


def sequences(tight: Grown, loose: Grown, names: list[str], rank: Ints, repeated: Flags) -> Candidates:
    """Closed sequences of two to six moves: ``tight`` are contiguous, ``loose`` may have gaps.

    ``names``, their ``rank`` in alphabetical order and ``repeated`` (whether its runs are mostly longer than one) are
    by verb number.
    """
    verbs = [*tight.verbs, *loose.verbs]
    gapped = [False] * len(tight.verbs) + [True] * len(loose.verbs)
    groups = _joined([*tight.groups, *loose.groups])
    chosen = _closed(verbs, gapped, marks_of(groups).tolist())
    lengths = np.array([len(verbs[place]) for place in chosen], np.int64)
    order = _alphabetical([verbs[place] for place in chosen], lengths, [gapped[place] for place in chosen], rank)
    chosen = [chosen[at] for at in order.tolist()]

    def told(index: int) -> Told:
        place = chosen[index]
        shown = [names[verb] + ("+" if repeated[verb] else "") for verb in verbs[place]]
        subject = f"{(' … ' if gapped[place] else ' → ').join(shown)} is done"
        content = (*(names[verb] for verb in verbs[place]), "gapped" if gapped[place] else "direct")
        tools = [names[verb].partition(":")[0] for verb in verbs[place]]
        return Told(content, subject, {"sequence": shown, "gapped": gapped[place], "tools": tools})

    return Candidates("sequence", groups.at(np.array(chosen, np.int64)), lengths[order], told)


def _alphabetical(verbs: list[tuple[int, ...]], lengths: Ints, gapped: list[bool], rank: Ints) -> Ints:
    """The order of sequences by length, then by name, the one without gaps first."""
    ranks = np.full((LONGEST, len(verbs)), -1, np.int64)
    row = np.repeat(np.arange(len(verbs)), lengths)
    ranks[slices(np.zeros(len(verbs), np.int64), lengths), row] = rank[[verb for told in verbs for verb in told]]
    return np.lexsort((np.array(gapped, np.bool_), *ranks[::-1], lengths))


def _joined(parts: list[Groups]) -> Groups:
    members = [np.zeros(0, np.int64), *(part.members for part in parts)]
    sizes = [np.zeros(0, np.int64), *(part.sizes for part in parts)]
    return Groups(np.concatenate(members), np.r_[0, np.cumsum(np.concatenate(sizes))])


def _closed(verbs: list[tuple[int, ...]], gapped: list[bool], marks: list[int]) -> list[int]:
    """Places of those that neither a longer sequence contains with the same episodes, nor, where gapped, the same one
    without gaps."""
    shared = Counter(marks)
    alike = [place for place, mark in enumerate(marks) if shared[mark] > 1]
    told = {(verbs[place], gapped[place]): place for place in alike}
    covered = set[int]()
    for place in alike:
        longer = verbs[place]
        parts = [longer[:gone] + longer[gone + 1 :] for gone in range(len(longer))]
        shorter = [told.get((part, gaps)) for part in parts for gaps in (False, True)]
        itself = None if gapped[place] else told.get((longer, True))
        covered.update(part for part in (*shorter, itself) if part is not None and marks[part] == marks[place])
    return [place for place in range(len(verbs)) if place not in covered]
