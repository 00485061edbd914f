"""Memory skills: rules of how to remember, as Markdown that a person can read and edit.

A file has front matter (``name``, ``description``, ``action``, ``version``) and up to three sections: ``Instruction``
says what is wanted, ``When to use`` where, ``Constraints`` what is not wanted and, as "at most N", how many pieces of
one span are kept. MemSkill (arXiv 2602.02474) calls them memory skills and starts from four: insert, update, delete,
skip.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

from prowess.storage.errors import InvalidInput

__all__ = ["ACTIONS", "INITIAL", "Action", "MemorySkill", "format_skill", "parse_skill", "skill_text"]

Action = Literal["insert", "update", "delete", "skip"]
ACTIONS: tuple[Action, ...] = get_args(Action)

MAX_NAME = 64
MAX_LINE = 300  # characters of a description
MAX_SECTION = 4_000
LONGEST_VERSION = 7  # digits

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^##[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_SECTIONS = {"instruction": "instruction", "when to use": "when_to_use", "constraints": "constraints"}
_SHAPE = (
    "a file begins with ---, name: …, description: …, action: insert|update|delete|skip, --- and has ## Instruction"
)


class MemorySkill(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of how to remember. ``version`` counts from 1, one more with every change."""

    name: str
    description: str
    action: Action
    instruction: str
    when_to_use: str = ""
    constraints: str = ""
    version: int = 1


def skill_text(skill: MemorySkill) -> str:
    """What a skill is about, as one text: the controller knows a skill by the vector of this."""
    return f"{skill.description} {skill.instruction} {skill.when_to_use}".strip()


def format_skill(skill: MemorySkill) -> str:
    """The skill as a Markdown file; ``parse_skill`` reads it back."""
    said = skill.description if _unquoted(skill.description) == skill.description else f'"{skill.description}"'
    front = ["---", f"name: {skill.name}", f"description: {said}", f"action: {skill.action}"]
    front += [f"version: {skill.version}", "---", ""]
    parts = [("Instruction", skill.instruction), ("When to use", skill.when_to_use), ("Constraints", skill.constraints)]
    body = [f"## {title}\n\n{text}\n" for title, text in parts if text]
    return "\n".join(front + body)


def parse_skill(text: str, where: str = "memory skill") -> MemorySkill:
    """The skill in a Markdown file called ``where``. Raises InvalidInput, saying what is wrong and where."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    found = _FRONT.match(text)
    if found is None:
        raise InvalidInput(f"{where}: there is no front matter", hint=_SHAPE)
    front = _front(found[1], where)
    sections = _sections(text[found.end() :], where)
    skill = MemorySkill(
        name=front["name"],
        description=front["description"],
        action=_action(front["action"], where),
        instruction=sections.get("instruction", ""),
        when_to_use=sections.get("when_to_use", ""),
        constraints=sections.get("constraints", ""),
        version=_version(front.get("version", "1"), where),
    )
    _check(skill, where)
    return skill


def _front(text: str, where: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=2):
        if not line.strip():
            continue
        key, colon, value = line.partition(":")
        if not colon or key.strip() not in ("name", "description", "action", "version"):
            raise InvalidInput(f"{where}, line {number}: {line.strip()[:80]!r} is no field", hint=_SHAPE)
        if key.strip() in fields:
            raise InvalidInput(f"{where}, line {number}: {key.strip()} is given twice", hint="keep one of them")
        fields[key.strip()] = _unquoted(value.strip())
    missing = [key for key in ("name", "description", "action") if not fields.get(key)]
    if missing:
        raise InvalidInput(f"{where}: the front matter has no {' and no '.join(missing)}", hint=_SHAPE)
    return fields


def _unquoted(value: str) -> str:
    """Without the quotes around all of it, as people know them from YAML. One at either end alone is a word's."""
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _sections(body: str, where: str) -> dict[str, str]:
    pieces = _HEADING.split(body)
    if pieces[0].strip():
        raise InvalidInput(f"{where}: there is text before the first section", hint="put it under ## Instruction")
    found: dict[str, str] = {}
    for title, text in zip(pieces[1::2], pieces[2::2], strict=True):
        field = _SECTIONS.get(title.lower())
        if field is None or field in found:
            problem = "is unknown" if field is None else "is there twice"
            raise InvalidInput(
                f"{where}: section {title[:80]!r} {problem}", hint="sections: Instruction, When to use, Constraints"
            )
        found[field] = text.strip()
    return found


def _action(text: str, where: str) -> Action:
    for action in ACTIONS:
        if text == action:
            return action
    raise InvalidInput(f"{where}: action {text[:80]!r} is unknown", hint=f"actions: {', '.join(ACTIONS)}")


def _version(text: str, where: str) -> int:
    # Python refuses to read numbers of thousands of digits.
    if not text.isdecimal() or len(text) > LONGEST_VERSION or not 1 <= int(text) <= 1_000_000:
        raise InvalidInput(f"{where}: version {text[:80]!r} is no number from 1", hint="remove the line to start at 1")
    return int(text)


def _check(skill: MemorySkill, where: str) -> None:
    if not _NAME.fullmatch(skill.name) or len(skill.name) > MAX_NAME:
        raise InvalidInput(
            f"{where}: name {skill.name[:80]!r} is not in kebab-case", hint=f"such as keep-names, at most {MAX_NAME}"
        )
    if len(skill.description) > MAX_LINE:
        raise InvalidInput(f"{where}: the description has over {MAX_LINE} characters", hint="say the rest below")
    if not skill.instruction:
        raise InvalidInput(f"{where}: there is no ## Instruction", hint=_SHAPE)
    for field in _SECTIONS.values():
        if len(getattr(skill, field)) > MAX_SECTION:
            raise InvalidInput(f"{where}: {field} has over {MAX_SECTION} characters", hint="make two skills of it")


INITIAL: tuple[MemorySkill, ...] = (
    MemorySkill(
        name="insert",
        description="Keep what is new and may be asked for later.",
        action="insert",
        instruction=(
            "Keep facts that are new: names, dates, numbers, places, plans, preferences and decisions; commands that "
            "worked, paths, errors and what fixed them."
        ),
        when_to_use="Where something is told that memory does not hold yet.",
        constraints="At most 3 of one span. Leave out greetings and questions.",
    ),
    MemorySkill(
        name="update",
        description="Bring what memory holds up to date.",
        action="update",
        instruction=(
            "Join facts to the memory that tells of the same matter: changes, corrections, further details, results, "
            "names, dates, numbers."
        ),
        when_to_use="Where something known is told in more detail, or has changed.",
        constraints="At most 3 of one span. Leave out greetings and questions.",
    ),
    MemorySkill(
        name="delete",
        description="Remove what is of no use any more.",
        action="delete",
        instruction="Remove greetings, thanks, small talk, questions without an answer, and what was cancelled.",
        when_to_use="Where memory is filled with what nobody will ask for.",
        constraints="Leave alone what tells dates, numbers, paths or errors.",
    ),
    MemorySkill(
        name="skip",
        description="Change nothing.",
        action="skip",
        instruction="Leave memory as it is: the span holds nothing of lasting value, or memory has it.",
        when_to_use="Where a span is small talk, repetition or waiting.",
    ),
)
