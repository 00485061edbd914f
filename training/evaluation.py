"""How well a policy with its skills remembers: played and asked without exploring, and told query by query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prowess.learning.memskill.affinity import View
from prowess.learning.memskill.executor import Executor
from prowess.learning.memskill.play import Play, Policy, play_all
from prowess.learning.memskill.reward import judge
from prowess.learning.memskill.units import Trace, Vector
from prowess.training.settings import Settings

__all__ = ["Score", "error_of", "evaluate", "is_level"]


@dataclass(frozen=True, slots=True)
class Score:
    """Means over traces and memory limits; ``rewards`` and ``recalls`` have each query's, the mean over the limits."""

    reward: float
    recall: float
    f1: float
    rewards: Vector
    recalls: Vector


def evaluate(
    traces: Sequence[Trace], settings: Settings, views: Sequence[View], policy: Policy, executor: Executor | None = None
) -> Score:
    """Play every trace under every memory limit, and ask."""
    worths = [
        [
            judge(play_all(Play(trace, views, limits, executor), policy), trace.queries, settings.budget)
            for limits in settings.limits
        ]
        for trace in traces
    ]
    queries = [query for each in worths for query in zip(*(worth.asked for worth in each), strict=True)]
    every = [worth for each in worths for worth in each]
    reward, recall, f1 = (_mean([getattr(worth, name) for worth in every]) for name in ("reward", "recall", "f1"))
    rewards, recalls = (
        np.asarray([_mean([getattr(asked, name) for asked in query]) for query in queries])
        for name in ("reward", "recall")
    )
    return Score(reward, recall, f1, rewards, recalls)


def is_level(one: Score, best: Score) -> bool:
    """Whether the difference to ``best``, query by query, is not more than its standard error: then ``one`` is taken
    where it is the simpler (the one-standard-error rule of Breiman et al. 1984, on paired differences).
    """
    return float((best.recalls - one.recalls).mean()) <= error_of(best.recalls - one.recalls)


def error_of(apart: Vector) -> float:
    """The standard error of the mean of differences that belong to one query each; 0 for less than two."""
    return float(apart.std()) / math.sqrt(len(apart) - 1) if len(apart) > 1 else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
