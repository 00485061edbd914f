"""Counts: of what is shown, and in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

__all__ = ["SEEN_IN", "counted", "seen_in", "tally"]

T = TypeVar("T", bound=Hashable)

SEEN_IN = r"\(seen in [\d,]{1,13} episodes?\)"  # what ``seen_in`` says, as a pattern


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 skill``, ``2 skills``, ``1,000 memories``; ``plural`` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def seen_in(episodes: int) -> str:
    """``(seen in 1,000 episodes)``: stands behind what a memory says."""
    return f"(seen in {counted(episodes, 'episode')})"


def tally(shown: Iterable[T]) -> dict[T, int]:
    """How often each is there, in order of appearance. Of a few it takes about half of a ``Counter``'s time."""
    counts: dict[T, int] = {}
    for each in shown:
        counts[each] = counts.get(each, 0) + 1
    return counts
