"""Questions about tasks that were never fed, and answers to them, whichever set they come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Answer", "Question", "Split", "Step", "Tools", "read_rows"]

Tools = frozenset[str]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file that has one in each line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True, slots=True)
class Step:
    """One call and what it answered."""

    tool: str
    args: dict[str, Any]
    observation: str = ""
    outcome: str = "success"

    def told(self) -> dict[str, Any]:
        """As ``track_execution`` takes it."""
        return {"tool": self.tool, "args": self.args, "observation": self.observation, "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the sequences of calls that are right. ``task``: what is drawn as one in the bootstrap.

    ``seen`` is what an agent has before its eyes when it asks. ``world`` is where the task begins and ``after`` how
    the right calls leave it, where the set can be executed.
    """

    id: str
    task: str
    text: str
    gold: tuple[tuple[Step, ...], ...]
    seen: str = ""
    world: Any = None
    after: Any = None

    def episode(self) -> dict[str, Any]:
        """As a successful episode to feed."""
        return {"task_id": self.id, "task": self.text, "steps": [step.told() for step in self.gold[0]]}


@dataclass(frozen=True, slots=True)
class Split:
    """Successful episodes to feed (``task_id``, ``task``, ``steps``) and questions about other tasks.

    ``core`` are those of some tools that count.
    """

    name: str
    fed: Sequence[dict[str, Any]]
    asked: Sequence[Question]
    core: Callable[[Iterable[str]], Tools]


@dataclass(frozen=True, slots=True)
class Answer:
    """Steps as a method tells them: arguments with ``{placeholders}``, and what is known of these.

    ``parameters`` by name: ``type`` (a JSON Schema name), ``example``, ``required``.
    """

    steps: tuple[Step, ...]
    parameters: dict[str, dict[str, Any]]

    @property
    def tools(self) -> list[str]:
        return [step.tool for step in self.steps]
