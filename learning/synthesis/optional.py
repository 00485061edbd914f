"""What the episodes behind a skill did between its steps: all of them, or some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from prowess.learning.synthesis.search import Keys, last_places

__all__ = ["Before", "before_steps", "least_of"]

SOME = 1 / 3  # of the episodes: what fewer did in between is their own
MOST = 2  # that are told of one step where some did them
MOST_OF_ALL = 3  # where all did


class Before(NamedTuple):
    """Moves just before a step. ``every`` are those that all episodes made, in their usual order; ``some`` those that
    a third made, the commonest first; ``share`` how many of them made one of these: ``some``, ``most``, or "" for all.

    ``counts`` has how many episodes made each.
    """

    every: tuple[str, ...]
    some: tuple[str, ...]
    share: str
    counts: Counter[str]


def before_steps(sequences: Sequence[Keys], keys: Keys, *, left_out: Sequence[frozenset[str]] = ()) -> list[Before]:
    """For each of ``keys`` what ``sequences`` did just before it. Every sequence shows ``keys`` in order; the last such
    places count, as where arguments are taken from. ``left_out`` has, for each of ``keys``, moves that are told of
    otherwise."""
    between: list[list[Keys]] = [[] for _ in keys]
    for sequence in sequences:
        places = last_places(sequence, keys)
        for step, (start, end) in enumerate(zip([-1, *places], places, strict=False)):
            between[step].append(sequence[max(start + 1, 0) : end])
    nothing = [frozenset[str]()] * len(keys)
    return [_before(found, frozenset(keys) | told) for found, told in zip(between, left_out or nothing, strict=True)]


def least_of(episodes: int) -> float:
    """How many of them make a move one that some make."""
    return max(SOME * episodes, 2)


def _before(found: Sequence[Keys], left_out: frozenset[str]) -> Before:
    made = [set(moves) - left_out for moves in found]
    counts = Counter(move for moves in made for move in moves)
    every = [move for move, count in counts.items() if count == len(found) > 1]
    if every:
        place = {move: sum(_from_end(moves, move) for moves in found) for move in every}
        every = sorted(every, key=lambda move: (-place[move], move))[-MOST_OF_ALL:]
    least = least_of(len(found))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    some = [move for move, count in ranked if least <= count < len(found)][: MOST - min(len(every), MOST)]
    having = sum(not moves.isdisjoint(some) for moves in made)
    share = "" if having == len(found) else "most" if having * 2 > len(found) else "some"
    return Before(tuple(every), tuple(some), share, counts)


def _from_end(moves: Keys, move: str) -> int:
    return moves[::-1].index(move)
