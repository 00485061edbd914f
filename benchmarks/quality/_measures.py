"""How good an answer's first skill, and the best of its first three, would have been."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _fill import filled, opened
from _shared import Answer, Question, Split, Step

from prowess.learning.synthesis.templates import canonical

__all__ = ["MEASURES", "PAIRED", "Scored", "compared", "difference", "overlap", "scored", "summary"]

MEASURES = ("hit@1", "Jaccard@1", "order@1", "hit@3", "Jaccard@3", "args@1", "state@1", "changed@1", "tokens")
PAIRED = ("hit@1", "Jaccard@1", "hit@3", "Jaccard@3", "state@1", "changed@1", "tokens")
SAMPLES = 4_000


@dataclass(frozen=True, slots=True)
class Scored:
    """One question's figures by measure, None where the set has no such; ``task`` is what is drawn as one."""

    task: str
    values: dict[str, float | None]


def scored(
    found: Sequence[Answer],
    *,
    question: Question,
    split: Split,
    keys_of: Callable[[Answer], list[str]],
    seed: int,
    tokens: int,
    raw: bool = False,
    quick: bool = False,
) -> Scored:
    """Figures of the answers ``found``, best first. No answer is a miss. ``raw``: they are episodes, to be opened."""
    golds = [Answer(gold, {}) for gold in question.gold]
    sets = [split.core(keys_of(gold)) for gold in golds]
    mine = [split.core(keys_of(answer)) for answer in found]
    values: dict[str, float | None] = {}
    for tries in (1, 3):
        values[f"hit@{tries}"] = float(any(tools in sets for tools in mine[:tries]))
        values[f"Jaccard@{tries}"] = max((overlap(a, b) for a in mine[:tries] for b in sets), default=0.0)
    orders = [_counted(keys_of(gold), split) for gold in golds]
    first = _counted(keys_of(found[0]), split) if found else []
    values["order@1"] = max((_in_order(first, order) for order in orders), default=0.0) if found else 0.0
    values |= {"args@1": None, "state@1": None, "changed@1": None, "tokens": float(tokens) if tokens else None}
    if question.world is not None and not quick:
        values |= _executed(found[0] if found else Answer((), {}), question, raw=raw)
    return Scored(f"{seed}/{question.task}", values)


def _counted(keys: Iterable[str], split: Split) -> list[str]:
    return [key for key in keys if split.core([key])]


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard's: what both have over what either has."""
    return len(left & right) / len(left | right) if left | right else 1.0


def _in_order(left: Sequence[str], right: Sequence[str]) -> float:
    """The longest common subsequence over the longer of both."""
    rows = [0] * (len(right) + 1)
    for one in left:
        before = 0
        for place, other in enumerate(right, 1):
            before, rows[place] = rows[place], before + 1 if one == other else max(rows[place], rows[place - 1])
    return rows[-1] / max(len(left), len(right), 1)


def _executed(answer: Answer, question: Question, *, raw: bool) -> dict[str, float | None]:
    """Coverage of the gold arguments, and whether the filled calls leave the world as the gold ones do.

    ``changed``: the same over the turns whose gold calls change something; calls are filled one by one, so that what
    earlier ones answered can be used.
    """
    steps, parameters = answer.steps, answer.parameters
    if raw and steps:
        steps, parameters = opened(steps, parameters[""]["task"])
    world, seen = question.world.copy(), question.seen
    calls: list[tuple[str, dict[str, Any]]] = []
    for number in range(len(steps)):
        tool, args = filled(steps[: number + 1], parameters, question.text, seen)[number]
        calls.append((tool, args))
        seen += "\n" + world.run(tool, args)[0]
    begun, wanted = question.world.state(), question.after.state()
    right = float(world.state() == wanted)
    return {
        "args@1": _covered(calls, question.gold[0]),
        "state@1": right if steps else float(begun == wanted),
        "changed@1": right if begun != wanted else None,
    }


def _covered(calls: Sequence[tuple[str, dict[str, Any]]], gold: Sequence[Step]) -> float | None:
    """The share of gold arguments that a call of the same tool has with the same value."""
    wanted = [(step.tool, key, canonical(value)) for step in gold for key, value in step.args.items()]
    has = [(tool, key, canonical(value)) for tool, args in calls for key, value in args.items()]
    got = 0
    for one in wanted:
        if one in has:
            has.remove(one)
            got += 1
    return got / len(wanted) if wanted else None


def summary(scores: Sequence[Scored], measures: Sequence[str] = MEASURES) -> dict[str, float | None]:
    """The mean of each measure over the questions that have it."""
    return {measure: _mean([score.values[measure] for score in scores]) for measure in measures}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 4) if known else None


def compared(held: dict[str, list[Scored]]) -> dict[str, tuple[str, list[float]]]:
    """For each measure the best baseline, and how much ``find_skill`` is above it: mean, low and high.

    Paired by question; whole tasks are drawn again for the 95 % interval.
    """
    ours = held["find_skill"]
    others = {name: scores for name, scores in held.items() if name.startswith(("episode", "most"))}
    result = {}
    for measure in PAIRED:
        means = {name: summary(scores)[measure] for name, scores in others.items()}
        known = {name: mean for name, mean in means.items() if mean is not None}
        if known:
            best = min(known, key=known.__getitem__) if measure == "tokens" else max(known, key=known.__getitem__)
            result[measure] = (best, difference(ours, others[best], measure))
    return result


def difference(ours: Sequence[Scored], theirs: Sequence[Scored], measure: str) -> list[float]:
    """The mean of ``ours`` - ``theirs``, its low and high."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for mine, other in zip(ours, theirs, strict=True):
        left, right = mine.values[measure], other.values[measure]
        if left is not None and right is not None:
            by_task[mine.task.partition("/")[2]].append(left - right)
    sums = np.array([sum(values) for values in by_task.values()])
    counts = np.array([len(values) for values in by_task.values()])
    drawn = np.random.default_rng(7).integers(0, len(sums), (SAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return [round(float(value), 4) for value in (sums.sum() / counts.sum(), low, high)]
