"""Random texts that a pattern matches, made at run time so that no file of ours looks like it holds a secret."""

from __future__ import annotations

import random
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ["sample"]

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
MOST = 12  # repetitions past the least that are asked for
CLASSES = {
    ops.CATEGORY_DIGIT: "0123456789",
    ops.CATEGORY_WORD: LETTERS,
    ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_SPACE: LETTERS,
}


def sample(pattern: str, rng: random.Random) -> str:
    """A text that ``pattern`` matches, apart from what its lookarounds and boundaries ask of the context."""
    return "".join(_one(kind, value, rng) for kind, value in parser.parse(pattern))


def _one(kind: Any, value: Any, rng: random.Random) -> str:
    if kind is ops.LITERAL:
        return chr(value)
    if kind is ops.IN:
        return rng.choice(_members(value))
    if kind is ops.BRANCH:
        return _all(rng.choice(value[1]), rng)
    if kind is ops.SUBPATTERN:
        return _all(value[3], rng)
    if kind in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        least, most, inner = value
        return "".join(_all(inner, rng) for _ in range(rng.randint(least, min(most, least + MOST))))
    if kind in (ops.ANY, ops.NOT_LITERAL):
        return " "
    return ""


def _all(items: Any, rng: random.Random) -> str:
    return "".join(_one(kind, value, rng) for kind, value in items)


def _members(items: Any) -> str:
    if items[0][0] is ops.NEGATE:
        excluded = _listed(items[1:])
        return "".join(letter for letter in LETTERS if letter not in excluded) or " "
    return "".join(sorted(_listed(items)))


def _listed(items: Any) -> set[str]:
    found: set[str] = set()
    for kind, value in items:
        if kind is ops.LITERAL:
            found.add(chr(value))
        elif kind is ops.RANGE:
            found.update(chr(code) for code in range(value[0], min(value[1], 126) + 1))
        elif kind is ops.CATEGORY:
            found.update(CLASSES.get(value, LETTERS))
    return found
