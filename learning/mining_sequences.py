"""Frequent sequences of moves: contiguous ones, and ones with up to two other moves between their members.

Grown level by level from the positions where they end (as in PrefixSpan, Pei et al. 2001), all positions of a level at
once. Which sequences are looked at depends on their support alone, never on rewards, so that tests on them stay honest.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from prowess.learning.mining_coding import Coded, Hypothesis, Ints, distinct, distinct_pairs

__all__ = ["sequences"]

LONGEST = 6
REACH = 3  # a gapped sequence's next member is at most the third move on
ROW_BUDGET = 150_000  # positions kept per level: bounds the time on large stores, the rarest sequences go first
LEVEL_BUDGET = 500  # sequences kept per level and family


class _Found(msgspec.Struct, frozen=True):
    members: Ints
    gapped: bool


def sequences(coded: Coded, min_support: int) -> Iterator[Hypothesis]:
    """Closed sequences of two to six moves shown by at least ``min_support`` episodes."""
    tight = _grow(coded, min_support, 1)
    loose = _grow(coded, min_support, REACH)
    found = {verbs: _Found(members, False) for verbs, members in tight.items()}
    for verbs, members in loose.items():
        if verbs not in tight:
            found[verbs] = _Found(members, True)
    for verbs in _closed(found):
        yield _hypothesis(coded, verbs, found[verbs])


def _grow(coded: Coded, min_support: int, reach: int) -> dict[tuple[int, ...], Ints]:
    found: dict[tuple[int, ...], Ints] = {}
    tuples = [(verb,) for verb in range(len(coded.names))]
    keys, ends = coded.moves, np.arange(len(coded.moves))
    for _ in range(LONGEST - 1):
        keys, ends = _extend(coded, keys, ends, reach)
        present, episodes, begins = distinct_pairs(keys, coded.owner[ends])
        kept = _affordable(np.diff(begins), np.bincount(np.searchsorted(present, keys)), min_support)
        if not len(kept):
            break
        width = len(coded.names)
        fresh = [(*tuples[key // width], key % width) for key in present[kept].tolist()]
        for index, verbs in zip(kept.tolist(), fresh, strict=True):
            found[verbs] = episodes[begins[index] : begins[index + 1]]
        keys, ends = _renumber(keys, ends, present[kept])
        tuples = fresh
    return found


def _extend(coded: Coded, keys: Ints, ends: Ints, reach: int) -> tuple[Ints, Ints]:
    """Each sequence, by its end, followed by every move within ``reach``; one row per sequence and end."""
    count, width = len(coded.moves), len(coded.names)
    longer, further = [], []
    for distance in range(1, reach + 1):
        inside = ends + distance < count
        after = ends[inside] + distance
        same = coded.owner[after] == coded.owner[ends[inside]]
        after = after[same]
        longer.append(keys[inside][same] * width + coded.moves[after])
        further.append(after)
    rows = np.concatenate(longer) * count + np.concatenate(further)
    if reach > 1:
        rows = distinct(rows)
    return rows // max(count, 1), rows % max(count, 1)


def _affordable(support: Ints, rows: Ints, min_support: int) -> Ints:
    """Indices of the best supported sequences that the budgets allow, in order."""
    ranked = np.argsort(-support, kind="stable")
    ranked = ranked[support[ranked] >= min_support][:LEVEL_BUDGET]
    return np.sort(ranked[np.cumsum(rows[ranked]) <= max(ROW_BUDGET, rows[ranked[0]] if len(ranked) else 0)])


def _renumber(keys: Ints, ends: Ints, kept: Ints) -> tuple[Ints, Ints]:
    """Rows of the ``kept`` (sorted) keys, with keys replaced by their index there: integers stay small."""
    place = np.searchsorted(kept, keys)
    place[place == len(kept)] = 0
    stay = kept[place] == keys
    return place[stay], ends[stay]


def _closed(found: dict[tuple[int, ...], _Found]) -> list[tuple[int, ...]]:
    """Those that no longer sequence contains with the same episodes."""
    covered = set()
    for verbs, longer in found.items():
        for gone in range(len(verbs)):
            part = verbs[:gone] + verbs[gone + 1 :]
            shorter = found.get(part)
            if shorter is not None and len(shorter.members) == len(longer.members):
                covered.add(part)
    return [verbs for verbs in found if verbs not in covered]


def _hypothesis(coded: Coded, verbs: tuple[int, ...], found: _Found) -> Hypothesis:
    names = [coded.names[verb] for verb in verbs]
    arrow = " … " if found.gapped else " → "
    shown = arrow.join(coded.label(verb) for verb in verbs)
    return Hypothesis(
        kind="sequence",
        content=(*names, "gapped" if found.gapped else "direct"),
        members=found.members,
        subject=f"{shown} is done",
        detail={"sequence": [coded.label(verb) for verb in verbs], "gapped": found.gapped},
        weight=len(verbs),
    )
