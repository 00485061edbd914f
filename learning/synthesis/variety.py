"""Which arguments say what is a task's own, judged by all episodes: hardly two customers have one name.

Attempts at one task agree on everything that the task is about, and two tasks may share a city. That alone does not
make it part of the procedure: it is where more tasks agree than would by chance, or where most of all tasks do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from prowess.learning.synthesis.calls import Call
from prowess.learning.synthesis.templates import canonical

__all__ = ["Variety"]

MOSTLY = 0.5  # of all pairs of tasks: where more agree, one value is as good a guess as a placeholder
CHANCE = 0.05  # of tasks agreeing on what is each one's own: what is less likely is part of the procedure
TOGETHER = 2  # tasks that may be one customer's, or about one file, and so count as one


class Variety:
    """How often two tasks give an argument of a call the same value. ``calls`` are an episode's, with its task's id."""

    def __init__(self, calls: Iterable[tuple[str, Iterable[Call]]]) -> None:
        self._tasks: dict[tuple[str, str], dict[bytes, set[str]]] = defaultdict(lambda: defaultdict(set))
        for task_id, made in calls:
            for call in made:
                for name, value in call.args.items():
                    self._tasks[call.key, name][canonical(value)].add(task_id)

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
