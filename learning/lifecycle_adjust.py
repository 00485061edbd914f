"""Changing a skill by what successful uses of it really did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from prowess.learning.synthesis.calls import Call, calls_of
from prowess.learning.synthesis.clients import plain_args
from prowess.learning.synthesis.replay import match_step, optional_names
from prowess.learning.synthesis.rewording import reworded
from prowess.learning.synthesis.templates import canonical, fill, placeholders
from prowess.learning.synthesis.unify import MAX_EXAMPLE_CHARS, MAX_EXAMPLES, free_name, identifier, json_type
from prowess.storage.models import Parameter, Skill, SkillStep, SkillUse, Trajectory

__all__ = ["adjust"]

ENOUGH_USES = 3  # successful uses before a step may be dropped
SKIPPED_SHARE = 0.8
FOLLOWED_SHARE = 0.5  # of the steps must be there for an episode to count as having followed the skill
ENOUGH_VARIED = 2  # episodes with another value before a constant is given up


class _Trace(msgspec.Struct, frozen=True):
    """How one episode followed the skill: the call made at each step (None: skipped) and what placeholders were."""

    calls: tuple[Call | None, ...]
    values: dict[str, Any]

    @property
    def followed(self) -> bool:
        return sum(call is not None for call in self.calls) >= FOLLOWED_SHARE * len(self.calls)


def adjust(skill: Skill, uses: Sequence[SkillUse], trajectories: Sequence[Trajectory]) -> Skill | None:
    """The skill's next version as its successful uses suggest, or None where there is nothing to change.

    ``trajectories`` are those of ``uses``; others among them, and those that are not whole, are ignored. Steps that at
    least 80 % of three or more successful uses skip are dropped, also from a description that told them; constants that
    differ in two or more of them become placeholders; parameters gain examples. Pinned and person-written skills are
    left alone, references are kept as they are.
    """
    if skill.pinned or skill.author == "person":
        return None
    traces = [
        trace for trajectory in _successes(skill, uses, trajectories) if (trace := _trace(skill, trajectory)).followed
    ]
    if not traces:
        return None
    opened, added = _open_constants(skill, traces)
    kept = _kept(skill, traces)
    steps = tuple(step for step, keep in zip(opened, kept, strict=True) if keep)
    parameters = _used_by(steps, skill, [_with_examples(p, traces) for p in skill.parameters] + added)
    told = reworded(skill.description, skill.steps, steps) if len(steps) < len(skill.steps) else skill.description
    changed = replace(skill, steps=steps, parameters=parameters, description=told)
    return None if changed == skill else replace(changed, version=skill.version + 1)


def _successes(skill: Skill, uses: Sequence[SkillUse], trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    good = {use.episode_id for use in uses if use.success and use.skill_id == skill.id and use.version == skill.version}
    return [trajectory for trajectory in trajectories if trajectory.episode.id in good]


def _trace(skill: Skill, trajectory: Trajectory) -> _Trace:
    optional, calls = optional_names(skill), calls_of(trajectory)
    found: list[Call | None] = []
    values: dict[str, Any] = {}
    start = 0
    for step in skill.steps:
        place, bound = _next(step, calls, start, values, optional)
        found.append(None if place is None else calls[place])
        values = bound
        start = start if place is None else place + 1
    return _Trace(tuple(found), values)


def _next(
    step: SkillStep, calls: Sequence[Call], start: int, values: dict[str, Any], optional: frozenset[str]
) -> tuple[int | None, dict[str, Any]]:
    """The next call that fits the step, else the next of the same tool, and what placeholders are then."""
    same = [place for place in range(start, len(calls)) if calls[place].tool == step.tool]
    for place in same:
        bound = match_step(step, calls[place].args, values, optional)
        if bound is not None:
            return place, bound
    return (same[0] if same else None), values


def _kept(skill: Skill, traces: Sequence[_Trace]) -> list[bool]:
    """For each step whether it stays; references do. Something always does: each trace has half of the steps."""
    if len(traces) < ENOUGH_USES:
        return [True] * len(skill.steps)
    skipped = [sum(trace.calls[at] is None for trace in traces) for at in range(len(skill.steps))]
    return [
        step.tool is None or count < SKIPPED_SHARE * len(traces)
        for step, count in zip(skill.steps, skipped, strict=True)
    ]


def _open_constants(skill: Skill, traces: Sequence[_Trace]) -> tuple[list[SkillStep], list[Parameter]]:
    taken = {parameter.name for parameter in skill.parameters}
    added: list[Parameter] = []
    steps = []
    for at, step in enumerate(skill.steps):
        template = dict(step.args_template or {})
        for key, constant in plain_args(step.tool or "", template).items():  # as the calls' arguments are
            seen = [call.args[key] for trace in traces if (call := trace.calls[at]) is not None and key in call.args]
            if not placeholders(constant) and _varies(fill(constant, {}), seen):
                parameter = _parameter(free_name(identifier(key), taken), [fill(constant, {}), *seen])
                taken.add(parameter.name)
                added.append(parameter)
                template[key] = "{" + parameter.name + "}"
        changed = template != (step.args_template or {})
        steps.append(replace(step, args_template=template) if changed else step)
    return steps, added


def _varies(constant: Any, seen: Sequence[Any]) -> bool:
    return sum(canonical(value) != canonical(constant) for value in seen) >= ENOUGH_VARIED


def _parameter(name: str, values: Sequence[Any]) -> Parameter:
    return Parameter(name=name, type=json_type(values), examples=_merged((), values))


def _with_examples(parameter: Parameter, traces: Sequence[_Trace]) -> Parameter:
    """The parameter with free places for examples filled; full ones stay, or each use would make a new version."""
    seen = [trace.values[parameter.name] for trace in traces if parameter.name in trace.values]
    return replace(parameter, examples=_merged(parameter.examples, seen))


def _merged(held: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
    examples = {canonical(value): value for value in held}
    for value in more:
        text = canonical(value)
        if len(examples) < MAX_EXAMPLES and len(text) <= MAX_EXAMPLE_CHARS:
            examples.setdefault(text, value)
    return tuple(examples.values())


def _used_by(steps: Sequence[SkillStep], skill: Skill, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Parameters that something still needs; those of dropped steps go, those that references may need stay."""
    dropped = _names(skill.steps) - _names(steps)
    return tuple(parameter for parameter in parameters if parameter.name not in dropped)


def _names(steps: Sequence[SkillStep]) -> set[str]:
    return {name for step in steps for name in placeholders(step.args_template or {})}
