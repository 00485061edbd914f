"""Skills made of skills: a procedure that contains another one says so instead of repeating it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from prowess.learning.synthesis.notes import IF_IT_FAILS_WITH, JOINT
from prowess.learning.synthesis.templates import canonical, placeholders, rename
from prowess.storage.models import Skill, SkillStep

__all__ = ["compose"]

Forms = tuple[bytes, ...]


def compose(skills: Sequence[Skill]) -> list[Skill]:
    """New versions of those skills that contain another one, with its steps replaced by a reference to it.

    A contained skill has at least two steps and fewer than the container, in the same scope or in all projects. Where
    its placeholders have other names in the container, the reference's ``args_template`` maps its names to them. A
    container that knows of an error what the part does not keeps its steps. What
    a person wrote or pinned may be referred to but is not changed; retired and archived skills take no part. What a
    stranger wrote is no part of what others did, or of what a person accepted of it: its text may become another one at
    any time.
    """
    usable = [skill for skill in skills if skill.status in ("draft", "active") and _flat(skill)]
    forms = {skill.id: tuple(map(_form, skill.steps)) for skill in usable}
    by_forms: dict[Forms, list[Skill]] = defaultdict(list)
    for part in usable:
        by_forms[forms[part.id]].append(part)
    return [
        changed for skill in usable if (changed := _composed(skill, _inside(forms[skill.id], by_forms))) is not None
    ]


def _form(step: SkillStep) -> bytes:
    """What steps have in common that are the same but for the names of placeholders."""
    args = step.args_template or {}
    return canonical([step.tool, rename(args, dict.fromkeys(placeholders(args), "_"))])


def _inside(forms: Forms, by_forms: Mapping[Forms, Sequence[Skill]]) -> list[Skill]:
    """The skills whose steps may stand in a row in the one of ``forms``, the longest first: of thousands a few."""
    windows = {forms[start : start + size] for size in range(2, len(forms)) for start in range(len(forms) - size + 1)}
    found = [part for window in windows if window in by_forms for part in by_forms[window]]
    return sorted(found, key=lambda part: (-len(part.steps), part.id))


def _flat(skill: Skill) -> bool:
    return all(step.tool is not None for step in skill.steps)


def _composed(skill: Skill, inside: Sequence[Skill]) -> Skill | None:
    if skill.pinned or skill.author == "person":
        return None
    steps = skill.steps
    theirs = (skill.trust, skill.status) == ("untrusted", "draft")
    for part in inside:
        if part.project in ("", skill.project) and (theirs or part.trust != "untrusted"):
            steps = _replace(steps, part)
    if steps == skill.steps:
        return None
    return msgspec.structs.replace(skill, steps=steps, version=skill.version + 1)


def _replace(steps: tuple[SkillStep, ...], part: Skill) -> tuple[SkillStep, ...]:
    size = len(part.steps)
    for start in range(len(steps) - size + 1):
        window = steps[start : start + size]
        names = _correspond(part.steps, window)
        if names is not None and all(map(_tells_as_much, part.steps, window)):
            reference = SkillStep(skill=part.id, args_template=_renamed(names))
            return (*steps[:start], reference, *_replace(steps[start + size :], part))
    return steps


def _tells_as_much(part: SkillStep, step: SkillStep) -> bool:
    """Whether nothing that is known of how a step fails would be lost with its note."""
    return all(check in part.note for check in step.note.split(JOINT) if check.startswith(IF_IT_FAILS_WITH))


def _renamed(names: Mapping[str, str]) -> dict[str, Any] | None:
    changed = {inner: "{" + outer + "}" for inner, outer in names.items() if inner != outer}
    return changed or None


def _correspond(part: Sequence[SkillStep], window: Sequence[SkillStep]) -> dict[str, str] | None:
    """Placeholder names of ``part`` → those of ``window`` if they are the same steps, else None."""
    inner, outer = ([_plain(step.args_template or {}) for step in steps] for steps in (part, window))
    ours, theirs = placeholders(inner), placeholders(outer)
    if len(ours) != len(theirs) or [step.tool for step in part] != [step.tool for step in window]:
        return None
    names = dict(zip(ours, theirs, strict=True))
    return names if canonical(rename(inner, names)) == canonical(outer) else None


def _plain(args: Mapping[str, Any]) -> Any:
    """With its names in order, so that the same arguments have their placeholders in the same order."""
    return msgspec.json.decode(canonical(args))
