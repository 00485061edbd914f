"""Draws without replacement, against all of them counted."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from prowess.training.selection import gumbel_top_k, sequence_entropy, sequence_log_prob

LOGITS = torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)


def by_hand(order: tuple[int, ...]) -> float:
    """One after the other from what is left, with plain numbers."""
    left, product = [math.exp(float(value)) for value in LOGITS], 1.0
    for pick in order:
        product *= left[pick] / sum(left)
        left[pick] = 0.0
    return product


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_joint_probability_is_that_of_drawing_one_after_the_other(k: int) -> None:
    orders = list(itertools.permutations(range(4), k))
    told = sequence_log_prob(LOGITS.expand(len(orders), 4), torch.tensor(orders)).exp()
    assert told.tolist() == pytest.approx([by_hand(order) for order in orders], abs=1e-12)
    assert float(told.sum()) == pytest.approx(1.0)


def test_draws_are_as_frequent_as_their_probability_says() -> None:
    count = 60_000
    drawn = gumbel_top_k(LOGITS.expand(count, 4), 2, torch.Generator().manual_seed(7))
    for order in itertools.permutations(range(4), 2):
        share = float((drawn == torch.tensor(order)).all(-1).double().mean())
        spread = math.sqrt(by_hand(order) * (1 - by_hand(order)) / count)
        assert abs(share - by_hand(order)) < 5 * spread


def test_no_skill_is_drawn_twice_and_the_seed_decides() -> None:
    def drawn(seed: int) -> list[list[int]]:
        found: list[list[int]] = gumbel_top_k(LOGITS.expand(50, 4), 3, torch.Generator().manual_seed(seed)).tolist()
        return found

    assert all(len(set(row)) == 3 for row in drawn(1))
    assert drawn(1) == drawn(1) != drawn(2)


def test_the_gradient_of_the_joint_log_probability_is_right() -> None:
    logits = LOGITS.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: sequence_log_prob(x, torch.tensor([2, 0, 3])), (logits,))


def test_entropy_is_largest_where_all_are_alike() -> None:
    assert float(sequence_entropy(torch.zeros(4))) == pytest.approx(math.log(4))
    assert float(sequence_entropy(torch.tensor([50.0, 0, 0, 0]))) == pytest.approx(0.0, abs=1e-6)
