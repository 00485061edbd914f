"""How many episodes a proof takes at least, worked out by hand and tried on all ways to divide few of them."""

from __future__ import annotations

import random

import pytest
from made_episodes import episode

from prowess.learning.mining.patterns import mine
from prowess.learning.mining.proof import fewest, proven
from prowess.storage.models import Pattern, PatternKind


@pytest.mark.parametrize(("kinds", "episodes"), [(1, 8), (2, 9), (3, 9), (4, 10), (5, 10)])
def test_the_rarest_division_must_be_below_each_kinds_share_of_the_rate(kinds: int, episodes: int) -> None:
    # Twice one of 35 divisions is 0.057, of 70 0.029, of 126 0.016 and of 252 0.008; the shares are 0.05 by the kinds.
    assert fewest(kinds) == episodes


def _parted(size: int, kinds: tuple[PatternKind, ...]) -> list[Pattern]:
    """The patterns where half of the episodes did the same and got 10, and the others each their own and got -10."""
    good = size // 2
    calls = [["look", "mend"]] * good + [[f"one {at}", f"other {at}"] for at in range(good, size)]
    episodes = [episode(str(at), done, reward=10 if at < good else -10) for at, done in enumerate(calls)]
    return mine(episodes, kinds=kinds)


@pytest.mark.parametrize("kinds", [("sequence",), ("sequence", "context"), ("sequence", "decision", "context")])
def test_mining_proves_from_the_fewest_on_and_nothing_below(kinds: tuple[PatternKind, ...]) -> None:
    size = fewest(len(kinds))
    assert any(map(proven, _parted(size, kinds)))
    assert not any(map(proven, _parted(size - 1, kinds)))


def test_no_rewards_of_fewer_episodes_prove_anything() -> None:
    words = random.Random(5)
    for _ in range(300):
        rewards = words.choice([(-10.0, 10.0), (-9.0, -2.0, 4.0, 10.0), (-10.0, 9.0, 9.5, 10.0)])
        told = [(words.choice(("mend", "break")), words.choice(rewards)) for _ in range(fewest(1) - 1)]
        episodes = [episode(str(at), ["look", tool], reward=reward) for at, (tool, reward) in enumerate(told)]
        assert not any(map(proven, mine(episodes)))


def test_what_could_not_be_compared_is_not_proven() -> None:
    patterns = mine([episode(str(at), ["look", "mend"], reward=None) for at in range(20)])
    assert patterns
    assert not any(map(proven, patterns))
