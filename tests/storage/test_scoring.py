from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.storage.models import Evidence, Reward
from prowess.storage.scoring import WEIGHTS, combine, outcome_of

SOURCES: list[Evidence] = list(WEIGHTS)


def reward(
    key: str, value: float | None, source: Evidence = "agent", step: int | None = None, at: str = "t0"
) -> Reward:
    return Reward(id=key, episode_id="e1", at=at, value=value, source=source, step=step)


def test_nothing_known_is_unknown() -> None:
    assert combine([]) is None
    assert combine([reward("a", None), reward("b", None, step=1)]) is None


def test_one_score_is_the_reward() -> None:
    assert combine([reward("a", -7.5)]) == -7.5


def test_the_latest_score_of_a_source_counts() -> None:
    assert combine([reward("a", 10.0, at="t2"), reward("b", 4.0, at="t3"), reward("c", 1.0, at="t1")]) == 4.0


def test_of_scores_at_the_same_time_the_greater_id_counts() -> None:
    assert combine([reward("b", 2.0), reward("a", 1.0)]) == 2.0


def test_sources_are_weighed() -> None:
    # (8 * 10 + 6 * -10 + 3 * 5 + 3 * 0 + 1 * -7) / (8 + 6 + 3 + 3 + 1) = 28 / 21
    values: dict[Evidence, float] = {"user": 10.0, "tests": -10.0, "commit": 5.0, "exit_code": 0.0, "agent": -7.0}
    assert combine(reward(source, value, source) for source, value in values.items()) == pytest.approx(28 / 21)


def test_a_later_neutral_score_does_not_undo_an_earlier_one() -> None:
    assert combine([reward("a", 6.0, at="t1"), reward("b", None, at="t2")]) == 6.0


def test_steps_count_only_where_the_episode_has_no_score() -> None:
    steps = [reward("a", -4.0, step=1), reward("b", -2.0, step=2)]
    assert combine(steps) == -3.0
    assert combine([*steps, reward("c", None)]) == -3.0
    assert combine([*steps, reward("c", 5.0)]) == 5.0


def test_each_step_is_combined_before_the_mean() -> None:
    # step 1: (6 * 10 + 1 * 3) / 7 = 9; step 2: -1 replaces 10; mean (9 - 1) / 2
    scores = [reward("a", 10.0, "tests", 1), reward("b", 3.0, "agent", 1)]
    scores += [reward("c", 10.0, step=2, at="t1"), reward("d", -1.0, step=2, at="t2")]
    assert combine(scores) == 4.0


@pytest.mark.parametrize(
    ("value", "outcome"), [(0.1, "success"), (-0.1, "failure"), (0.0, "unknown"), (None, "unknown")]
)
def test_the_sign_is_the_outcome(value: float | None, outcome: str) -> None:
    assert outcome_of(value) == outcome


scores = st.lists(
    st.builds(
        reward,
        key=st.uuids().map(str),
        value=st.none() | st.floats(-10, 10),
        source=st.sampled_from(SOURCES),
        step=st.none() | st.integers(1, 4),
        at=st.sampled_from(["t1", "t2", "t3"]),
    ),
    unique_by=lambda given: given.id,
)


@given(scores, st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference(given_scores: list[Reward], shuffler: random.Random) -> None:
    shuffled = list(given_scores)
    shuffler.shuffle(shuffled)
    assert combine(shuffled) == combine(given_scores)


@given(scores)
def test_a_reward_lies_between_the_scores_it_came_from(given_scores: list[Reward]) -> None:
    found = combine(given_scores)
    values = [score.value for score in given_scores if score.value is not None]
    assert (found is None) == (not values)
    if found is not None:
        assert min(values) - 1e-9 <= found <= max(values) + 1e-9
        assert math.isfinite(found)
