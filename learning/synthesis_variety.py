"""Which arguments say what is a task's own, judged by all episodes: hardly two customers have one name.

Attempts at one task agree on everything that the task is about. That alone does not make it part of the procedure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from prowess.learning.synthesis_calls import Call
from prowess.learning.synthesis_templates import canonical

__all__ = ["Variety"]

LEAST_TASKS = 5  # that give an argument a value; fewer do not tell
AGREE = 0.2  # of all pairs of those tasks; a choice among a few, as of a reason, is made alike more often


class Variety:
    """How often two tasks give an argument of a call the same value. ``calls`` are an episode's, with its task's id."""

    def __init__(self, calls: Iterable[tuple[str, Iterable[Call]]]) -> None:
        self._tasks: dict[tuple[str, str], dict[bytes, set[str]]] = defaultdict(lambda: defaultdict(set))
        for task_id, made in calls:
            for call in made:
                for name, value in call.args.items():
                    self._tasks[call.key, name][canonical(value)].add(task_id)

    def own(self, key: str, argument: str) -> bool:
        """Whether nearly every task has a value of its own for this argument of calls with this key."""
        by_value = self._tasks.get((key, argument), {}).values()
        tasks = len(set().union(*by_value))
        alike = sum(len(group) * (len(group) - 1) for group in by_value)
        return tasks >= LEAST_TASKS and alike <= AGREE * tasks * (tasks - 1)
