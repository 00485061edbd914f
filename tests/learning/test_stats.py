from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.stats import (
    Sample,
    Samples,
    compare,
    hoeffding_p,
    hypergeometric_p,
    incomplete_beta,
    q_values,
    student_p,
    student_quantile,
)


def parts(inside: list[float], outside: list[float]) -> tuple[Sample, Sample, float, float]:
    """The sample of ``inside``, that of both, and the ends of their range."""
    samples = Samples(np.array(inside + outside, np.float64))
    return samples.of(np.arange(len(inside))), samples.everything, samples.least, samples.most


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (60, 2.000), (120, 1.980), (10_000, 1.960)],
)
def test_student_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(freedom) == pytest.approx(quantile, abs=6e-4)


def test_student_p_has_its_closed_forms_for_one_and_two_degrees_of_freedom() -> None:
    assert student_p(1.0, 1) == pytest.approx(0.5)
    assert student_p(3.0, 2) == pytest.approx(1 - 3 / math.sqrt(11))


def test_student_p_does_not_jump_where_the_approximation_takes_over() -> None:
    assert student_p(4.0, 100.5) == pytest.approx(incomplete_beta(50.25, 0.5, 100.5 / 116.5), rel=2e-3)


def test_incomplete_beta_is_the_binomial_tail_it_equals() -> None:
    # I_0.4(2, 3) = P(at least 2 of 4 at 0.4)
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(1 - 0.6**4 - 4 * 0.4 * 0.6**3)


def test_hypergeometric_p_counts_the_tea_lady_by_hand() -> None:
    # Fisher's tea lady: 3 of 4 right among 8 cups; P(>= 3) = 17/70, doubled
    assert hypergeometric_p(3, 4, 4, 8) == pytest.approx(34 / 70)
    assert hypergeometric_p(4, 4, 4, 8) == pytest.approx(2 / 70)


@given(st.integers(1, 7), st.integers(0, 7), st.data())
def test_hypergeometric_p_is_that_of_all_draws(drawn: int, good: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(max(0, drawn + good - 7), min(drawn, good)))
    draws = [sum(index < good for index in chosen) for chosen in combinations(range(7), drawn)]
    fewer, more = sum(d <= hits for d in draws), sum(d >= hits for d in draws)
    assert hypergeometric_p(hits, drawn, good, 7) == pytest.approx(min(1, 2 * min(fewer, more) / len(draws)))


def test_hoeffding_p_is_exact_at_the_extreme() -> None:
    # all three of three at the maximum where one in ten is: 0.1 ** 3, doubled
    assert hoeffding_p(1.0, 0.1, 3) == pytest.approx(2 * 0.1**3)
    assert hoeffding_p(0.1, 0.1, 3) == 1.0


def test_q_values_follow_benjamini_and_hochberg() -> None:
    # 4 * .01 / 1, min(4 * .03 / 2, 4 * .04 / 3), 4 * .04 / 3, 4 * .5 / 4
    assert q_values(np.array([0.5, 0.01, 0.04, 0.03])).tolist() == pytest.approx([0.5, 0.04, 0.16 / 3, 0.16 / 3])
    assert q_values(np.array([])).tolist() == []


def test_moments_of_a_sample_are_those_of_its_values() -> None:
    _, values, least, most = parts([0.0, 0.0], [0.0, 1.0])
    skew, kurtosis = values.shape
    assert (values.n, values.low, values.high, least, most) == (4, 3, 1, 0.0, 1.0)
    assert values.mean == 0.25
    assert values.spread == pytest.approx(0.75)
    assert skew == pytest.approx((1 - 2 * 0.25) / math.sqrt(0.1875))  # Bernoulli: (1 - 2p) / sqrt(pq)
    assert kurtosis == pytest.approx((1 - 6 * 0.1875) / 0.1875)  # Bernoulli: (1 - 6pq) / pq


def test_unknown_rewards_are_in_no_sample() -> None:
    part, everything, least, most = parts([2.0, math.nan], [math.nan, 3.0])
    assert (part.n, part.mean, everything.n, everything.mean, least, most) == (1, 2.0, 2, 2.5, 2.0, 3.0)
    assert parts([math.nan], [])[1].n == 0


def test_the_rest_of_a_sample_is_what_was_not_taken() -> None:
    part, everything, _, _ = parts([0.0, 1.0], [1.0])
    assert everything.without(part) == Sample(1, 1.0, 1.0, 1.0, 1.0, 0, 1)


def test_a_difference_is_shrunk_by_its_noise() -> None:
    # sd² = 4 · 0.25 / 3 = 1/3, noise² = sd² · (1/2 + 1/2) = 1/3, so half of the difference is believed
    result = compare(*parts([1.0, 1.0], [0.0, 0.0]))
    assert result is not None
    assert (result.inside, result.outside) == (1.0, 0.0)
    assert result.effect == pytest.approx(0.5)
    assert result.p == pytest.approx(2 / 6)
    reach = student_quantile(3) * math.sqrt(1 / 3) * math.sqrt(1 / 2)
    assert (result.low, result.high) == pytest.approx((0.5 - reach, 0.5 + reach))


def test_groups_without_rewards_are_not_compared() -> None:
    assert compare(*parts([], [1.0])) is None
    assert compare(*parts([1.0], [])) is None
    assert compare(*parts([math.nan], [1.0, 2.0])) is None


def test_equal_rewards_differ_by_nothing() -> None:
    result = compare(*parts([1.0, 1.0], [1.0, 1.0, 1.0]))
    assert result is not None
    assert (result.effect, result.low, result.high, result.p) == (0.0, 0.0, 0.0, 1.0)


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
    samples = Samples(values)
    found = []
    for _ in range(4_000):
        drawn = random.choice(len(values), random.integers(2, 80), replace=False)
        result = compare(samples.of(drawn), samples.everything, samples.least, samples.most)
        assert result is not None
        found.append(result.p)
    small = np.array(found)
    assert (small < 0.01).sum() <= 40 + 3 * math.sqrt(40)
    assert (small < 0.001).sum() <= 4 + 3 * math.sqrt(4)
