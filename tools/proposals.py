"""Skills that an agent words itself: they pass the same gates as what is mined.

A proposal must have a name that is free, steps that name tools or known skills, no skill that includes itself, be no
near duplicate, and replay on a successful episode where there are any with its tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import anyio.to_thread
from msgspec.structs import replace
from pydantic import BeforeValidator, Field

from prowess.learning.counting import counted
from prowess.learning.lifecycle import validate
from prowess.learning.synthesis.drafts import identify, replays
from prowess.learning.synthesis.templates import placeholders
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Origin, Parameter, Skill, SkillStep, Trajectory
from prowess.tools.base import Input, JsonObject, Text, from_json
from prowess.tools.errors import ToolError
from prowess.tools.skills import flat_steps, only_one
from prowess.tools.text import quote, to_json

__all__ = ["Proposal", "admit", "check", "draft_of", "revision_of"]

MAX_STEPS = 50
_MAX_ARGS = 20_000
_EXAMPLE = 'e.g. {"tool": "Bash", "args_template": {"command": "pytest {path}"}} or {"skill": "run-tests"}'


def _steps(value: Any) -> Any:
    value = from_json(value)
    items = [value] if isinstance(value, str | dict) else value
    return [_step(from_json(item)) for item in items] if isinstance(items, list) else items


def _step(item: Any) -> Any:
    if isinstance(item, str):
        return {"tool": item}
    if not isinstance(item, dict) or "args_template" in item:
        return item
    other = {name: value for name, value in item.items() if name not in ("args", "arguments")}
    return {**other, "args_template": item.get("args", item.get("arguments"))}


def _parameters(value: Any) -> Any:
    value = from_json(value)
    items = (
        [{"name": name} | _described(details) for name, details in value.items()] if isinstance(value, dict) else value
    )
    return [{"name": item} if isinstance(item, str) else item for item in items] if isinstance(items, list) else items


def _described(details: Any) -> dict[str, Any]:
    return details if isinstance(details, dict) else {"description": str(details)}


def _keywords(value: Any) -> Any:
    value = from_json(value)
    return [word for part in value.split(",") if (word := part.strip())] if isinstance(value, str) else value


Keyword = Annotated[Text, Field(max_length=100)]


class ProposedStep(Input):
    """A tool call or a reference to another skill, by name or id."""

    tool: Text | None = Field(default=None, max_length=200)
    skill: Text | None = Field(default=None, max_length=200)
    args_template: JsonObject | None = None
    note: Text = Field(default="", max_length=500)


class ProposedParameter(Input):
    """A placeholder's description."""

    name: Text = Field(max_length=100)
    type: Text = Field(default="string", max_length=20)
    description: Text = Field(default="", max_length=500)
    required: bool = True


class Proposal(Input):
    """A skill as the agent words it; ``skill`` is the id or name of the one that it changes."""

    name: Text = Field(default="", max_length=100)
    skill: Text = Field(default="", max_length=200)
    description: Text = Field(default="", max_length=2_000)
    steps: Annotated[list[ProposedStep], BeforeValidator(_steps)] = Field(default_factory=list, max_length=MAX_STEPS)
    parameters: Annotated[list[ProposedParameter], BeforeValidator(_parameters)] = Field(
        default_factory=list, max_length=100
    )
    keywords: Annotated[list[Keyword], BeforeValidator(_keywords)] = Field(default_factory=list, max_length=20)

    @property
    def called(self) -> str:
        """What messages call it."""
        return self.name or self.skill or "?"


def draft_of(proposal: Proposal, skills: Mapping[str, Skill], *, project: str, origin: Origin) -> Skill:
    """A new draft from ``proposal``. Raises ``ToolError`` where a gate is closed."""
    if not proposal.name.strip() or not proposal.steps:
        raise _refused(proposal.called, f"name and steps are needed; a step is {_EXAMPLE}")
    steps = _resolved(proposal, skills, own_id=None)
    draft = Skill(
        id=identify(steps, project),
        name=proposal.name.strip(),
        description=proposal.description or proposal.name,
        steps=steps,
        parameters=_all_parameters(proposal, steps, (), skills),
        project=project,
        author=origin.actor,
        trust=origin.trust,
        keywords=tuple(proposal.keywords),
    )
    admit(draft, skills)
    return draft


def revision_of(proposal: Proposal, old: Skill, skills: Mapping[str, Skill], *, origin: Origin) -> Skill:
    """The next version of ``old`` with what ``proposal`` gives. Raises ``ToolError`` where a gate is closed."""
    if origin.actor != "person" and (old.pinned or old.author == "person"):
        raise _refused(proposal.called, "a person wrote or pinned it, so it is not changed by an agent")
    steps = _resolved(proposal, skills, own_id=old.id) if proposal.steps else old.steps
    revised = replace(
        old,
        name=proposal.name.strip() or old.name,
        description=proposal.description or old.description,
        steps=steps,
        parameters=_all_parameters(proposal, steps, old.parameters, skills),
        keywords=tuple(proposal.keywords) or old.keywords,
    )
    if revised == old:
        raise _refused(proposal.called, "nothing differs from the stored version")
    if origin.trust == "untrusted":
        revised = replace(revised, status="draft", trust="untrusted")
    revised = replace(revised, version=old.version + 1)
    admit(revised, skills)
    return revised


def admit(skill: Skill, skills: Mapping[str, Skill]) -> None:
    """Raises ``ToolError`` where ``skill`` cannot be followed, or is not new beside ``skills`` (by id)."""
    _must_be_new(skill, skills)
    try:
        validate(skill, skills)
    except InvalidInput as error:
        raise _refused(skill.name, str(error), hint=error.hint) from error


def _refused(called: str, reason: str, *, hint: str = "") -> ToolError:
    return ToolError(f"skill {quote(called)} was refused: {reason}", hint=hint)


def _resolved(proposal: Proposal, skills: Mapping[str, Skill], own_id: str | None) -> tuple[SkillStep, ...]:
    return tuple(_resolved_step(proposal, step, skills, own_id) for step in proposal.steps)


def _resolved_step(
    proposal: Proposal, step: ProposedStep, skills: Mapping[str, Skill], own_id: str | None
) -> SkillStep:
    if (step.tool is None) == (step.skill is None):
        raise _refused(proposal.called, f"each step has either tool or skill, {_EXAMPLE}")
    args = step.args_template or None
    if len(to_json(args)) > _MAX_ARGS:
        raise _refused(proposal.called, f"the arguments of a step are longer than {_MAX_ARGS} characters")
    if step.tool is not None:
        return SkillStep(tool=step.tool, args_template=args, note=step.note)
    wanted = step.skill or ""
    if wanted == proposal.name or (own_id and wanted in (own_id, skills[own_id].name)):
        raise _refused(proposal.called, "it includes itself; leave that step out or name another skill")
    same = [skills[wanted]] if wanted in skills else [skill for skill in skills.values() if skill.name == wanted]
    if not same:
        raise _refused(proposal.called, f"there is no skill {quote(wanted)} to refer to; create that one first")
    part = only_one(wanted, same)
    if part.trust == "untrusted":  # a stranger's text may become another one at any time
        raise _refused(
            proposal.called, f"skill {quote(part.name)} comes from a source that is not trusted; say its steps"
        )
    return SkillStep(skill=part.id, args_template=args, note=step.note)


def _all_parameters(
    proposal: Proposal, steps: Sequence[SkillStep], held: Sequence[Parameter], skills: Mapping[str, Skill]
) -> tuple[Parameter, ...]:
    """One parameter per placeholder, those of referred skills included: as proposed, else as it was, else plain."""
    inner = [parameter for step in steps for parameter in _left_open(step, skills)]
    known = {parameter.name: parameter for parameter in [*inner, *held]}
    known |= {
        item.name: Parameter(name=item.name, type=item.type, description=item.description, required=item.required)
        for item in proposal.parameters
    }
    names = dict.fromkeys(name for step in steps for name in placeholders(step.args_template or {}))
    names |= dict.fromkeys(parameter.name for parameter in inner)
    return tuple(known.get(name, Parameter(name=name)) for name in names)


def _left_open(step: SkillStep, skills: Mapping[str, Skill]) -> list[Parameter]:
    """The parameters of a referred skill that the reference gives no value."""
    part = skills.get(step.skill or "")
    given = step.args_template or {}
    return [parameter for parameter in part.parameters if parameter.name not in given] if part else []


def _must_be_new(skill: Skill, skills: Mapping[str, Skill]) -> None:
    stored = skills.get(skill.id)
    if stored is not None and skill.version == 1:
        raise _refused(skill.name, f"the same steps are stored as {stored.name!r} ({stored.status}); use mode adjust")
    others = [other for other in skills.values() if other.id != skill.id and other.project in ("", skill.project)]
    if any(other.name == skill.name for other in others):
        raise _refused(skill.name, "the name is taken; choose another, or use mode adjust to change the stored one")
    if stored is not None and stored.steps == skill.steps:
        return
    mine = flat_steps(skill, skills)
    for other in others:
        if other.status in ("draft", "active") and _alike(mine, flat_steps(other, skills)):
            raise _refused(skill.name, f"it does the same as {other.name!r}; use that, or mode adjust to change it")


def _alike(mine: Sequence[SkillStep], theirs: Sequence[SkillStep]) -> bool:
    """Whether both make the same calls with the same arguments, whatever their placeholders are called."""
    same = [step.tool for step in mine] == [step.tool for step in theirs]
    return same and identify(mine, "") == identify(theirs, "")


async def check(skill: Skill, skills: Mapping[str, Skill], successes: Sequence[Trajectory]) -> tuple[str, ...]:
    """The successful episodes that ``skill`` replays on. Raises ``ToolError`` where it should and does not."""
    return await anyio.to_thread.run_sync(_replayed, skill, skills, successes)


def _replayed(skill: Skill, skills: Mapping[str, Skill], successes: Sequence[Trajectory]) -> tuple[str, ...]:
    flat = replace(skill, steps=flat_steps(skill, skills))
    tools = {step.tool for step in flat.steps}
    able = [found for found in successes if tools <= {step.verb for step in found.steps}]
    shown = tuple(found.episode.id for found in able if replays(flat, found))
    if able and not shown:
        raise _refused(
            skill.name,
            f"it happened in none of {counted(len(able), 'success', 'successes')} with its tools",
            hint="Propose steps in the order and with the arguments of a successful episode; {name} marks what varies.",
        )
    return shown
