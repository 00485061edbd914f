"""One cell of the table: train on all parts but some, then remember the held-back ones under every budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import torch
from _traces import Part, Set

from prowess.learning.memskill import (
    Always,
    Bank,
    Budget,
    Limits,
    Play,
    Policy,
    Trace,
    UniformRandom,
    Vectors,
    View,
    judge,
    play_all,
    view_skills,
)
from prowess.training.controller import ControllerNet, Greedy
from prowess.training.settings import Settings
from prowess.training.trainer import Trainer

__all__ = ["TRAINED", "Fold", "folds", "measured", "plain"]

TRAINED: dict[str, dict[str, Any]] = {
    "trained": {},
    "no evolution": {"designer": "none"},
    "no controller": {"policy": "uniform"},
}
"""What is trained, by its settings. The last two are the paper's ablations."""

BUDGET = Budget(k=10, tokens=1_000)
UNLIMITED = 10**6  # items; the budget is one of tokens
K = 2


class Fold(NamedTuple):
    """``held`` was seen by nobody; the best checkpoint is chosen on ``validate``."""

    name: str
    train: list[Trace]
    validate: list[Trace]
    held: list[Part]


def folds(told: Set, count: int) -> list[Fold]:
    """``count`` folds in which every part is held back once, validated on the part before those."""
    size = -(-len(told.parts) // count)
    found = []
    for start in range(0, len(told.parts), size):
        held = told.parts[start : start + size]
        before = told.parts[start - 1]
        rest = [part for part in told.parts if part not in held and part is not before]
        train = [trace for part in rest for trace in part.traces]
        found.append(Fold("+".join(part.name for part in held), train, before.traces, held))
    return found


class Asked(NamedTuple):
    """One query's result; ``group`` is what is drawn as one in the bootstrap."""

    group: str
    query: str
    recall: float
    f1: float | None


Rows = dict[str, dict[str, list[Asked]]]
"""Method to budget (tokens, as text) to its queries, in the same order for every method."""


def measured(
    fold: Fold, kind: str, seed: int, tokens: Sequence[int], vectors: Vectors, settings: dict[str, Any]
) -> tuple[Rows, list[dict[str, float]], dict[str, Any]]:
    """Train one variant; what it and (for ``trained``) its rivals with the same bank reach, the curve, and the bank."""
    told = {"memory_items": UNLIMITED, "memory_tokens": list(tokens[:2]), "seed": seed, "k": K, **settings}
    trainer = Trainer(fold.train, fold.validate, vectors, msgspec.convert({**told, **TRAINED[kind]}, Settings))
    while not trainer.finished:
        trainer.step()
    best = trainer.best
    assert best is not None
    views = view_skills(best.bank.skills, vectors)
    policy: Policy = UniformRandom(K, seed) if kind == "no controller" else _greedy(trainer)
    rows = {kind: _over(fold, views, tokens, lambda: policy)}
    if kind == "trained":
        rows["random"] = _over(fold, views, tokens, lambda: UniformRandom(K, seed))
        single = _best_single(fold.train, views, tokens[:2])
        rows["single best skill"] = _over(fold, views, tokens, lambda: Always(single))
        told["single"] = single
    about = {"iteration": best.iteration, "skills": [skill.name for skill in best.bank.skills], **told}
    return rows, trainer.state.history, about


def plain(fold: Fold, tokens: Sequence[int], vectors: Vectors) -> Rows:
    """What needs no training and no seed: everything is inserted, and kept by importance and age, or by age alone."""
    views = view_skills(Bank.initial().skills, vectors)
    everything = [dataclasses.replace(views[0], name="all", everything=True, _known={})]
    brief = [dataclasses.replace(views[0], name="brief", sentences=1, _known={})]
    return {
        "insert all": _over(fold, everything, tokens, lambda: Always("all")),
        "recency only": _over(fold, everything, tokens, lambda: Always("all"), importance=0.0),
        "initial, untrained": _over(fold, views, tokens, lambda: Always("update", "insert")),
        "insert, one sentence": _over(fold, brief, tokens, lambda: Always("brief")),
    }


def _greedy(trainer: Trainer) -> Policy:
    best = trainer.best
    assert best is not None
    net = ControllerNet(trainer.net.dim, trainer.net.hidden, trainer.net.key_size, 0)
    net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in best.weights.items()})
    return Greedy(net, K)


def _best_single(traces: Sequence[Trace], views: Sequence[View], tokens: Sequence[int]) -> str:
    """The skill that does best alone on the training parts."""

    def worth(name: str) -> float:
        worths = [
            judge(_remembered(trace, views, each, Always(name)), trace.queries, BUDGET)
            for trace in traces
            for each in tokens
        ]
        return sum(each.reward for each in worths)

    return max((view.name for view in views if view.action == "insert"), key=worth)


def _over(
    fold: Fold,
    views: Sequence[View],
    tokens: Sequence[int],
    policy: Callable[[], Policy],
    *,
    importance: float = 0.9,
) -> dict[str, list[Asked]]:
    found: dict[str, list[Asked]] = {}
    for each in tokens:
        asked = found.setdefault(str(each), [])
        for part in fold.held:
            for trace in part.traces:
                memory = _remembered(trace, views, each, policy(), importance)
                for place, one in enumerate(judge(memory, trace.queries, BUDGET).asked):
                    group = part.name if len(part.traces) == 1 else f"{trace.id}"
                    asked.append(Asked(group, f"{trace.id}/{place}", one.recall, one.f1))
    return found


def _remembered(trace: Trace, views: Sequence[View], tokens: int, policy: Policy, importance: float = 0.9) -> Any:
    limits = Limits(items=UNLIMITED, tokens=tokens, importance_share=importance)
    return play_all(Play(trace, views, limits), policy)
