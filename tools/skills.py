"""Skills as an agent is shown them: references expanded, ready to act on, in little text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace
from pydantic import BaseModel

from prowess.learning.counting import counted
from prowess.learning.display import shown
from prowess.learning.lifecycle import expand
from prowess.learning.redaction.masking import mask, mask_value
from prowess.learning.synthesis.answers import JOINT
from prowess.learning.synthesis.calls import words_of
from prowess.learning.synthesis.grammar import ARTICLES
from prowess.learning.synthesis.naming import FOR_TASKS
from prowess.learning.synthesis.replay import match_step
from prowess.learning.synthesis.templates import is_open
from prowess.learning.text import cut_at_sentence, cut_at_word
from prowess.storage.errors import AmbiguousSkill, InvalidInput
from prowess.storage.models import Parameter, Skill, SkillStep, SkillVersion
from prowess.tools.text import cut, quote, to_json

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = [
    "SkillCard",
    "call_words",
    "card",
    "covers",
    "flat_steps",
    "is_as_saved",
    "known_parts",
    "one_line",
    "only_one",
    "pinned_down",
    "same_tools",
    "steps_in_words",
    "versions_of",
    "waits",
    "with_record",
]

MAX_STEPS = 40  # of a skill, in the report of a change
_PATH = re.compile(r'"[^\s"]*/[^\s"]*"')
MAX_DEPTH = 8
_LONGEST_DESCRIPTION = 400
_LONGEST_VALUE = 200
_LONGEST_STEP = 100
_LONGEST_FIRST = 160  # of a description as text: of the best skill, and of those after it
_LONGEST_LATER = 60
_LONGEST_EXAMPLE = 40
_LONGEST_SECRET = 4_096  # what lies further behind cannot be shown, nor be part of a secret that is


class SkillCard(BaseModel):
    """A skill that an agent can act on at once; ``success_rate`` is absent until it was used.

    ``parameters`` by name; one without a ``type`` is a string. ``trust`` is told where it is ``untrusted``: somebody
    else wrote it, and no person here has taken it over.
    """

    name: str
    id: str
    version: int
    status: str
    description: str
    parameters: dict[str, dict[str, Any]]
    steps: list[dict[str, Any]]
    uses: int
    success_rate: float | None = None
    support: int
    trust: Literal["untrusted"] | None = None
    why: str = ""

    def lines(self, rank: int, told: set[str] | None = None) -> list[str]:
        """The card as text. Nothing stored in it can begin a line of its own.

        ``told`` are placeholders as earlier cards explained them; they are not explained again, and this card's added.
        """
        told = set() if told is None else told
        about = _about(self.name, self.description, _LONGEST_FIRST if rank == 1 else _LONGEST_LATER)
        head = f"{rank}. {self.name} ({', '.join(self._record())})"
        lines = [f"{head}: {about}" if about else head]
        known = told & _alone(self.steps)  # a piece of a longer text may be another one under the same name
        needs = [words for name, details in self.parameters.items() if (words := _needed(name, details, known))]
        told.update(self.parameters)
        lines += [f"   e.g. {', '.join(needs)}"] if needs else []
        lines += [f"   {call_words(step)}" for step in self.steps]
        return [shown(line, line=True) for line in lines]

    def _record(self) -> list[str]:
        used = [f"{round(self.uses * (self.success_rate or 0.0))}/{self.uses} ok"] if self.uses else []
        return [*filter(None, (self.status, self.trust)), *used, f"seen {self.support}x"]


def _about(name: str, description: str, limit: int) -> str:
    """What the description tells beyond the name; nothing of a joined answer, whose steps tell what it is made of."""
    if JOINT in name:
        return ""
    first, _, rest = description.partition(". ")
    new = rest.removeprefix(FOR_TASKS) if _bare(first) == _bare(name) else description
    return cut_at_sentence(new, limit)


def _bare(text: str) -> list[str]:
    return [word for word in words_of(text) if word != "and" and word not in ARTICLES]


def _alone(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """Names of the placeholders that are an argument's whole value."""
    values = (value for step in steps for value in (step.get("args") or {}).values())
    return {str(value)[1:-1] for value in values if is_open(value)}


def _needed(name: str, details: Mapping[str, Any], told: set[str]) -> str:
    """What is to be known of a placeholder beside its place in the steps: that it is optional, an example, its type."""
    optional = not details.get("required", True)
    shown = f"{name}?" if optional else name
    if "example" in details and name not in told:
        example = to_json(details["example"])
        return f"{shown}={_end(example) if _PATH.fullmatch(example) else _start(example, _LONGEST_EXAMPLE)}"
    kind = f"{shown} ({details['type']})" if "type" in details and name not in told else shown
    return kind if kind != name else ""


def call_words(step: Mapping[str, Any]) -> str:
    """A step as a call: ``tool(key="text", other={placeholder})``, and its note."""
    note = f" — {step['note']}" if step.get("note") else ""
    args, name = step.get("args"), step.get("tool") or step.get("skill")
    if args and all(key.isidentifier() for key in args):
        return f"{name}({', '.join(f'{key}={_value(value)}' for key, value in args.items())}){note}"
    return f"{name}{f' {to_json(args)}' if args else ''}{note}"


def _value(template: Any) -> str:
    return str(template) if is_open(template) else to_json(template)


def one_line(text: str, limit: int) -> str:
    """Stored text for display: masked, on one line so that it cannot pose as the answer's own, at most ``limit``."""
    near = " ".join(mask(text[: limit + _LONGEST_SECRET]).split())
    return _start(shown(near, line=True), limit)


def _start(text: str, limit: int) -> str:
    return cut_at_word(text, limit)


def _end(path: str) -> str:
    """The end of a quoted path, from a folder on: its beginning is that of every file here."""
    if len(path) <= _LONGEST_EXAMPLE:
        return path
    kept = path[-_LONGEST_EXAMPLE + 2 :]
    return f'"…{kept[max(kept.find("/"), 0) :]}'


def card(skill: Skill, parts: Mapping[str, Skill], why: str = "") -> SkillCard:
    """``skill`` for display; ``parts`` are the skills it may refer to, by id."""
    return SkillCard(
        name=skill.name,
        id=skill.id,
        version=skill.version,
        status=skill.status,
        description=one_line(skill.description, _LONGEST_DESCRIPTION),
        parameters={parameter.name: _parameter(parameter) for parameter in skill.parameters},
        steps=[_step(step) for step in flat_steps(skill, parts)],  # all: who follows a part takes it for the whole
        uses=skill.use_count,
        success_rate=round(skill.success_rate, 3) if skill.use_count else None,
        support=skill.support,
        trust="untrusted" if skill.trust == "untrusted" and skill.status == "draft" else None,
        why=one_line(why, _LONGEST_VALUE),
    )


def _parameter(parameter: Parameter) -> dict[str, Any]:
    shown: dict[str, Any] = {} if parameter.type == "string" else {"type": parameter.type}
    if parameter.description:
        shown["description"] = one_line(parameter.description, _LONGEST_VALUE)
    if parameter.source != "unknown":
        shown["from"] = parameter.source
    if parameter.examples:
        shown["example"] = _short(mask_value(min(parameter.examples, key=_is_long)))
    if not parameter.required:
        shown["required"] = False
    return shown


def _is_long(example: Any) -> bool:
    """Whether an example takes more than a line to read, as a text that a shell is handed does."""
    return isinstance(example, str) and ("\n" in example or "$(" in example)


def _step(step: SkillStep) -> dict[str, Any]:
    shown: dict[str, Any] = {"tool": step.tool} if step.tool else {"skill": step.skill}
    if step.args_template:
        shown["args"] = _short(mask_value(step.args_template))
    if step.note:
        shown["note"] = one_line(step.note, _LONGEST_VALUE)
    return shown


def _short(value: Any) -> Any:
    """A JSON value with long texts cut."""
    if isinstance(value, str):
        return cut(value, _LONGEST_VALUE * 5)
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items()}
    return [_short(part) for part in value] if isinstance(value, list | tuple) else value


def flat_steps(skill: Skill, parts: Mapping[str, Skill]) -> tuple[SkillStep, ...]:
    """The steps with each reference replaced by what it stands for; as they are where one cannot be followed."""
    try:
        return expand(skill, parts)
    except InvalidInput:
        return skill.steps


def pinned_down(skill: Skill, parts: Mapping[str, Skill]) -> Skill:
    """``skill`` with its steps in full where a stranger wrote one that it refers to, directly or not.

    What a person accepts is a text, and a stranger may send another one of that part at any time. Raises InvalidInput
    where a reference cannot be followed: what is not here cannot have been seen.
    """
    whole = expand(skill, parts)
    waiting, seen = _references([skill]), set[str]()
    while waiting - seen:
        seen |= waiting
        waiting = _references([parts[name] for name in waiting])
    return replace(skill, steps=whole) if any(parts[name].trust == "untrusted" for name in seen) else skill


def same_tools(one: Skill, other: Skill, parts: Mapping[str, Skill]) -> bool:
    """Whether both call the same tools in the same order, whatever with."""
    return [step.tool for step in flat_steps(one, parts)] == [step.tool for step in flat_steps(other, parts)]


def covers(wide: Skill, narrow: Skill, parts: Mapping[str, Skill]) -> bool:
    """Whether ``wide`` says of each step what ``narrow`` says, or leaves open what that one fixes."""
    known: dict[str, Any] | None = {}
    for step, other in zip(flat_steps(wide, parts), flat_steps(narrow, parts), strict=False):
        known = match_step(step, other.args_template or {}, known) if known is not None else None
    return known is not None and same_tools(wide, narrow, parts)


def only_one(name: str, found: Sequence[Skill], *, project: str | None = None) -> Skill:
    """The one of ``found``, which all have this name; of several the ``project``'s own before those for all projects,
    and what is in use before what was archived or retired.

    Raises AmbiguousSkill, which lists them, where several are left.
    """
    left = [skill for skill in found if skill.project == project] or list(found)
    left = [skill for skill in left if skill.status in ("draft", "active")] or left
    if len(left) == 1:
        return left[0]
    lines = "".join(f"\n  {_told(skill)}" for skill in left)
    raise AmbiguousSkill(f"{len(left)} skills have the name {quote(name)}:{lines}", hint="use the id")


def _told(skill: Skill) -> str:
    where = f"project {one_line(skill.project, _LONGEST_STEP)}" if skill.project else "all projects"
    return f"{skill.id}  {where}  {skill.status}  {one_line(skill.description, _LONGEST_FIRST)}".rstrip()


async def known_parts(skills: Sequence[Skill], store: Store) -> dict[str, Skill]:
    """Every skill that ``skills`` refer to, directly or not, by id; what is gone is left out."""
    known = {skill.id: skill for skill in skills}
    wanted = _references(skills) - set(known)
    for _ in range(MAX_DEPTH):
        if not wanted:
            break
        found = await store.skills_by_id(wanted)
        known |= found
        wanted = _references(list(found.values())) - set(known)
    return known


def _references(skills: Sequence[Skill]) -> set[str]:
    return {step.skill for skill in skills for step in skill.steps if step.skill}


def steps_in_words(skill: Skill, names: Mapping[str, str] | None = None) -> list[str]:
    """The steps as short texts, for the report of a change; ``names`` of the skills that it may refer to, by id."""
    steps = [_step(step) for step in skill.steps[:MAX_STEPS]]
    known = [
        step | {"skill": (names or {}).get(step["skill"], step["skill"])} if "skill" in step else step for step in steps
    ]
    more = len(skill.steps) - MAX_STEPS
    rest = [f"… and {counted(more, 'more step')}"] if more > 0 else []
    return [one_line(call_words(step), _LONGEST_STEP) for step in known] + rest


async def versions_of(skill: Skill, store: Store) -> list[SkillVersion]:
    """Its versions, the oldest first. What a stranger shared under its id is none of them, unless it waits for a
    person's word itself: what was accepted never becomes a text that was not.
    """
    found = await store.versions(skill.id)
    return [known for known in found if not waits(known.skill) or waits(skill)]


def is_as_saved(skill: Skill, versions: Sequence[SkillVersion]) -> bool:
    """Whether nobody decided about it since its present version was saved."""
    saved = (known.at for known in versions if known.version == skill.version)
    return skill.updated_at <= max(saved, default="")


def waits(skill: Skill) -> bool:
    """Whether it is a stranger's draft, of which no person has said anything."""
    return (skill.trust, skill.status) == ("untrusted", "draft")


def with_record(older: Skill, skill: Skill) -> Skill:
    """An ``older`` version's content with ``skill``'s own record."""
    return replace(
        older,
        status=skill.status,
        pinned=skill.pinned,
        use_count=skill.use_count,
        success_rate=skill.success_rate,
        last_used_at=skill.last_used_at,
        created_at=skill.created_at,
        trial_of=None,
    )
