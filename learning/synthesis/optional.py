"""Steps that some of the episodes behind a skill took and others left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from prowess.learning.synthesis.search import Keys, last_places

__all__ = ["optional"]

SOME = 1 / 3  # of the episodes: what fewer did in between is their own
MOST = 2  # that are told of one step


def optional(sequences: Sequence[Keys], keys: Keys) -> list[tuple[str, ...]]:
    """For each of ``keys`` the moves that at least a third of ``sequences`` made just before it, the commonest first.

    Every sequence shows ``keys`` in order; the last such places count, as where arguments are taken from.
    """
    before: list[Counter[str]] = [Counter() for _ in keys]
    for sequence in sequences:
        places = last_places(sequence, keys)
        for step, (start, end) in enumerate(zip([-1, *places], places, strict=False)):
            before[step].update(set(sequence[max(start + 1, 0) : end]) - set(keys))
    least = max(SOME * len(sequences), 2)
    return [
        tuple(key for key, count in sorted(found.items(), key=lambda item: (-item[1], item[0])) if count >= least)[
            :MOST
        ]
        for found in before
    ]
