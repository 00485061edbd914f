"""The statistics that mining needs, in closed form, over many groups of episodes at once.

Tests ask whether the episodes with a property are an unusual draw from all episodes compared, so every p is for draws
without replacement: exact for two-valued rewards (hypergeometric), Student's t where the mean of so many rewards is
near enough to normal, else a bound that holds for any bounded values (Hoeffding 1963, theorem 1 and section 6).

Rewards are counted in whole thousandths of a point: sums of integers are exact, so that the order in which episodes
came can change no result.
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np

from prowess.learning.arrays import Flags, Floats, Ints

__all__ = [
    "Comparisons",
    "Moments",
    "Rewards",
    "Sums",
    "compare",
    "hoeffding_p",
    "hypergeometric_p",
    "incomplete_beta",
    "q_values",
    "student_p",
    "student_quantile",
]

UNIT = 1_000  # counted parts of a reward point
COARSE = 10  # … and how many of them are one part where third and fourth powers are summed, to stay within 64 bits
LARGEST = 10.0  # points; no reward is beyond
NORMAL_SKEW = 30.0  # a mean of n values is near normal when n >= 30 skewness² (an old rule; see the tests)
NORMAL_KURTOSIS = 5.0  # … and n >= 5 excess kurtosis
SMALLEST_NORMAL = 5
NEAR_NORMAL = 100  # degrees of freedom
NORMAL_95 = 1.959963984540054
SURELY = 40  # draws of two-valued rewards whose smallest p is below 2 / 2⁴⁰, as good as 0
NEGLIGIBLE = 1e-9  # of a tail: what further terms are not worth adding
TERMS = 8  # added before those that are done are left out, which costs as much as two of them


class Sums(msgspec.Struct, frozen=True):
    """By group: how many rewards are known, their sum and that of their squares (in thousandths of a point), and how
    many are the least and the most of all."""

    n: Ints
    s1: Ints
    s2: Ints
    low: Ints
    high: Ints

    def without(self, part: Sums) -> Sums:
        """The rest of each group when ``part`` is taken out."""
        return Sums(*(getattr(self, name) - getattr(part, name) for name in self.__struct_fields__))

    def at(self, places: Ints | slice) -> Sums:
        """The groups at ``places``."""
        return Sums(*(getattr(self, name)[places] for name in self.__struct_fields__))

    @property
    def mean(self) -> Floats:
        return np.asarray(self.s1 / np.maximum(self.n, 1), np.float64)

    @property
    def spread(self) -> Floats:
        """Sum of squared deviations from the mean; exactly 0 where all are equal."""
        spread = self.s2 - self.s1 * self.mean
        return np.where(spread < 0.25, 0.0, spread)


class Moments(msgspec.Struct, frozen=True):
    """By group: how many rewards are known, and the sums of their first four powers (in hundredths of a point)."""

    n: Ints
    s1: Ints
    s2: Ints
    s3: Ints
    s4: Ints

    @property
    def shape(self) -> tuple[Floats, Floats]:
        """Skewness and excess kurtosis of each group as a population; 0 where all are equal."""
        n = np.maximum(self.n, 1)
        m, second = self.s1 / n, self.s2 / n
        variance = second - m**2
        varied = variance > 1e-9 * np.maximum(second, 1.0)
        scale = np.where(varied, variance, 1.0)
        third = self.s3 / n - 3 * m * second + 2 * m**3
        fourth = self.s4 / n - 4 * m * self.s3 / n + 6 * m * m * second - 3 * m**4
        return np.where(varied, third / scale**1.5, 0.0), np.where(varied, fourth / scale**2 - 3, 0.0)


class Rewards:
    """The rewards of episodes by number (NaN: unknown), from which groups of episodes are summed."""

    def __init__(self, rewards: Floats) -> None:
        known = ~np.isnan(rewards)
        points = np.clip(np.where(known, rewards, 0.0), -LARGEST, LARGEST)
        self._value = np.rint(points * UNIT).astype(np.int64)
        some = self._value[known]
        self.least, self.most = (int(some.min()), int(some.max())) if len(some) else (0, 0)
        ends = (known & (self._value == self.least), known & (self._value == self.most))
        # Three counts in one integer: one sum instead of three. No group has two million members.
        self._counts = known.astype(np.int64) | ends[0].astype(np.int64) << 21 | ends[1].astype(np.int64) << 42
        self._two = self.least < self.most and bool((known == (ends[0] | ends[1])).all())
        self._square = self._value**2
        self._coarse = np.rint(self._value / COARSE).astype(np.int64)

    def sums(self, members: Ints, begins: Ints) -> Sums:
        """Of each group: the episodes ``members[begins[i]:begins[i + 1]]``, none empty."""
        counts = _summed(self._counts, members, begins)
        ones = (1 << 21) - 1
        low, high = counts >> 21 & ones, counts >> 42
        if self._two:  # then the counts say it all
            s1, s2 = (low * self.least**power + high * self.most**power for power in (1, 2))
        else:
            s1, s2 = _summed(self._value, members, begins), _summed(self._square, members, begins)
        return Sums(counts & ones, s1, s2, low, high)

    def moments(self, members: Ints, begins: Ints) -> Moments:
        """The moments of each group."""
        powers = (_summed(self._coarse**power, members, begins) for power in range(1, 5))
        return Moments(_summed(self._counts, members, begins) & ((1 << 21) - 1), *powers)


def _summed(values: Ints, members: Ints, begins: Ints) -> Ints:
    if len(begins) < 2:
        return np.zeros(0, np.int64)
    return np.asarray(np.add.reduceat(values.take(members), begins[:-1]), np.int64)


class Comparisons(msgspec.Struct, frozen=True):
    """Of pairs of groups, in points: their means, the shrunk difference, its 95 % interval and an uncorrected
    two-sided p; NaN where one of the two has no known reward. ``attainable`` is the smallest p that groups of these
    sizes could have had, whatever their rewards."""

    inside: Floats
    outside: Floats
    effect: Floats
    low: Floats
    high: Floats
    p: Floats
    attainable: Floats


def compare(
    part: Sums, whole: Sums, shape: tuple[Floats, Floats], least: int, most: int, rate: float | None = None
) -> Comparisons:
    """Each ``part`` against the rest of its ``whole``, which has ``shape`` (see ``Moments``).

    With a ``rate``, p is 1 for those that ``q_values`` does not count at this rate; working it out is most of the time.
    The difference is shrunk towards 0 as if effects had, beforehand, the standard deviation of the rewards; the
    interval is that of the same normal model, with Student's quantile for the unknown spread, as far as two means of
    rewards can differ at all.
    """
    rest = whole.without(part)
    possible = (part.n > 0) & (rest.n > 0)
    m, k, n = np.maximum(part.n, 1), np.maximum(rest.n, 1), np.maximum(whole.n, 2)
    sd = np.sqrt(whole.spread / (n - 1)) / UNIT
    share = 1 / m + 1 / k
    # The noise's variance is that of the rewards times share, so the reward's own variance falls out of the quotient.
    trust = np.where(sd > 0, 1 / (1 + share), 0.0)
    inside, outside = part.mean / UNIT, rest.mean / UNIT
    effect = (inside - outside) * trust
    reach = _quantiles(n - 1) * sd * np.sqrt(share * trust)
    p = np.ones((2, len(m)))
    chosen = slice(None) if possible.all() else np.flatnonzero(possible)
    skew, kurtosis = (side[chosen] for side in shape)
    needed = np.maximum(SMALLEST_NORMAL, np.maximum(NORMAL_SKEW * skew**2, NORMAL_KURTOSIS * kurtosis))
    p[:, chosen] = _p_values(part.at(chosen), rest.at(chosen), whole.at(chosen), needed, (least, most), rate)
    low, high = np.maximum(effect - reach, -2 * LARGEST), np.minimum(effect + reach, 2 * LARGEST)
    columns = (inside, outside, effect, low, high, *p)
    return Comparisons(*(np.where(possible, column, np.nan) for column in columns))


def _quantiles(freedom: Ints) -> Floats:
    distinct, place = np.unique(freedom, return_inverse=True)
    return np.array([student_quantile(int(value)) for value in distinct], np.float64)[place]


def _p_values(
    part: Sums, rest: Sums, whole: Sums, needed: Floats, ends: tuple[int, int], rate: float | None
) -> tuple[Floats, Floats]:
    """The p of each comparison and the smallest that its sizes allow; ``needed`` is how many make a mean normal, and
    ``ends`` are the least and the most reward."""
    p = np.ones((2, len(part.n)))
    least, width = ends[0], max(ends[1] - ends[0], 1)
    varied = (whole.spread > 0) & (ends[1] > least)
    two = varied & (whole.low + whole.high == whole.n)
    small = np.minimum(part.n, rest.n)
    normal = varied & ~two & (small >= needed)
    rare = varied & ~two & ~normal
    expected = (whole.mean - least) / width
    p[1, normal] = 0.0
    p[1, two] = _least_of_draws(part.n[two], whole.high[two], whole.n[two])
    p[1, rare] = _least_of_bounds(expected[rare], small[rare])
    if rate is not None:
        asked = _testable(p[1], rate)
        two, normal, rare = two & asked, normal & asked, rare & asked
    smaller = (np.where(part.n <= rest.n, part.mean, rest.mean) - least) / width
    p[0, two] = hypergeometric_p(part.high[two], part.n[two], whole.high[two], whole.n[two])
    p[0, normal] = _student(part, rest, np.flatnonzero(normal))
    p[0, rare] = hoeffding_p(smaller[rare], expected[rare], small[rare])
    return p[0], p[1]


def _least_of_draws(drawn: Ints, good: Ints, total: Ints) -> Floats:
    """The smallest p that draws of these sizes can have; 0 where it is next to nothing."""
    attainable = np.zeros(len(drawn))
    few = np.flatnonzero(np.minimum(drawn, total - drawn) < SURELY)
    drawn, good, total = drawn[few], good[few], total[few]
    ends = (np.maximum(0, drawn + good - total), np.minimum(drawn, good))
    attainable[few] = np.minimum(*(hypergeometric_p(end, drawn, good, total) for end in ends))
    return attainable


def _least_of_bounds(expected: Floats, n: Ints) -> Floats:
    """The smallest p that means of ``n`` values can have."""
    none, all_ = (hoeffding_p(np.full(len(n), end), expected, n) for end in (0.0, 1.0))
    return np.minimum(none, all_)


def _student(part: Sums, rest: Sums, places: Ints) -> Floats:
    one, other = part.at(places), rest.at(places)
    freedom = one.n + other.n - 2
    within = np.maximum((one.spread + other.spread) / freedom, 1e-300)
    t = np.abs(one.mean - other.mean) / np.sqrt(within * (1 / one.n + 1 / other.n))
    return np.array([student_p(*pair) for pair in zip(t.tolist(), freedom.tolist(), strict=True)], np.float64)


def hypergeometric_p(hits: Ints, drawn: Ints, good: Ints, total: Ints) -> Floats:
    """Two-sided p (twice the tail that ``hits`` lies in) of ``hits`` good ones among ``drawn`` of ``total`` with
    ``good`` good, each an array."""
    bad = total - good
    # The upper tail of the good ones is the lower one of the bad ones.
    below = hits * total <= drawn * good
    k, good, bad = np.where(below, hits, drawn - hits), np.where(below, good, bad), np.where(below, bad, good)
    logs = _log_factorials(1 << int(total.max(initial=1)).bit_length())
    first = logs[good] - logs[k] - logs[good - k] + logs[bad] - logs[drawn - k] - logs[bad - drawn + k]
    first = np.exp(first - (logs[total] - logs[drawn] - logs[total - drawn]))
    return np.asarray(np.minimum(1.0, 2 * first * _lower_tails(k, drawn, good, bad)), np.float64)


def _lower_tails(k: Ints, drawn: Ints, good: Ints, bad: Ints) -> Floats:
    """P(X <= k) / P(X = k), term by term for all at once; terms that have become negligible count as 0."""
    tails = np.ones(len(k))
    at = np.flatnonzero(k)
    # A term is the one before times (k)(bad - drawn + k) / ((good - k + 1)(drawn - k + 1)), with k one less each time.
    factors = np.stack([k, good - k + 1, bad - drawn + k, drawn - k + 1]).astype(np.float64).take(at, axis=1)
    steps = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    tail, term, product = np.ones(len(at)), np.ones(len(at)), np.empty((2, len(at)))
    while len(at):
        one, other = factors[:2], factors[2:]
        times, by = product
        for _ in range(TERMS):
            np.multiply(one, other, out=product)
            term *= times
            term /= by
            tail += term
            term *= term > np.multiply(tail, NEGLIGIBLE, out=times)
            factors += steps
        tails[at] = tail
        stay = np.flatnonzero(term)
        at, factors, tail, term = at[stay], factors.take(stay, axis=1), tail[stay], term[stay]
        product = np.empty((2, len(at)))
    return tails


def hoeffding_p(mean: Floats, expected: Floats, n: Ints) -> Floats:
    """Bound of the two-sided p of a ``mean`` of ``n`` values in [0, 1] whose population's mean is ``expected``."""
    mean, expected = np.clip(mean, 0.0, 1.0), np.clip(expected, 1e-12, 1 - 1e-12)
    above, below = np.maximum(mean, 1e-300), np.maximum(1 - mean, 1e-300)
    divergence = mean * np.log(above / expected) + (1 - mean) * np.log(below / (1 - expected))
    return np.asarray(np.minimum(1.0, 2 * np.exp(-n * np.maximum(divergence, 0.0))), np.float64)


def student_p(t: float, freedom: float) -> float:
    """Two-sided p of ``t`` under Student's distribution; beyond 100 degrees of freedom by Wallace's (1959) normal."""
    if freedom > NEAR_NORMAL:
        z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
        return math.erfc(z / math.sqrt(2))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=4_096)
def student_quantile(freedom: int) -> float:
    """The t that is exceeded in absolute value with probability 0.05; beyond 100 degrees by its expansion around the
    normal quantile (Abramowitz & Stegun 26.7.5)."""
    z = NORMAL_95
    if freedom > NEAR_NORMAL:
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > 0.05 else (low, middle)
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


def q_values(p: Floats, attainable: Floats, family: Ints, rate: float) -> Floats:
    """False-discovery-corrected p (Benjamini & Hochberg 1995), in the order given; NaN stays and counts for none.

    Each family of hypotheses (numbered from 0) has the same say, however large it is (weights: Genovese et al. 2006).
    What is ``attainable`` with groups so small could not be called proven at ``rate`` anyhow, so that it is not counted
    (Tarone 1990; Gilbert 2005) and gets 1. Both are decided without looking at any p.
    """
    weighted = np.full(len(p), np.nan)
    families = np.unique(family).tolist()
    for number in families:
        own = np.flatnonzero((family == number) & ~np.isnan(p))
        tested = own[_testable(attainable[own], rate / len(families))]
        weighted[tested] = p[tested] * len(families) * len(tested)
    result = np.where(np.isnan(p), np.nan, 1.0)
    tested = np.flatnonzero(~np.isnan(weighted))
    order = tested[np.argsort(weighted[tested], kind="stable")]
    scaled = weighted[order] / np.arange(1, len(order) + 1)
    result[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return result


def _testable(attainable: Floats, rate: float) -> Flags:
    """Those that could be proven even if only they were tested: the fewest for which that is true."""
    ranked = np.sort(attainable)
    counts = np.arange(1, len(ranked) + 1)
    possible = np.searchsorted(ranked, rate / counts, side="right") <= counts
    limit = rate / counts[np.argmax(possible)] if len(ranked) else 0.0
    return np.asarray(attainable <= limit, np.bool_)


@lru_cache(maxsize=4)
def _log_factorials(size: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
