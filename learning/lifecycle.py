"""What becomes of a skill: whether it is well-formed, what it expands to, when it has had its time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from prowess.learning.counting import counted
from prowess.learning.lifecycle_adjust import adjust
from prowess.learning.synthesis.notes import behind, renamed
from prowess.learning.synthesis.templates import placeholders, substitute
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Skill, SkillStep, parse_time

__all__ = ["MAX_NAME", "adjust", "expand", "prune", "validate"]

MAX_NAME = 100
MAX_DEPTH = 8
MAX_EXPANDED = 500  # steps; references that double at each level would otherwise grow without bound
FAILING_RATE = 0.5
ENOUGH_USES = 5
UNUSED_DAYS = 30

_NAME = re.compile(r"[^\W_](?:[\w .:+-]*[\w+])?")
_PARAMETER = re.compile(r"[A-Za-z_]\w*")


def validate(skill: Skill, known: Mapping[str, Skill]) -> None:
    """Raises ``InvalidInput`` where ``skill`` cannot be followed; ``known`` has the skills it may refer to, by id.

    Checked: name, that each step is either a call or a reference, that references exist, do not form
    a cycle, are not too deep and lead to steps, and that placeholders and parameters correspond.
    """
    if len(skill.name) > MAX_NAME or not _NAME.fullmatch(skill.name):
        raise InvalidInput(
            f"skill name {skill.name[:MAX_NAME]!r} is not a name",
            hint=f"Use 1 to {MAX_NAME} letters, digits, spaces and . : + - such as run-tests-then-commit.",
        )
    for number, step in enumerate(skill.steps, 1):
        _check_step(skill, number, step)
    expand(skill, known)
    _check_parameters(skill, known)


def _check_step(skill: Skill, number: int, step: SkillStep) -> None:
    if bool(step.tool) == bool(step.skill):
        raise InvalidInput(
            f"step {number} of skill {skill.name!r} must have either a tool or a skill",
            hint='A step is {"tool": "name", "args_template": {…}} or {"skill": "id"}.',
        )


def _check_parameters(skill: Skill, known: Mapping[str, Skill]) -> None:
    told = [parameter.name for parameter in skill.parameters]
    twice = {name for name, count in Counter(told).items() if count > 1}
    bad = [name for name in told if not _PARAMETER.fullmatch(name)]
    if twice or bad:
        problem = f"{min(twice)!r} twice" if twice else f"{bad[0]!r}, which is no identifier"
        names = (
            "Name each parameter once." if twice else "Use letters, digits and _, and begin with no digit: file_path."
        )
        raise InvalidInput(f"skill {skill.name!r} has parameter {problem}", hint=names)
    used = set(_open_names(skill, known))
    if missing := sorted(used - set(told)):
        raise InvalidInput(
            f"skill {skill.name!r} uses {{{missing[0]}}} without such a parameter",
            hint=f"Add a parameter {missing[0]!r}, or write {{{{{missing[0]}}}}} for the literal text.",
        )
    if idle := sorted(set(told) - used):
        raise InvalidInput(
            f"skill {skill.name!r} has parameter {idle[0]!r} but no step uses it",
            hint=f"Write {{{idle[0]}}} where its value goes, or leave the parameter out.",
        )


def _open_names(skill: Skill, known: Mapping[str, Skill]) -> Iterator[str]:
    """Placeholders of the steps, and what referred skills need and are not given."""
    for number, step in enumerate(skill.steps, 1):
        given = step.args_template or {}
        yield from placeholders(given)
        if step.skill:
            needed = {parameter.name for parameter in known[step.skill].parameters}
            if extra := sorted(given.keys() - needed):
                raise InvalidInput(
                    f"step {number} of skill {skill.name!r} gives {extra[0]!r}, which the skill it refers to has not",
                    hint=f"Its parameters are: {', '.join(sorted(needed)) or 'none'}.",
                )
            yield from needed - given.keys()


def expand(skill: Skill, lookup: Mapping[str, Skill]) -> tuple[SkillStep, ...]:
    """The skill's steps with every reference replaced by the steps it stands for, placeholders renamed as it says.

    Notes of these steps ask for nothing that earlier steps do.

    Raises ``InvalidInput`` for a missing skill, a cycle, more than ``MAX_DEPTH`` levels or ``MAX_EXPANDED`` steps.
    """
    steps = tuple(_expanded(skill, lookup, (skill.id,)))
    if not steps:
        raise InvalidInput(f"skill {skill.name!r} has no steps", hint="Give at least one step with a tool.")
    return steps


def _expanded(skill: Skill, lookup: Mapping[str, Skill], above: tuple[str, ...]) -> list[SkillStep]:
    steps: list[SkillStep] = []
    for step in skill.steps:
        if step.skill is None:
            steps.append(step)
        else:
            steps += [behind(steps, part) for part in _referred(skill, step, step.skill, lookup, above)]
        if len(steps) > MAX_EXPANDED:
            raise InvalidInput(
                f"skill {skill.name!r} expands to more than {MAX_EXPANDED} steps", hint="Refer to fewer skills."
            )
    return steps


def _referred(
    skill: Skill, step: SkillStep, wanted: str, lookup: Mapping[str, Skill], above: tuple[str, ...]
) -> list[SkillStep]:
    if wanted in above:
        raise InvalidInput(
            f"skill {skill.name!r} includes itself{'' if wanted == skill.id else ' through other skills'}",
            hint="Take the step out that refers back to it.",
        )
    if wanted not in lookup:
        raise InvalidInput(f"skill {skill.name!r} refers to unknown skill {wanted!r}", hint="Create that one first.")
    if len(above) >= MAX_DEPTH:
        raise InvalidInput(
            f"skill {skill.name!r} lies more than {MAX_DEPTH} references deep", hint="Flatten some of them."
        )
    given = step.args_template or {}
    inner = _expanded(lookup[wanted], lookup, (*above, wanted))
    return [
        msgspec.structs.replace(
            part, args_template=substitute(part.args_template, given), note=renamed(part.note, given)
        )
        for part in inner
    ]


def prune(
    skills: Sequence[Skill], now: datetime, active_days: Collection[str], *, unused_days: int = UNUSED_DAYS
) -> dict[str, str]:
    """The ids of skills to archive, with why: ``success_rate < 0.5`` with 5 uses, or never used in 30 active days (0:
    never for that).

    ``active_days`` are the days (``YYYY-MM-DD``, UTC) on which anything was recorded; only those after a skill was made
    and up to ``now`` count, so a clock that jumps ahead prunes nothing. Pinned and person-written skills are never
    touched.
    """
    found = {skill.id: _reason(skill, now, active_days, unused_days) for skill in skills if _prunable(skill)}
    return {key: reason for key, reason in found.items() if reason}


def _prunable(skill: Skill) -> bool:
    return skill.status in ("draft", "active") and not skill.pinned and skill.author != "person"


def _reason(skill: Skill, now: datetime, active_days: Collection[str], unused_days: int) -> str:
    if skill.use_count >= ENOUGH_USES and skill.success_rate < FAILING_RATE:
        return f"succeeded in {skill.success_rate:.0%} of {counted(skill.use_count, 'use')}"
    if skill.use_count == 0 and unused_days and _outlived(skill, now, active_days, unused_days):
        return f"never used in {counted(unused_days, 'day')} with activity"
    return ""


def _outlived(skill: Skill, now: datetime, active_days: Collection[str], unused_days: int) -> bool:
    if not skill.created_at or parse_time(skill.created_at) > now - timedelta(days=unused_days):
        return False
    made, today = skill.created_at[:10], now.date().isoformat()
    return sum(made < day <= today for day in set(active_days)) >= unused_days
