"""Patterns over episodes: which actions lead to high reward, in which contexts the agent does best and which failures
recur, answered with a size, an interval and a correction for everything that was looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import get_args

import msgspec
import numpy as np

from prowess.learning.mining_coding import Coded, Hypothesis, code_episodes
from prowess.learning.mining_contexts import contexts, decisions
from prowess.learning.mining_failures import Failing, failing_steps, failures, recoveries
from prowess.learning.mining_sequences import sequences
from prowess.learning.stats import Comparison, Samples, compare, q_values
from prowess.storage.models import Pattern, PatternKind, Trajectory

__all__ = ["mine"]

MAX_EXAMPLES = 3
SAME_EPISODES = 0.9  # patterns of one kind that overlap more (Jaccard) tell the same story twice
COMPARED = 100  # of the best patterns, with which the others are compared for that: long lists stay linear
SIGNIFICANT = 0.05


class _Judged(msgspec.Struct, frozen=True):
    hypothesis: Hypothesis
    comparison: Comparison | None
    against: int
    q: float | None

    @property
    def rank(self) -> tuple[bool, float, float, str]:
        """Proven first, then by how far the interval keeps from 0, then by support; the words settle the rest."""
        proven = self.q is not None and self.q < SIGNIFICANT
        support = len(self.hypothesis.members) * self.hypothesis.weight
        by_support = self.hypothesis.kind in ("failure", "recovery")
        return (not proven, 0.0 if by_support else -_margin(self.comparison), -support, self.hypothesis.subject)


def mine(
    trajectories: Sequence[Trajectory],
    *,
    kinds: Collection[PatternKind] | None = None,
    min_support: int = 2,
    limit: int = 50,
    project: str = "",
) -> list[Pattern]:
    """Up to ``limit`` patterns that at least ``min_support`` of ``trajectories`` show, each kind's best in turn.

    Steps may be summaries (no arguments, no observations; errors as templates). Episodes without a reward count for
    support but not for effects. ``q_value`` corrects for every hypothesis that was compared, shown or not. ``project``
    only labels the patterns and enters their ids.
    """
    coded = code_episodes(_ordered(trajectories))
    wanted = [kind for kind in get_args(PatternKind) if kinds is None or kind in kinds]
    found = _look(coded, wanted, max(min_support, 1)) if len(coded.verb) else []
    chosen = _choose(_judge(found, coded), wanted, max(limit, 0))
    return [_pattern(judged, coded, project) for judged in chosen]


def _look(coded: Coded, wanted: Collection[PatternKind], least: int) -> list[Hypothesis]:
    failing: Failing = failing_steps(coded.trajectories) if {"recovery", "failure"} & set(wanted) else {}
    miners: dict[PatternKind, Callable[[], Iterable[Hypothesis]]] = {
        "sequence": lambda: sequences(coded, least),
        "decision": lambda: decisions(coded, least),
        "recovery": lambda: recoveries(coded, failing, least),
        "context": lambda: contexts(coded, least),
        "failure": lambda: failures(coded, failing, least),
    }
    return [hypothesis for kind in wanted for hypothesis in miners[kind]()]


def _ordered(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """One per episode, in an order that does not depend on how they were given."""
    return sorted({t.episode.id: t for t in trajectories}.values(), key=lambda t: t.episode.id)


def _judge(found: Sequence[Hypothesis], coded: Coded) -> list[_Judged]:
    samples = Samples(coded.reward)
    compared = [_compare(hypothesis, samples) for hypothesis in found]
    q = iter(q_values(np.array([result.p for result in compared if result is not None])).tolist())
    return [
        _Judged(h, result, _against(h, coded), None if result is None else next(q))
        for h, result in zip(found, compared, strict=True)
    ]


def _compare(hypothesis: Hypothesis, samples: Samples) -> Comparison | None:
    whole = samples.everything if hypothesis.within is None else samples.of(hypothesis.within)
    return compare(samples.of(hypothesis.members), whole, samples.least, samples.most)


def _against(hypothesis: Hypothesis, coded: Coded) -> int:
    whole = len(coded.trajectories) if hypothesis.within is None else len(hypothesis.within)
    return whole - len(hypothesis.members)


def _choose(judged: Iterable[_Judged], wanted: Sequence[PatternKind], limit: int) -> list[_Judged]:
    """The best of each kind in turn until ``limit``, proven ones of any kind before the others."""
    lines = {kind: sorted((j for j in judged if j.hypothesis.kind == kind), key=lambda j: j.rank) for kind in wanted}
    picked = [_varied(line, limit) for line in lines.values()]
    turns = [(turn, place, j) for place, line in enumerate(picked) for turn, j in enumerate(line)]
    turns.sort(key=lambda entry: (entry[2].rank[0], entry[0], entry[1]))
    return [j for _, _, j in turns[:limit]]


def _varied(line: Sequence[_Judged], limit: int) -> list[_Judged]:
    kept: list[_Judged] = []
    for judged in line:
        if len(kept) >= limit:
            break
        if not any(_same(judged.hypothesis, other.hypothesis) for other in kept[:COMPARED]):
            kept.append(judged)
    return kept


def _same(one: Hypothesis, other: Hypothesis) -> bool:
    sizes = sorted((len(one.members), len(other.members)))
    if one.kind not in ("sequence", "context") or sizes[0] < SAME_EPISODES * sizes[1]:
        return False
    common = len(np.intersect1d(one.members, other.members, assume_unique=True))
    return common > SAME_EPISODES * (sum(sizes) - common)


def _margin(comparison: Comparison | None) -> float:
    if comparison is None or comparison.low <= 0 <= comparison.high:
        return 0.0
    return min(abs(comparison.low), abs(comparison.high))


def _pattern(judged: _Judged, coded: Coded, project: str) -> Pattern:
    hypothesis, result = judged.hypothesis, judged.comparison
    means = {} if result is None else {"mean_with": round(result.inside, 4), "mean_without": round(result.outside, 4)}
    return Pattern(
        id=_identify(hypothesis, project),
        kind=hypothesis.kind,
        statement=_statement(judged),
        support=len(hypothesis.members),
        against=judged.against,
        effect=None if result is None else round(result.effect, 4),
        low=None if result is None else round(result.low, 4),
        high=None if result is None else round(result.high, 4),
        q_value=judged.q,
        examples=_examples(hypothesis, coded),
        project=project,
        detail={**hypothesis.detail, **means},
    )


def _identify(hypothesis: Hypothesis, project: str) -> str:
    text = msgspec.json.encode([hypothesis.kind, project, hypothesis.content])
    return hashlib.sha256(text).hexdigest()[:32]


def _examples(hypothesis: Hypothesis, coded: Coded) -> tuple[str, ...]:
    """The latest episodes that show it."""
    return tuple(coded.trajectories[index].episode.id for index in hypothesis.members[::-1][:MAX_EXAMPLES].tolist())


def _others(count: int) -> str:
    return "other" if count == 1 else f"{count} others"


def _statement(judged: _Judged) -> str:
    subject, result = judged.hypothesis.subject, judged.comparison
    count = len(judged.hypothesis.members)
    said = f"In {count} episode{'' if count == 1 else 's'} {subject}"
    if result is None or judged.q is None:
        return f"{said}; there is {'nothing' if judged.against == 0 else 'no reward'} to compare them with."
    chance = "" if judged.q < SIGNIFICANT else ", which may be chance"
    means = f"{result.inside:.2f} against {result.outside:.2f} in the {_others(judged.against)}"
    return f"{said}; their mean reward is {means}{chance}."
