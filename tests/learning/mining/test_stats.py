from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.mining.stats import (
    Comparisons,
    Moments,
    Rewards,
    Sums,
    compare,
    hoeffding_p,
    hypergeometric_p,
    incomplete_beta,
    q_values,
    student_p,
    student_quantile,
)


class Parts:
    """One group of rewards, ``inside``, within one with ``outside`` as well."""

    def __init__(self, inside: list[float], outside: list[float]) -> None:
        self.rewards = Rewards(np.array(inside + outside, np.float64))
        members = np.arange(len(inside) + len(outside))
        self.part, self.moments = self.summed(members[: len(inside)])
        self.whole, self.moments = self.summed(members)

    def summed(self, members: Any) -> tuple[Sums, Moments]:
        begins = np.array([0, len(members)])
        return self.rewards.sums(members, begins), self.rewards.moments(members, begins)

    def compared(self) -> Comparisons:
        return compare(self.part, self.whole, self.moments.shape, self.rewards.least, self.rewards.most)


def hypergeometric(hits: int, drawn: int, good: int, total: int) -> float:
    [p] = hypergeometric_p(*(np.array([value]) for value in (hits, drawn, good, total))).tolist()
    return float(p)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (60, 2.000), (120, 1.980), (10_000, 1.960)],
)
def test_student_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(freedom) == pytest.approx(quantile, abs=6e-4)


def test_student_p_has_its_closed_forms_for_one_and_two_degrees_of_freedom() -> None:
    assert student_p(0.0, 1) == 1.0
    assert student_p(1.0, 1) == pytest.approx(0.5)
    assert student_p(3.0, 2) == pytest.approx(1 - 3 / math.sqrt(11))


def test_student_p_does_not_jump_where_the_approximation_takes_over() -> None:
    assert student_p(4.0, 100.5) == pytest.approx(incomplete_beta(50.25, 0.5, 100.5 / 116.5), rel=2e-3)


def test_incomplete_beta_is_the_binomial_tail_it_equals() -> None:
    # I_0.4(2, 3) = P(at least 2 of 4 at 0.4)
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(1 - 0.6**4 - 4 * 0.4 * 0.6**3)


def test_hypergeometric_p_counts_the_tea_lady_by_hand() -> None:
    # Fisher's tea lady: 3 of 4 right among 8 cups; P(>= 3) = 17/70, doubled
    assert hypergeometric(3, 4, 4, 8) == pytest.approx(34 / 70)
    assert hypergeometric(4, 4, 4, 8) == pytest.approx(2 / 70)


@given(st.integers(1, 7), st.integers(0, 7), st.data())
def test_hypergeometric_p_is_that_of_all_draws(drawn: int, good: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(max(0, drawn + good - 7), min(drawn, good)))
    draws = [sum(index < good for index in chosen) for chosen in combinations(range(7), drawn)]
    below = hits * 7 <= drawn * good  # the tail of the side of the mean on which the hits are
    tail = sum(d <= hits if below else d >= hits for d in draws) / len(draws)
    assert hypergeometric(hits, drawn, good, 7) == pytest.approx(min(1, 2 * tail))


def test_hypergeometric_tails_stay_right_far_out_and_in_large_populations() -> None:
    # all 30 of 30 good where half of 1,000 are: the product of (500 - i) / (1000 - i)
    exact = math.prod((500 - i) / (1000 - i) for i in range(30))
    assert hypergeometric(30, 30, 500, 1000) == pytest.approx(2 * exact)
    assert hypergeometric(0, 30, 500, 1000) == pytest.approx(2 * exact)
    middle = math.comb(5_000, 2_500) ** 2 / math.comb(10_000, 5_000)
    assert hypergeometric(2_499, 5_000, 5_000, 10_000) == pytest.approx(1 - middle)


def test_hoeffding_p_is_exact_at_the_extreme() -> None:
    # all three of three at the maximum where one in ten is: 0.1 ** 3, doubled
    found = hoeffding_p(np.array([1.0, 0.1, 0.0]), np.array([0.1, 0.1, 0.9]), np.array([3, 3, 3]))
    assert found.tolist() == pytest.approx([2 * 0.1**3, 1.0, 2 * 0.1**3])


def corrected(p: list[float], attainable: list[float] | None = None, family: list[int] | None = None) -> list[float]:
    least = np.zeros(len(p)) if attainable is None else np.array(attainable)
    found: list[float] = q_values(np.array(p), least, np.array(family or [0] * len(p), np.int64), 0.05).tolist()
    return found


def test_q_values_follow_benjamini_and_hochberg() -> None:
    # 4 * .01 / 1, min(4 * .03 / 2, 4 * .04 / 3), 4 * .04 / 3, 4 * .5 / 4
    assert corrected([0.5, 0.01, 0.04, 0.03]) == pytest.approx([0.5, 0.04, 0.16 / 3, 0.16 / 3])
    assert corrected([]) == []


def test_what_was_not_compared_counts_for_no_q_value() -> None:
    found = corrected([math.nan, 0.04, 0.01])
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([0.04, 0.02])


def test_what_could_never_be_proven_counts_for_no_q_value() -> None:
    # two can reach p <= .05 / 2, the others not: only the two are tested
    assert corrected([0.01, 0.02, 0.3, 0.3], [0.0, 0.01, 0.03, 0.3]) == pytest.approx([0.02, 0.02, 1.0, 1.0])
    assert corrected([0.04, 0.5], [0.04, 0.5]) == pytest.approx([0.04, 1.0])
    assert corrected([0.3, 0.5], [0.2, 0.5]) == [1.0, 1.0]


def test_each_family_has_the_same_say() -> None:
    # .01 alone in its family of two families: 2 * 1 * .01; .01 among four: 2 * 4 * .01; by rank 1 and 2 of all five
    found = corrected([0.01, 0.01, 0.9, 0.9, 0.9], family=[0, 1, 1, 1, 1])
    assert found[:2] == pytest.approx([0.02, 0.04])


def test_moments_of_a_group_are_those_of_its_values() -> None:
    parts = Parts([0.0, 0.0], [0.0, 1.0])
    [[skew], [kurtosis]] = parts.moments.shape
    assert (parts.whole.n, parts.whole.low, parts.whole.high) == (4, 3, 1)
    assert (parts.rewards.least, parts.rewards.most) == (0, 1_000)
    assert parts.whole.mean == 250
    assert parts.whole.spread == pytest.approx(750_000)
    assert skew == pytest.approx((1 - 2 * 0.25) / math.sqrt(0.1875))  # Bernoulli: (1 - 2p) / sqrt(pq)
    assert kurtosis == pytest.approx((1 - 6 * 0.1875) / 0.1875)  # Bernoulli: (1 - 6pq) / pq


def test_unknown_rewards_are_in_no_group() -> None:
    parts = Parts([2.0, math.nan], [math.nan, 3.0])
    assert (parts.part.n, parts.part.mean, parts.whole.n, parts.whole.mean) == (1, 2_000, 2, 2_500)
    assert (parts.rewards.least, parts.rewards.most) == (2_000, 3_000)
    assert Parts([math.nan], []).whole.n == 0


def test_the_rest_of_a_group_is_what_was_not_taken() -> None:
    parts = Parts([0.0, 1.0], [1.0])
    rest = parts.whole.without(parts.part)
    assert [getattr(rest, name).tolist() for name in rest.__struct_fields__] == [[1], [1_000], [1_000_000], [0], [1]]


@given(st.permutations(list(range(12))))
def test_sums_do_not_depend_on_the_order_of_episodes(order: list[int]) -> None:
    values = [0.1, -9.999, 3.3333, 1 / 3, 1e-9, 10.0, -10.0, 2.7182, 0.1, 0.2, 0.3, 7.77]
    one, other = (Parts(values[:6], values[6:]), Parts([values[at] for at in order], []))
    for name in one.whole.__struct_fields__:
        assert getattr(one.whole, name) == getattr(other.whole, name)
    assert [side.tolist() for side in one.moments.shape] == [side.tolist() for side in other.moments.shape]


def test_a_difference_is_shrunk_by_its_noise() -> None:
    # sd² = 4 · 0.25 / 3 = 1/3, noise² = sd² · (1/2 + 1/2) = 1/3, so half of the difference is believed
    result = Parts([1.0, 1.0], [0.0, 0.0]).compared()
    assert (result.inside, result.outside) == (1.0, 0.0)
    assert result.effect == pytest.approx(0.5)
    assert result.p == pytest.approx(2 / 6)
    reach = student_quantile(3) * math.sqrt(1 / 3) * math.sqrt(1 / 2)
    assert (result.low[0], result.high[0]) == pytest.approx((0.5 - reach, 0.5 + reach))


def test_an_interval_ends_where_no_two_means_can_be_farther_apart() -> None:
    # sd² = 4 · 100 / 3 and half of the difference of 0 is believed: the reach is 3.18 · 11.5 · 0.71 = 26 points
    result = Parts([10.0, -10.0], [10.0, -10.0]).compared()
    assert (result.effect, result.low, result.high) == (0.0, -20.0, 20.0)


def test_groups_without_rewards_are_not_compared() -> None:
    for parts in (Parts([math.nan], [1.0]), Parts([1.0], [math.nan]), Parts([math.nan], [1.0, 2.0])):
        result = parts.compared()
        assert all(math.isnan(getattr(result, name)[0]) for name in result.__struct_fields__)


def test_equal_rewards_differ_by_nothing() -> None:
    result = Parts([1.0, 1.0], [1.0, 1.0, 1.0]).compared()
    assert (result.effect, result.low, result.high, result.p, result.attainable) == (0.0, 0.0, 0.0, 1.0, 1.0)


def test_the_smallest_attainable_p_is_that_of_the_most_extreme_rewards() -> None:
    two = Parts([1.0, 0.0, 0.0], [1.0, 0.0, 1.0]).compared()
    assert two.attainable == pytest.approx(2 / math.comb(6, 3))
    rare = Parts([0.0, 5.0], [0.0] * 50 + [10.0]).compared()  # too skewed for Student's t
    mean = 15 / 53
    assert rare.attainable == pytest.approx(2 * (mean / 10) ** 2)


@pytest.mark.parametrize("shape", ["three", "skewed", "heavy", "flat"])
def test_p_values_of_random_draws_are_not_too_small(shape: str) -> None:
    """Of 4,000 draws about 40 may have p < 0.01 and 4 p < 0.001; three standard deviations more are allowed."""
    random = np.random.default_rng(7)
    values = {
        "three": random.choice([-1.0, 0.5, 1.0], 300, p=[0.2, 0.1, 0.7]),
        "skewed": np.exp(random.normal(0, 1, 300)),
        "heavy": np.where(random.random(300) < 0.05, random.choice([-10.0, 10.0], 300), random.normal(0, 0.3, 300)),
        "flat": random.random(300),
    }[shape]
    rewards, everyone = Rewards(values), np.arange(len(values))
    sizes = random.integers(2, 80, 4_000)
    drawn = np.concatenate([random.choice(len(values), size, replace=False) for size in sizes])
    ends = np.array([0, len(values)])
    whole, moments = rewards.sums(everyone, ends), rewards.moments(everyone, ends)
    same = np.zeros(len(sizes), np.int64)
    part = rewards.sums(drawn, np.r_[0, np.cumsum(sizes)])
    sides = moments.shape[0][same], moments.shape[1][same]
    small = compare(part, whole.at(same), sides, rewards.least, rewards.most).p
    assert (small < 0.01).sum() <= 40 + 3 * math.sqrt(40)
    assert (small < 0.001).sum() <= 4 + 3 * math.sqrt(4)


@pytest.mark.parametrize("values", ["two", "even", "skewed"])
def test_at_a_rate_only_the_p_that_cannot_count_are_left_out(values: str) -> None:
    random = np.random.default_rng(11)
    told = {
        "two": np.where(random.random(400) < 0.5, 1.0, -1.0),
        "even": random.random(400),
        "skewed": np.where(random.random(400) < 0.02, 10.0, random.random(400)),
    }[values]
    rewards, ends = Rewards(told), np.array([0, len(told)])
    sizes = random.integers(1, 40, 300)
    ranked = np.argsort(told)  # groups of neighbours, so that many differ from the rest
    begin = random.integers(0, 401 - sizes)
    members = np.concatenate([ranked[at : at + size] for at, size in zip(begin, sizes, strict=True)])
    part, everyone = rewards.sums(members, np.r_[0, np.cumsum(sizes)]), np.arange(len(told))
    shape, same = rewards.moments(everyone, ends).shape, np.zeros(300, np.int64)
    sides = shape[0][same], shape[1][same]
    whole = rewards.sums(everyone, ends).at(same)
    every = compare(part, whole, sides, rewards.least, rewards.most)
    some = compare(part, whole, sides, rewards.least, rewards.most, 0.05)
    assert every.attainable.tolist() == some.attainable.tolist()
    assert set(some.p[some.p != every.p].tolist()) <= {1.0}
    corrected, less = (q_values(each.p, each.attainable, same, 0.05) for each in (every, some))
    assert corrected.tolist() == less.tolist()
    assert (corrected < 0.05).any()
    assert values == "even" or (some.p != every.p).any()
