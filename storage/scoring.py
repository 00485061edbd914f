"""What an episode is worth, from all the scores it was given.

The rule: of each kind of evidence the latest score counts; the kinds are averaged with the weights below, since test
results and the user's words outweigh the agent's own claim. An episode without a score as a whole takes the mean of its
steps' scores, each combined the same way. Neutral scores (None) are kept, but do not count. The order in which scores
arrive makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from prowess.storage.models import Evidence, Outcome, Reward

__all__ = ["WEIGHTS", "Score", "combine", "outcome_of", "score_of"]

WEIGHTS: dict[Evidence, float] = {"user": 8.0, "tests": 6.0, "commit": 3.0, "exit_code": 3.0, "agent": 1.0}


class Score(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What counts of a reward, as the log keeps it beside the reward itself."""

    id: str
    at: str
    step: int | None
    source: Evidence
    value: float | None


def score_of(reward: Reward) -> Score:
    """What counts of ``reward``."""
    return Score(reward.id, reward.at, reward.step, reward.source, reward.value)


def combine(rewards: Iterable[Reward | Score]) -> float | None:
    """The episode's reward in [-10, 10] by the rule above; None where nothing counts."""
    groups: dict[int | None, list[Reward | Score]] = {}
    for reward in rewards:
        if reward.value is not None:
            groups.setdefault(reward.step, []).append(reward)
    if None in groups:
        return _weighted(groups[None])
    if not groups:
        return None
    return math.fsum(_weighted(group) for group in groups.values()) / len(groups)


def outcome_of(reward: float | None) -> Outcome:
    """Success above 0, failure below, unknown at 0 and without a reward."""
    if not reward:
        return "unknown"
    return "success" if reward > 0 else "failure"


def _weighted(rewards: Sequence[Reward | Score]) -> float:
    latest: dict[Evidence, Reward | Score] = {}
    for reward in rewards:
        known = latest.get(reward.source)
        if known is None or (reward.at, reward.id) > (known.at, known.id):
            latest[reward.source] = reward
    total = math.fsum(WEIGHTS[source] * (reward.value or 0.0) for source, reward in latest.items())
    return total / math.fsum(WEIGHTS[source] for source in latest)
