"""Frequent sequences of moves: contiguous ones, and ones with up to two other moves between their members.

Grown level by level from the positions where they end (as in PrefixSpan, Pei et al. 2001), all positions of a level at
once. Which sequences are looked at depends on their support alone, never on rewards, so that tests on them stay honest.

Each level is kept, so that new episodes cost only their own positions: a sequence that was followed before is followed
on where positions are new, one that was not is followed from all of its positions. What is then kept is decided by the
supports of now, so the result is that of growing from nothing.
"""

from __future__ import annotations

import msgspec
import numpy as np

from prowess.learning.arrays import Flags, Floats, Ints
from prowess.learning.mining.candidates import Candidates, Told, mixed, summed
from prowess.learning.mining.incidence import Groups, changes, distinct, inserted, slices

__all__ = ["MOST_VERBS", "Growth", "Moves", "sequences"]

LONGEST = 6
REACH = 3  # a gapped sequence's next member is at most the third move on
ROW_BUDGET = 60_000  # positions followed per level: bounds the time on large stores, the rarest sequences go first
LEVEL_BUDGET = 600  # sequences kept per level and family

# A row is (sequence so far, next move, position) in one integer.
_POSITION_BITS, _VERB_BITS = 24, 19
_POSITION_MASK, _VERB_MASK = (1 << _POSITION_BITS) - 1, (1 << _VERB_BITS) - 1
_MOST_PREFIXES = 1 << 20
MOST_VERBS = 1 << _VERB_BITS


class Moves:
    """The moves of all episodes one after another: ``verb`` numbers and ``owner``, the episodes' numbers."""

    def __init__(self) -> None:
        self.verb = np.zeros(0, np.int64)
        self.owner = np.zeros(0, np.int64)

    def add(self, verbs: list[int], owners: list[int]) -> None:
        """Put new episodes at the end."""
        self.verb = np.r_[self.verb, np.array(verbs, np.int64)]
        self.owner = np.r_[self.owner, np.array(owners, np.int64)]

    def counts(self, gone: Flags, verbs: int) -> Ints:
        """How often each verb is there, without the episodes whose number ``gone`` has True for."""
        verb = self.verb[~gone[self.owner]] if gone.any() else self.verb
        return np.bincount(verb, minlength=verbs)

    @property
    def full(self) -> bool:
        """Whether positions may soon not fit into a row any more."""
        return len(self.verb) > _POSITION_MASK // 2


class Grown(msgspec.Struct, frozen=True):
    """Sequences of one family, level by level: their verb numbers, one row each, the marks of their episodes
    (``marks_of``), and the episodes: those of row i are at ``kept[i]`` of the groups."""

    verbs: list[Ints]
    marks: list[Ints]
    groups: list[Groups]
    kept: list[Ints]


class _Ends(msgspec.Struct, frozen=True):
    """Where sequences of one length end: their numbers and the positions."""

    number: Ints
    position: Ints


class _Level:
    """Everything that follows the kept sequences of one length.

    ``codes`` (a kept sequence and the next move) are the longer sequences, sorted. Each has positions where it ends,
    ``counts`` of them, and episodes that show it, ``support`` of them with the mark ``marks``. New episodes come last,
    so what they add to a code goes to the end of what it has. ``fresh`` are the positions that were added last.
    """

    def __init__(self, length: int) -> None:
        self.codes, self.counts, self.support, self.marks, self.fresh = np.zeros((5, 0), np.int64)
        self.followed = np.zeros(0, np.bool_)  # by the shorter sequence's number: what follows it is here
        self.verbs = np.zeros((0, length), np.int64)  # of the longer sequences, by number
        self._positions, self._episodes = np.zeros((2, 0), np.int32)  # by code; half the memory to copy
        self._known = np.zeros(0, np.int64)  # codes that have a number, sorted
        self._numbers = np.zeros(0, np.int64)  # of each of them

    def numbers(self, codes: Ints, shorter: Ints) -> Ints:
        """The numbers of longer sequences by code, each of which is there once; new ones get new numbers."""
        fresh = codes[~_held(self._known, codes, np.searchsorted(self._known, codes))]
        if len(fresh):
            numbers = np.arange(len(self.verbs), len(self.verbs) + len(fresh))
            longer = np.column_stack([shorter[fresh >> _VERB_BITS], fresh & _VERB_MASK])
            self.verbs = np.concatenate([self.verbs, longer])
            order = np.argsort(fresh)
            at = np.searchsorted(self._known, fresh[order])
            self._known, self._numbers = (
                inserted(old, at, new[order]) for old, new in ((self._known, fresh), (self._numbers, numbers))
            )
        return np.asarray(self._numbers[np.searchsorted(self._known, codes)], np.int64)

    @property
    def groups(self) -> Groups:
        """The episodes of each code."""
        return Groups(self._episodes, _ends_of(self.support))

    def new_ends(self, places: Ints, numbers: Ints, followed: Flags) -> _Ends:
        """Where the codes at ``places`` end, by their ``numbers``: of those ``followed`` the fresh positions only."""
        sizes = np.where(followed[numbers], self.fresh[places], self.counts[places])
        positions = self._positions[slices(_ends_of(self.counts)[places + 1] - sizes, sizes)]
        return _Ends(np.repeat(numbers, sizes), positions.astype(np.int64))

    def keep(self, now: Flags) -> None:
        """Take out what follows shorter sequences whose number ``now`` has False for."""
        stay = now[self.codes >> _VERB_BITS]
        if not stay.all():
            self._positions = self._positions[np.repeat(stay, self.counts)]
            self._episodes = self._episodes[np.repeat(stay, self.support)]
            self._take(stay)

    def drop(self, gone: Flags, moves: Moves) -> None:
        """Take out the episodes whose number ``gone`` has True for."""
        lost = gone[moves.owner[self._positions]]
        if lost.any():
            self.counts = self.counts - _per_code(lost, self.counts)
            self._positions = self._positions[~lost]
            lost = gone[self._episodes]
            at = np.searchsorted(_ends_of(self.support)[1:], np.flatnonzero(lost), side="right")
            np.subtract.at(self.marks, at, mixed(self._episodes[lost]))
            self.support = self.support - np.bincount(at, minlength=len(self.codes))
            self._episodes = self._episodes[~lost]
            self._take(self.counts > 0)

    def _take(self, stay: Flags) -> None:
        self.codes, self.counts, self.support = self.codes[stay], self.counts[stay], self.support[stay]
        self.marks, self.fresh = self.marks[stay], np.zeros(np.count_nonzero(stay), np.int64)

    def add(self, rows: Ints, moves: Moves) -> None:
        """Put in new positions of codes: ``rows``, sorted."""
        codes, positions = rows >> _POSITION_BITS, rows & _POSITION_MASK
        episodes = moves.owner[positions]
        begins = changes(codes)
        pairs = np.flatnonzero(begins | changes(episodes))
        starts = np.flatnonzero(begins)
        fresh, firsts = codes[starts], np.searchsorted(pairs, starts)
        counts, support = (np.diff(at, append=len(of)) for at, of in ((starts, rows), (firsts, pairs)))
        at = np.searchsorted(self.codes, fresh)
        held = _held(self.codes, fresh, at)
        ends, shown = _ends_of(self.counts)[at + held], _ends_of(self.support)[at + held]
        self._positions = inserted(self._positions, np.repeat(ends, counts), positions.astype(np.int32))
        self._episodes = inserted(self._episodes, np.repeat(shown, support), episodes[pairs].astype(np.int32))
        self._make_room(fresh[~held], at[~held])
        at = np.searchsorted(self.codes, fresh)
        self.counts[at] += counts
        self.support[at] += support
        self.marks[at] += summed(mixed(episodes[pairs]), firsts)
        self.fresh[at] = counts

    def _make_room(self, codes: Ints, at: Ints) -> None:
        """Put in new codes before ``at``, without anything."""
        self.codes = inserted(self.codes, at, codes)
        self.counts, self.support, self.marks = (
            inserted(old, at, np.zeros(len(codes), np.int64)) for old in (self.counts, self.support, self.marks)
        )
        self.fresh = np.zeros(len(self.codes), np.int64)


def _held(held: Ints, codes: Ints, at: Ints) -> Flags:
    """Whether ``held``, sorted, has each of ``codes``; ``at`` is where it would be."""
    if len(held) == 0:
        return np.zeros(len(codes), np.bool_)
    return np.asarray(held[np.minimum(at, len(held) - 1)] == codes, np.bool_)


def _ends_of(sizes: Ints | Flags) -> Ints:
    """Where consecutive stretches begin, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _per_code(flags: Flags, counts: Ints) -> Ints:
    """How many of each code's positions have their flag; no code is without any."""
    ends = _ends_of(flags)[_ends_of(counts)]
    return np.asarray(ends[1:] - ends[:-1], np.int64)


class Growth:
    """One family of sequences, whose next member is at most ``reach`` moves on."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._levels = [_Level(length) for length in range(2, LONGEST + 1)]

    @property
    def full(self) -> bool:
        """Whether numbers of sequences may soon not fit into a row any more."""
        return any(len(level.verbs) > _MOST_PREFIXES // 2 for level in self._levels)

    def drop(self, gone: Flags, moves: Moves) -> None:
        """Take out the episodes whose number ``gone`` has True for."""
        for level in self._levels:
            level.drop(gone, moves)

    def grow(self, moves: Moves, gone: Flags, first_new: int, least: int, rank: Ints) -> Grown:
        """The frequent sequences of now; positions from ``first_new`` on were not there the last time.

        ``rank`` orders verb numbers by name, which settles which of equally frequent sequences come first.
        """
        before = moves.counts(gone, len(rank))
        share = np.minimum(self._reach * before / max(before.sum(), 1), 1.0)
        position = first_new + np.flatnonzero(~gone[moves.owner[first_new:]])
        ends, now = _Ends(moves.verb[position], position), np.ones(len(rank), np.bool_)
        verbs, ranks, grown = np.arange(len(rank)).reshape(-1, 1), rank, Grown([], [], [], [])
        for level, longer in zip(self._levels, [*self._levels[1:], _Level(LONGEST + 1)], strict=True):
            level.keep(now)
            level.add(distinct(_extended(ends, moves, self._reach)), moves)
            level.followed = now
            prefix, last = level.codes >> _VERB_BITS, level.codes & _VERB_MASK
            order = ranks[prefix] * len(rank) + rank[last]
            kept = _picked(level, before[prefix], share[last], order, least)
            numbers = level.numbers(level.codes[kept], verbs)
            verbs, count = level.verbs, len(level.verbs)
            grown.verbs.append(verbs[numbers])
            grown.marks.append(level.marks[kept])
            grown.groups.append(level.groups)
            grown.kept.append(kept)
            ends = level.new_ends(kept, numbers, _padded(longer.followed, count))
            before, ranks, now = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)
            before[numbers], ranks[numbers], now[numbers] = level.counts[kept], np.arange(len(kept)), True
        return grown


def _padded(flags: Flags, count: int) -> Flags:
    """``flags`` with False for those of ``count`` that came later."""
    padded = np.zeros(count, np.bool_)
    padded[: len(flags)] = flags
    return padded


def _extended(ends: _Ends, moves: Moves, reach: int) -> Ints:
    """Each sequence, by its end, followed by every move within ``reach``, as rows."""
    rows = []
    for distance in range(1, reach + 1):
        inside = np.flatnonzero(ends.position + distance < len(moves.verb))
        after = ends.position[inside] + distance
        same = moves.owner[after] == moves.owner[after - distance]
        after = after[same]
        rows.append((ends.number[inside][same] << _VERB_BITS | moves.verb[after]) << _POSITION_BITS | after)
    return np.concatenate(rows)


def _picked(level: _Level, before: Ints, chance: Floats, order: Ints, least: int) -> Ints:
    """Places of the sequences to keep, in ``order``: half for being frequent, half for being more frequent than
    ``before`` (positions of the same without its last move) and the ``chance`` of that move let expect."""
    support, rows = level.support, level.counts
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
    levels = [*tight.verbs, *loose.verbs]
    lengths = np.repeat([level.shape[1] for level in levels], [len(level) for level in levels])
    verbs = np.full((len(lengths), LONGEST), -1, np.int64)
    for level, rows in zip(levels, np.split(verbs, np.cumsum([len(level) for level in levels])[:-1]), strict=True):
        rows[:, : level.shape[1]] = level
    gapped = np.arange(len(verbs)) >= sum(map(len, tight.verbs))
    chosen = _closed(verbs, gapped, np.concatenate([*tight.marks, *loose.marks]))
    ranks = np.where(verbs[chosen] < 0, -1, rank[verbs[chosen]])
    chosen = chosen[np.lexsort((gapped[chosen], *ranks.T[::-1], lengths[chosen]))]  # by length, then by name

    def said(index: int) -> Told:
        place = chosen[index]
        told = [verb for verb in verbs[place].tolist() if verb >= 0]
        shown = [names[verb] + ("+" if repeated[verb] else "") for verb in told]
        subject = f"{(' … ' if gapped[place] else ' → ').join(shown)} is done"
        content = (*(names[verb] for verb in told), "gapped" if gapped[place] else "direct")
        tools = [names[verb].partition(":")[0] for verb in told]
        return Told(content, subject, {"sequence": shown, "gapped": bool(gapped[place]), "tools": tools})

    return Candidates("sequence", _joined(tight, loose, chosen), said, weight=lengths[chosen])


def _joined(tight: Grown, loose: Grown, chosen: Ints) -> Groups:
    """The groups of the sequences at ``chosen``, counted through both families."""
    parts, kept = [*tight.groups, *loose.groups], [*tight.kept, *loose.kept]
    firsts = _ends_of(np.array([len(part.members) for part in parts], np.int64))[:-1].tolist()
    begins = np.concatenate([part.begins[at] + first for part, at, first in zip(parts, kept, firsts, strict=True)])
    sizes = np.concatenate([part.sizes[at] for part, at in zip(parts, kept, strict=True)])[chosen]
    members = np.concatenate([part.members for part in parts])[slices(begins[chosen], sizes)]
    return Groups(members.astype(np.int64), _ends_of(sizes))


def _closed(verbs: Ints, gapped: Flags, marks: Ints) -> Ints:
    """Places of those that neither a longer sequence contains with the same episodes, nor, where gapped, the same one
    without gaps."""
    _, group, shared = np.unique(marks, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(shared[group] > 1).tolist()
    rows = {place: tuple(verb for verb in verbs[place].tolist() if verb >= 0) for place in alike}
    told = {(row, bool(gapped[place])): place for place, row in rows.items()}
    covered = np.zeros(len(verbs), np.bool_)
    for place, longer in rows.items():
        parts = [longer[:gone] + longer[gone + 1 :] for gone in range(len(longer))]
        shorter = [told.get((part, gaps)) for part in parts for gaps in (False, True)]
        itself = None if gapped[place] else told.get((longer, True))
        same = [part for part in (*shorter, itself) if part is not None and group[part] == group[place]]
        covered[same] = True
    return np.flatnonzero(~covered)
