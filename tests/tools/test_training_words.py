"""How a training run reads."""

from __future__ import annotations

from typing import Any

import pytest

from prowess.tools.training_words import in_words, progress_in_words, training_in_words

RUN: dict[str, Any] = {
    "run_id": "r2",
    "status": "running",
    "project": "shop",
    "started": "2026-11-29T12:00:00.000Z",
    "episodes": 12,
    "settings": {"iterations": 3, "designer": "none"},
    "progress": {
        "iteration": 2,
        "of": 3,
        "reward": 0.33333,
        "skills": 4.0,
        "entropy": 1.38,
        "seconds_left": 5,
    },
    "runs": {"r2": "running", "r1": "interrupted"},
}
ENDED: dict[str, Any] = {
    **RUN,
    "status": "done",
    "ended": "2026-11-29T12:01:00.000Z",
    "resumed": 1,
    "result": {
        "best": "best",
        "reward": 0.6,
        "reward_before": 0.0,
        "iteration": 3,
        "iterations": 3,
        "skills": 1,
        "episodes": 12,
        "weights_sha256": "0392",
        "seconds": 14.4,
    },
    "verdict": "adopted: 0.6000 on held-back episodes, 0.0000 without training",
}


def test_a_run_that_goes_on_tells_how_far_it_is() -> None:
    assert training_in_words(RUN) == (
        "run r2 of project shop: running; iteration 2 of 3, reward 0.3333, 4 skills, about 5 s left; "
        "started 2026-11-29T12:00:00.000Z, 12 episodes; settings: iterations 3, designer none; "
        "other runs: r1 interrupted"
    )


def test_a_run_that_is_done_tells_what_it_brought() -> None:
    assert training_in_words(ENDED) == (
        "run r2 of project shop: done, resumed 1 time; best at iteration 3 of 3, reward 0.6, 0 without training, "
        "1 skill, 12 episodes, in 14.4 s; adopted: 0.6000 on held-back episodes, 0.0000 without training; "
        "started 2026-11-29T12:00:00.000Z, ended 2026-11-29T12:01:00.000Z, 12 episodes; "
        "settings: iterations 3, designer none; other runs: r1 interrupted"
    )


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"status": "none yet"}, "no run yet"),
        ({"run_id": "r", "status": "failed", "reason": "no room"}, "run r: failed; no room"),
        ({"run_id": "r", "status": "running", "progress": {"stage": "embedding"}}, "run r: running; embedding"),
        ({"run_id": "r", "status": "running", "progress": {"skills": "many"}}, "run r: running; skills many"),
    ],
)
def test_what_is_not_known_is_left_out(told: dict[str, Any], text: str) -> None:
    assert training_in_words(told) == text


def test_what_a_trainer_says_beyond_is_told_by_its_name() -> None:
    assert progress_in_words({"iteration": 1.0, "of": 2, "model_calls": 7}) == "iteration 1 of 2, model calls 7"


def test_whole_numbers_have_no_point() -> None:
    assert in_words({"a": 4.0, "b": 0.123456, "c": {}, "d": "text"}) == "a 4, b 0.1235, c none, d text"
