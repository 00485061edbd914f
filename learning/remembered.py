"""What was made of texts and is remembered for the next call. It changes no result.

What a person forgets may be among the texts, so whoever forgets has all of it let go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar

__all__ = ["let_go", "remembered", "when_let_go"]

P = ParamSpec("P")
T = TypeVar("T")

_empty: list[Callable[[], object]] = []


def remembered(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Remember up to ``most`` results of a pure function, those asked for last, until all are let go."""

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        known = lru_cache(maxsize=most)(function)
        when_let_go(known.cache_clear)
        return known  # type: ignore[return-value]  # which tells no arguments

    return remembering


def when_let_go(empty: Callable[[], object]) -> None:
    """Have ``empty`` called, from any thread, when all is to be let go."""
    _empty.append(empty)


def let_go() -> None:
    """Let go of all that is remembered in this process. From any thread."""
    for empty in _empty:
        empty()
