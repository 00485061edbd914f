"""When a pattern counts as proven, and from how many episodes one can be at all."""

from __future__ import annotations

from itertools import count
from math import comb

from prowess.storage.models import Pattern

__all__ = ["SIGNIFICANT", "fewest", "proven"]

SIGNIFICANT = 0.05  # share of false ones among the patterns called proven


def proven(pattern: Pattern) -> bool:
    """Whether it was compared and stands the correction for everything that was."""
    return pattern.q_value is not None and pattern.q_value < SIGNIFICANT


def fewest(kinds: int) -> int:
    """The fewest scored episodes that could prove anything, where patterns of ``kinds`` kinds are compared.

    Nothing is less probable than one division of them into equal groups, so no two-sided p is below two in that many
    divisions; each kind has the same share of the rate (``prowess.learning.mining.stats.q_values``). It is a bound:
    most take more, since several things are compared of each kind.
    """
    return next(size for size in count(2) if comb(size, size // 2) * SIGNIFICANT >= 2 * kinds)
