"""Whether a skill really happened in an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prowess.learning.synthesis.calls import Call, calls_of
from prowess.learning.synthesis.clients import plain_args
from prowess.learning.synthesis.templates import match, placeholders
from prowess.storage.models import Skill, SkillStep, Trajectory

__all__ = ["match_step", "optional_names", "replays", "replays_calls"]

MAX_TRIES = 20_000  # a bound on backtracking: hostile or endless episodes simply do not replay


def replays(skill: Skill, trajectory: Trajectory) -> bool:
    """Whether the skill's steps, filled in with one choice of values, are calls that worked in this episode, in order.

    ``skill`` must be flat (no references to other skills); other calls may lie between its steps.
    """
    return replays_calls(skill, calls_of(trajectory))


def replays_calls(skill: Skill, calls: Sequence[Call]) -> bool:
    """``replays`` where the episode's calls are at hand."""
    if any(step.tool is None for step in skill.steps):
        return False
    return _Replay(skill.steps, calls, optional_names(skill)).found()


def optional_names(skill: Skill) -> frozenset[str]:
    """The placeholders that a use may leave out."""
    return frozenset(parameter.name for parameter in skill.parameters if not parameter.required)


def match_step(
    step: SkillStep, args: Mapping[str, Any], known: Mapping[str, Any], optional: frozenset[str] = frozenset()
) -> dict[str, Any] | None:
    """Values that make the step's template these arguments; what is one optional placeholder may be absent.

    Both count in their plain form.
    """
    tool = step.tool or ""
    return _matched(plain_args(tool, step.args_template or {}), plain_args(tool, args), known, optional)


def _matched(
    template: Mapping[str, Any], args: Mapping[str, Any], known: Mapping[str, Any], optional: frozenset[str]
) -> dict[str, Any] | None:
    needed = {key: value for key, value in template.items() if key in args or not _may_lack(value, optional)}
    return match(needed, dict(args), known)


def _may_lack(template: Any, optional: frozenset[str]) -> bool:
    names = placeholders(template)
    return len(names) == 1 and names[0] in optional and template == "{" + names[0] + "}"


class _Replay:
    def __init__(self, steps: Sequence[SkillStep], calls: Sequence[Call], optional: frozenset[str]) -> None:
        self._steps = [(step.tool, plain_args(step.tool or "", step.args_template or {})) for step in steps]
        self._calls, self._optional = calls, optional
        self._tries = 0

    def found(self) -> bool:
        return self._from(0, 0, {})

    def _from(self, step: int, start: int, known: Mapping[str, Any]) -> bool:
        if step == len(self._steps):
            return True
        tool, template = self._steps[step]
        for position in range(start, len(self._calls) - (len(self._steps) - step - 1)):
            if self._calls[position].tool != tool:
                continue
            self._tries += 1
            if self._tries > MAX_TRIES:
                return False
            bound = _matched(template, self._calls[position].args, known, self._optional)
            if bound is not None and self._from(step + 1, position + 1, bound):
                return True
        return False
