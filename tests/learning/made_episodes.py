"""Short ways to write episodes down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prowess.storage.models import Episode, Skill, SkillStep, Step, Trajectory

Call = tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], str]


def episode(
    key: str,
    calls: Sequence[str | Call | Step],
    *,
    task: str = "",
    task_id: str | None = None,
    reward: float | None = 1.0,
    project: str = "",
    agent: str = "",
) -> Trajectory:
    """Calls are tool names, or (tool, args), or (tool, args, observation), or whole steps."""
    about = Episode(
        id=key, project=project, session="s", task_id=task_id or key, attempt=1, opened_at="", task=task, agent=agent,
        reward=reward,
    )  # fmt: skip
    return Trajectory(episode=about, steps=tuple(_step(key, number, call) for number, call in enumerate(calls, 1)))


def _step(key: str, number: int, call: str | Call | Step) -> Step:
    if isinstance(call, Step):
        return call
    told: tuple[Any, ...] = (call,) if isinstance(call, str) else call
    tool, args, seen = (*told, {}, None)[:3] if len(told) != 2 else (*told, None)
    return Step(
        episode_id=key, number=number, action=tool, at="", tool=tool, args=args, observation=seen, outcome="success"
    )


def failing(tool: str, error: str, args: dict[str, Any] | None = None) -> Step:
    return Step(episode_id="", number=1, action=tool, at="", tool=tool, args=args, error=error, outcome="failure")


def said(text: str) -> Step:
    return Step(episode_id="", number=1, action="say", at="", observation=text)


def skill(key: str, *steps: SkillStep, **fields: Any) -> Skill:
    return Skill(id=key, name=fields.pop("name", key), description="", steps=steps, **fields)


def call(tool: str, **args: Any) -> SkillStep:
    return SkillStep(tool=tool, args_template=args)
