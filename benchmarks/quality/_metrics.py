"""Measures of ranked answers, and how sure a difference of two methods is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interval", "hit", "interval", "mean", "paired", "recall", "reciprocal_rank"]

SAMPLES = 2_000
SEED = 7


class Interval(NamedTuple):
    """A mean with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def rounded(self) -> list[float]:
        return [round(float(value), 4) for value in self]


def hit(ranked: Sequence[str], gold: Collection[str]) -> float:
    """1 where the first of ``ranked`` is right."""
    return float(bool(ranked) and ranked[0] in gold)


def recall(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """The share of ``gold`` that is among the first ``k``."""
    return len(set(ranked[:k]) & set(gold)) / len(set(gold)) if gold else 0.0


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """1 / the place of the first that is right, 0 where none is."""
    return next((1 / place for place, key in enumerate(ranked, 1) if key in gold), 0.0)


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def interval(values: Sequence[float], groups: Sequence[str] | None = None) -> Interval:
    """The mean of ``values`` with its percentile bootstrap interval; whole ``groups`` are drawn where given."""
    held = np.asarray(values, np.float64)
    if not len(held):
        return Interval(0.0, 0.0, 0.0)
    sums, counts = _grouped(held, groups)
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (SAMPLES, len(sums)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(held.mean()), float(low), float(high))


def paired(ours: Sequence[float], theirs: Sequence[float], groups: Sequence[str] | None = None) -> Interval:
    """The mean of ``ours`` - ``theirs``, item by item; ``groups`` (such as tasks) are drawn as wholes."""
    return interval(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64), groups)  # type: ignore[arg-type]


def _grouped(values: NDArray[np.float64], groups: Sequence[str] | None) -> tuple[NDArray[np.float64], ...]:
    if groups is None:
        return values, np.ones(len(values))
    _, place = np.unique(np.asarray(groups), return_inverse=True)
    return np.bincount(place, weights=values).astype(np.float64), np.bincount(place).astype(np.float64)
