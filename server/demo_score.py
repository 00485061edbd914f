"""What the demo asks, and how its answers are counted. Pure.

A hit: the set of *mutating* tools in the answer equals that of the task's gold actions. Mutating are the seven retail
tools that change an order or a user; look-ups, ``calculate`` and ``transfer_to_human_agents`` do not count. No answer
is a miss, also where the gold actions mutate nothing. Jaccard is the size of the two sets' intersection over that of
their union, 1 where both are empty, and 0 for no answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

__all__ = [
    "MUTATING",
    "NO_ANSWER",
    "TRIES",
    "Answer",
    "Answers",
    "Split",
    "Task",
    "hit",
    "jaccard",
    "load_rounds",
    "load_split",
    "mean",
    "mutating",
    "rates",
]

MUTATING = frozenset(
    (
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    )
)
SEED = 0
ROUNDS = 3
FED_SHARE = 1 - 1 / ROUNDS  # of the users
TRIES = 3


@dataclass(frozen=True, slots=True)
class Task:
    """What a user asks (``text``) and the tools of its gold actions, in order."""

    id: str
    user: str
    text: str
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """``fed`` episodes in the import format, ``unseen`` tasks: no user has tasks on both sides."""

    fed: tuple[dict[str, Any], ...]
    unseen: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to one question: its name, and its tools in order. ``tools`` None: there was none."""

    name: str
    tools: tuple[str, ...] | None


Answers = Sequence[Answer]  # best first
NO_ANSWER = Answer("", None)


def load_split(seed: int = SEED) -> Split:
    """The packaged runs and tasks, split by user: a fixed shuffle of all users, of which two thirds are fed."""
    tasks = _tasks()
    users = _shuffled(tasks, seed)
    return _split(tasks, set(users[round(len(users) * FED_SHARE) :]))


def load_rounds() -> tuple[Split, ...]:
    """The same shuffle dealt out to ``ROUNDS`` splits, so that each task is asked once by those who never saw its user.

    One split alone has some forty tasks, and its rates move by a third from one seed to the next.
    """
    tasks = _tasks()
    users = _shuffled(tasks, SEED)
    return tuple(_split(tasks, set(users[first::ROUNDS])) for first in range(ROUNDS))


def _tasks() -> list[Task]:
    return [_task(row) for row in _rows("tasks.jsonl")]


def _shuffled(tasks: Iterable[Task], seed: int) -> list[str]:
    users = sorted({task.user for task in tasks})
    random.Random(seed).shuffle(users)  # noqa: S311 - a split that can be repeated, no secret
    return users


def _split(tasks: Sequence[Task], held_back: set[str]) -> Split:
    unseen = tuple(task for task in tasks if task.user in held_back)
    asked = {task.id for task in unseen}
    return Split(tuple(row for row in _rows("episodes.jsonl") if row["task_id"] not in asked), unseen)


def _rows(name: str) -> list[dict[str, Any]]:
    text = files("prowess.server").joinpath("demo_data", name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _task(row: dict[str, Any]) -> Task:
    return Task(row["task_id"], row["user"], row["task"], tuple(action["tool"] for action in row["gold"]))


def mutating(tools: Iterable[str]) -> frozenset[str]:
    """Those of ``tools`` that change something."""
    return MUTATING.intersection(tools)


def hit(answer: Answer, task: Task) -> bool:
    return answer.tools is not None and mutating(answer.tools) == mutating(task.gold)


def jaccard(answer: Answer, task: Task) -> float:
    if answer.tools is None:
        return 0.0
    mine, gold = mutating(answer.tools), mutating(task.gold)
    return len(mine & gold) / len(mine | gold) if mine | gold else 1.0


def mean(values: Sequence[float]) -> float:
    """The mean, rounded to four places; 0 for none."""
    return round(sum(values) / len(values), 4) if values else 0.0


def rates(found: Sequence[Answers], tasks: Sequence[Task]) -> dict[str, float]:
    """Means over ``tasks``: of the best answer's hits and Jaccard, and of the best among the first ``TRIES``."""
    told = {}
    for tries, ending in ((1, ""), (TRIES, f"_best_of_{TRIES}")):
        pairs = [(answers[:tries] or [NO_ANSWER], task) for answers, task in zip(found, tasks, strict=True)]
        told[f"hit_rate{ending}"] = mean([any(hit(answer, task) for answer in answers) for answers, task in pairs])
        told[f"jaccard{ending}"] = mean([max(jaccard(answer, task) for answer in answers) for answers, task in pairs])
    return told
