"""Small traces and skills with hashed vectors, so that everything can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from prowess.learning.memskill import MemorySkill, Span, Unit, View, hashed, view_skills
from prowess.learning.memskill.units import make_span, make_units
from prowess.storage.models import Episode, Outcome, Step, Trajectory

AT = "2026-11-29T13:00:00.000Z"


def units(*texts: str, prefix: str = "u") -> tuple[Unit, ...]:
    return make_units(texts, [f"{prefix}{number}" for number in range(len(texts))], hashed)


def span(*texts: str, prefix: str = "u", first: bool = False) -> Span:
    return make_span(units(*texts, prefix=prefix), first=first)


def skill(name: str = "keep", **fields: str) -> MemorySkill:
    given = {"description": "Keep it.", "action": "insert", "instruction": "Camping trips.", **fields}
    return MemorySkill(name=name, **given)  # type: ignore[arg-type]


def view(name: str = "keep", **fields: str) -> View:
    return view_skills([skill(name, **fields)], hashed)[0]


def step(episode: str, number: int, command: str, observation: str = "", error: str | None = None) -> Step:
    return Step(
        episode_id=episode,
        number=number,
        action="run",
        at=AT,
        tool="bash",
        args={"command": command},
        observation=observation or None,
        error=error,
        outcome="failure" if error else "success",
    )


def trajectory(name: str, task: str, steps: Sequence[Step], outcome: Outcome = "success") -> Trajectory:
    episode = Episode(
        id=name, project="p", session="s", task_id=name, attempt=1, opened_at=AT, task=task, outcome=outcome
    )
    return Trajectory(episode=episode, steps=tuple(steps))
