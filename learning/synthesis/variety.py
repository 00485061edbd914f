"""Which arguments say what is a task's own, judged by all episodes: hardly two customers have one name.

Attempts at one task agree on everything that the task is about, and two tasks may share a city. That alone does not
make it part of the procedure: it is where more tasks agree than would by chance, or where most of all tasks do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from prowess.learning.synthesis.calls import Call
from prowess.learning.synthesis.templates import canonical

__all__ = ["Variety"]

MOSTLY = 0.5  # of all pairs of tasks: where more agree, one value is as good a guess as a placeholder
CHANCE = 0.05  # of tasks agreeing on what is each one's own: what is less likely is part of the procedure
USUAL = 0.8  # of the tasks: what so many give is how it is done, also where a task says it
LEAST_TASKS = 2  # from fewer nothing is seen to be usual
TOGETHER = 2  # tasks that may be one customer's, or about one file, and so count as one


class Variety:
    """How often two tasks give an argument of a call the same value. ``calls`` are an episode's, with its task's id."""

    def __init__(self, calls: Iterable[tuple[str, Iterable[Call]]]) -> None:
        self._tasks: dict[tuple[str, str], dict[bytes, set[str]]] = defaultdict(lambda: defaultdict(set))
        for task_id, made in calls:
            for call in made:
                for name, value in call.args.items():
                    self._tasks[call.key, name][canonical(value)].add(task_id)

    def usual(self, key: str, argument: str, value: Any) -> bool:
        """Whether most of the tasks that make such calls give the argument this value, whatever they are about."""
        by_value = self._tasks.get((key, argument), {})
        tasks = len(set[str]().union(*by_value.values()))
        having = len(by_value.get(canonical(value), ()))
        return tasks > LEAST_TASKS and having >= USUAL * tasks

    def own(self, key: str, argument: str, agreeing: int) -> bool:
        """Whether this argument of such calls is each task's own, and ``agreeing`` tasks may share a value by chance.

        It is not where most pairs of tasks agree, nor where so many agree on what two others seldom do.
        """
        by_value = self._tasks.get((key, argument), {}).values()
        tasks = len(set().union(*by_value))
        pairs = tasks * (tasks - 1)
        alike = sum(len(group) * (len(group) - 1) for group in by_value)
        independent = (agreeing + TOGETHER - 1) // TOGETHER
        return alike < MOSTLY * pairs and (alike / pairs) ** (independent - 1) > CHANCE
