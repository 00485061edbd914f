"""The statistics that mining needs, in closed form.

Tests ask whether the episodes with a property are an unusual draw from all episodes compared, so every p is for draws
without replacement: exact for two-valued rewards (hypergeometric), Student's t where the mean of so many rewards is
near enough to normal, else a bound that holds for any bounded values (Hoeffding 1963, theorem 1 and section 6).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

__all__ = [
    "Comparison",
    "Sample",
    "Samples",
    "compare",
    "hoeffding_p",
    "hypergeometric_p",
    "incomplete_beta",
    "q_values",
    "student_p",
    "student_quantile",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

NORMAL_SKEW = 30.0  # a mean of n values is near normal when n >= 30 skewness² (an old rule; see the tests)
NORMAL_KURTOSIS = 5.0  # … and n >= 5 excess kurtosis
SMALLEST_NORMAL = 5
NEAR_NORMAL = 100  # degrees of freedom


class Sample(msgspec.Struct, frozen=True):
    """Sums of n values and their powers, and how many are the population's least and most: enough to compare."""

    n: int
    s1: float
    s2: float
    s3: float
    s4: float
    low: int
    high: int

    def without(self, part: Sample) -> Sample:
        """The rest of this sample when ``part`` is taken out."""
        return Sample(*(getattr(self, name) - getattr(part, name) for name in self.__struct_fields__))

    @property
    def mean(self) -> float:
        return self.s1 / self.n

    @property
    def spread(self) -> float:
        """Sum of squared deviations from the mean."""
        return max(self.s2 - self.n * self.mean**2, 0.0)

    @property
    def shape(self) -> tuple[float, float]:
        """Skewness and excess kurtosis of the values as a population."""
        m, variance = self.mean, self.spread / self.n
        if variance <= 0:
            return 0.0, 0.0
        third = self.s3 / self.n - 3 * m * self.s2 / self.n + 2 * m**3
        fourth = self.s4 / self.n - 4 * m * self.s3 / self.n + 6 * m * m * self.s2 / self.n - 3 * m**4
        return third / variance**1.5, fourth / variance**2 - 3


class Samples:
    """Samples of ``rewards`` (NaN: unknown, left out) by their indices, each from one table of powers."""

    def __init__(self, rewards: Floats) -> None:
        known = ~np.isnan(rewards)
        values = np.where(known, rewards, 0.0)
        self.least = float(rewards[known].min()) if known.any() else 0.0
        self.most = float(rewards[known].max()) if known.any() else 0.0
        ends = (known & (rewards == self.least), known & (rewards == self.most))
        self._table = np.stack([known, values, values**2, values**3, values**4, *ends], axis=1).astype(np.float64)
        self.everything = self.of(np.arange(len(rewards)))

    def of(self, indices: Ints) -> Sample:
        """The sample of the rewards at ``indices``."""
        n, s1, s2, s3, s4, low, high = self._table[indices].sum(axis=0).tolist()
        return Sample(int(n), s1, s2, s3, s4, int(low), int(high))


class Comparison(msgspec.Struct, frozen=True):
    """Two groups: their means, the shrunk difference, its 95 % interval and an uncorrected two-sided p."""

    inside: float
    outside: float
    effect: float
    low: float
    high: float
    p: float


def compare(part: Sample, everything: Sample, least: float, most: float) -> Comparison | None:
    """``part`` against the rest of ``everything``; None where either is empty.

    The difference is shrunk towards 0 as if effects had, beforehand, the standard deviation of the rewards; the
    interval is that of the same normal model, with Student's quantile for the unknown spread.
    """
    rest = everything.without(part)
    if part.n < 1 or rest.n < 1:
        return None
    sd = math.sqrt(everything.spread / (everything.n - 1))
    noise = sd * math.sqrt(1 / part.n + 1 / rest.n)
    trust = sd**2 / (sd**2 + noise**2) if sd > 0 else 0.0
    effect = (part.mean - rest.mean) * trust
    reach = student_quantile(everything.n - 1) * noise * math.sqrt(trust)
    p = _p_value(part, rest, everything, least, most)
    return Comparison(part.mean, rest.mean, effect, effect - reach, effect + reach, p)


def _p_value(part: Sample, rest: Sample, everything: Sample, least: float, most: float) -> float:
    if most <= least or everything.spread <= 1e-12 * everything.n * max(most**2, least**2):
        return 1.0
    if everything.low + everything.high == everything.n:
        return hypergeometric_p(part.high, part.n, everything.high, everything.n)
    small = part if part.n <= rest.n else rest
    skew, kurtosis = everything.shape
    if small.n >= max(SMALLEST_NORMAL, NORMAL_SKEW * skew**2, NORMAL_KURTOSIS * kurtosis):
        within = part.spread + rest.spread
        freedom = everything.n - 2
        error = math.sqrt(max(within / freedom, 1e-300) * (1 / part.n + 1 / rest.n))
        return student_p(abs(part.mean - rest.mean) / error, freedom)
    width = most - least
    return hoeffding_p((small.mean - least) / width, (everything.mean - least) / width, small.n)


def hypergeometric_p(hits: int, drawn: int, good: int, total: int) -> float:
    """Two-sided p (twice the smaller tail) of ``hits`` good ones among ``drawn`` of ``total`` with ``good`` good."""
    least, most = max(0, drawn + good - total), min(drawn, good)
    logs = _log_factorials(1 << max(total, 1).bit_length())
    k = np.arange(least, most + 1)
    ways = logs[good] - logs[k] - logs[good - k]
    ways += logs[total - good] - logs[drawn - k] - logs[total - good - drawn + k]
    chances = np.exp(ways - (logs[total] - logs[drawn] - logs[total - drawn]))
    at = hits - least
    return min(1.0, 2 * min(float(chances[: at + 1].sum()), float(chances[at:].sum())))


def hoeffding_p(mean: float, expected: float, n: int) -> float:
    """Bound of the two-sided p of a ``mean`` of ``n`` values in [0, 1] whose population's mean is ``expected``."""
    mean, expected = min(max(mean, 0.0), 1.0), min(max(expected, 1e-12), 1 - 1e-12)
    divergence = mean * math.log(mean / expected) if mean > 0 else 0.0
    divergence += (1 - mean) * math.log((1 - mean) / (1 - expected)) if mean < 1 else 0.0
    return min(1.0, 2 * math.exp(-n * max(divergence, 0.0)))


def student_p(t: float, freedom: float) -> float:
    """Two-sided p of ``t`` under Student's distribution; beyond 100 degrees of freedom by Wallace's (1959) normal."""
    if freedom > NEAR_NORMAL:
        z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
        return math.erfc(z / math.sqrt(2))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=4_096)
def student_quantile(freedom: int, p: float = 0.05) -> float:
    """The t that is exceeded in absolute value with probability ``p``."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > p else (low, middle)
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz & Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """1 + d1 / (1 + d2 / (1 + …)), evaluated from the far end."""
    value = 1.0
    for m in range(60, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + even / value
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        value = 1 + odd / value
    return value


def q_values(p: Floats) -> Floats:
    """False-discovery-corrected p (Benjamini & Hochberg 1995), in the order given."""
    count = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * count / np.arange(1, count + 1)
    corrected = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    result = np.empty(count)
    result[order] = corrected
    return result


@lru_cache(maxsize=4)
def _log_factorials(size: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
