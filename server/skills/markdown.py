"""A skill as the text of a SKILL.md, and read from it.

It has front matter that agents read (name, description), the steps in Markdown that people read, and a fenced block
``json prowess-skill`` with the whole skill, from which reading gets the same skill back. In the folders of agents the
block is a file of its own, since they would read it too. The last line carries a digest of the text above and of that
file. Without that line, or with another digest, it was written or edited by a person: what its front matter says wins
over the block.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from prowess.learning.display import replaced, shown
from prowess.learning.synthesis.drafts import identify
from prowess.learning.synthesis.placeholders import placeholder_in_words
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Parameter, Skill, SkillStep
from prowess.tools.errors import ToolError
from prowess.tools.text import clean

__all__ = [
    "BESIDE",
    "FILE",
    "MAX_NAME",
    "FileSkill",
    "as_json",
    "folder_name",
    "is_untouched",
    "lean",
    "parse",
    "render",
]

FILE = "SKILL.md"
BESIDE = "prowess.json"  # the whole skill, where SKILL.md is for agents
MAX_NAME = 64  # of the Agent Skills format
_MAX_DESCRIPTION = 1024
_BLOCK = re.compile(r"^```json prowess-skill\n", re.MULTILINE)
_BLOCK_END = re.compile(r"^```[ \t]*$", re.MULTILINE)
_MARK = re.compile(r"\n<!-- prowess ([0-9a-f]{32}) -->\n?\Z")
_FRONT = re.compile(r"\A---\n(.*?)^---[ \t]*$\n?", re.MULTILINE | re.DOTALL)
_KEY = re.compile(r"([A-Za-z_-]+):(?:[ \t]+(.*))?\Z")
_FENCE = re.compile("-{3,}")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # agents take some tags for their client's words
_MARKUP = re.compile(r"\A(?=[#>`~*+=_|-])")  # at a line's start
_TICKS = re.compile("`+")
_LISTED = re.compile(
    r"^\d+\.\s+`(?P<tool>[\w.:/-]+)`(?:[ \t]+(?P<ticks>`+) ?(?P<args>\{.*\}) ?(?P=ticks))?(?:[ \t:—-]+(?P<note>.*))?$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class FileSkill:
    """A skill as a file tells it; ``edited`` where a person wrote or changed the file."""

    path: Path
    skill: Skill
    edited: bool


def folder_name(name: str) -> str:
    """``name`` as the Agent Skills format wants it: lower case letters, digits and single hyphens, at most 64."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:MAX_NAME].strip("-") or "skill"


def render(skill: Skill, names: Mapping[str, str], folder: str = "") -> str:
    """The text of SKILL.md. ``names`` has the names of the skills that this one refers to, by id."""
    lines = _lines(skill, names, folder, _MAX_DESCRIPTION)
    block = as_json(msgspec.to_builtins(skill), indent=1).replace("```", "\\u0060\\u0060\\u0060")
    lines += ["## For Prowess", "", "```json prowess-skill", block, "```", ""]
    return _marked("\n".join(lines))


def lean(skill: Skill, steps: tuple[SkillStep, ...], folder: str, longest: int) -> dict[str, str]:
    """The texts of SKILL.md without the block, and of the file beside it that has the whole skill, by name.

    ``steps`` are those to show, ``longest`` is what the description in the front matter may have; it ends with a whole
    word.
    """
    block = as_json(msgspec.to_builtins(skill), indent=1) + "\n"
    lines = _lines(msgspec.structs.replace(skill, steps=steps), {}, folder, longest)
    return {FILE: _marked("\n".join(lines), block), BESIDE: block}


def _lines(skill: Skill, names: Mapping[str, str], folder: str, longest: int) -> list[str]:
    front = {"name": folder or folder_name(skill.name), "description": _words(skill.description, longest)}
    lines = ["---", *(f"{key}: {_quoted(value)}" for key, value in front.items()), "---", ""]
    lines += [f"# {_inline(skill.name)}", "", _MARKUP.sub(r"\\", _inline(skill.description)), ""]
    if skill.parameters:
        lines += ["## Parameters", "", *(_parameter(item) for item in skill.parameters), ""]
    return [*lines, "## Steps", "", *(f"{i}. {_step(step, names)}" for i, step in enumerate(skill.steps, 1)), ""]


def _quoted(text: str) -> str:
    """``text`` in double quotes as JSON and YAML both read it. Claude Code ends the front matter at the first ``---``,
    wherever it stands, so there is none in it.

    For what cannot be seen and lies beyond U+FFFF there is no escape that both know; U+FFFD stands for it.
    """
    fit = replaced(text, lambda char: char if char <= "\uffff" else "\ufffd")
    return _FENCE.sub(lambda found: "-" + "\\u002d" * (len(found[0]) - 1), as_json(fit))


def as_json(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON in which everything can be seen and nothing looks like a tag; it reads back the same."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return _TAG.sub(r"\\u003c", "\n".join(shown(line, line=True) for line in lines))


def _words(text: str, longest: int) -> str:
    """The start of ``text``, up to the last space within ``longest`` characters if it is longer."""
    if len(text) <= longest:
        return text
    return text[:longest].rpartition(" ")[0] or text[:longest]


def _inline(text: str) -> str:
    return shown(_TAG.sub("&lt;", " ".join(text.split())), line=True)


def _code(text: str) -> str:
    """A code span that no backtick within ``text`` ends (CommonMark 6.1)."""
    code = _TAG.sub(r"\\u003c", shown(text, line=True))
    ticks = max(_TICKS.findall(code), key=len, default="") + "`"
    return f"{ticks} {code} {ticks}" if len(ticks) > 1 else f"`{code}`"


def _parameter(parameter: Parameter) -> str:
    needed = "" if parameter.required else ", optional"
    said = _inline(placeholder_in_words(parameter))
    return f"- {_code(parameter.name)} ({parameter.type}{needed}): {said}"


def _step(step: SkillStep, names: Mapping[str, str]) -> str:
    note = f" — {_inline(step.note)}" if step.note else ""
    if step.skill:
        return f"Follow the skill {_inline(names.get(step.skill, step.skill))}{note}"
    args = f" {_code(as_json(step.args_template))}" if step.args_template else ""
    return f"{_code(step.tool or '')}{args}{note}"


def _marked(text: str, beside: str = "") -> str:
    return f"{text}\n<!-- prowess {_digest(text + beside)} -->\n"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def is_untouched(text: str, beside: str = "") -> bool:
    """Whether nobody changed the text of a SKILL.md, or of the file beside it, since it was rendered."""
    mark = _MARK.search(text)
    return mark is not None and mark[1] == _digest(text[: mark.start()] + beside)


def parse(text: str, path: Path, beside: str = "") -> FileSkill:
    """The skill in the text of a SKILL.md, and of the file beside it. Raises InvalidInput that names the file."""
    front = _front_matter(text, path)
    edited = not is_untouched(text, beside)
    block = _block(text) or beside or None
    skill = _from_markdown(text, front, path) if block is None else _from_block(block, path)
    return FileSkill(path, _with_front(skill, front) if edited else skill, edited)


def _block(text: str) -> str | None:
    """What the last fenced block of ours holds; before it a description may look like the beginning of one.

    One pattern for it all would look for the end from each beginning.
    """
    *_, begin = None, *_BLOCK.finditer(text)
    end = _BLOCK_END.search(text, begin.end()) if begin else None
    return text[begin.end() : end.start()] if begin and end else None


def _with_front(skill: Skill, front: Mapping[str, str]) -> Skill:
    name = skill.name if folder_name(skill.name) == front["name"] else front["name"]
    told = front["description"]
    description = skill.description if skill.description.startswith(told) else told
    return msgspec.structs.replace(skill, name=name, description=description, author="person")


def _from_block(block: str, path: Path) -> Skill:
    try:
        return msgspec.convert(clean(json.loads(block)), Skill)
    except (ValueError, RecursionError, ToolError) as error:  # msgspec's and json's errors among them
        raise InvalidInput(
            f"{path}: the prowess-skill block cannot be read: {error}",
            hint="restore it from another export, or remove the block and list the steps as `1. `tool``",
        ) from error


def _from_markdown(text: str, front: Mapping[str, str], path: Path) -> Skill:
    """A skill that a person wrote: the numbered lines that begin with a tool's name in backticks are its steps."""
    steps = tuple(_listed(match, path) for match in _LISTED.finditer(text))
    if not steps:
        raise InvalidInput(
            f"{path}: no steps found",
            hint='number them, each with its tool first: 1. `tool` `{"argument": "{placeholder}"}` note',
        )
    words = sorted({word for step in steps for word in re.findall(r"\{(\w+)\}", json.dumps(step.args_template or {}))})
    return Skill(
        id=identify(steps, ""),
        name=front["name"],
        description=front["description"],
        steps=steps,
        parameters=tuple(Parameter(name=word) for word in words),
        author="person",
    )


def _listed(match: re.Match[str], path: Path) -> SkillStep:
    try:
        args = clean(json.loads(match["args"])) if match["args"] else None
    except (ValueError, RecursionError, ToolError) as error:
        hint = 'write them as {"name": "value"}, or leave them out'
        raise InvalidInput(
            f"{path}: the arguments of step `{match['tool']}` are no JSON object: {error}", hint=hint
        ) from error
    return SkillStep(tool=match["tool"], args_template=args, note=(match["note"] or "").strip())


def _front_matter(text: str, path: Path) -> dict[str, str]:
    """``name`` and ``description``: the part of YAML that these files use (plain, quoted, folded and literal text)."""
    found = _FRONT.match(text)
    values = dict(_entries(found[1].splitlines())) if found else {}
    missing = [key for key in ("name", "description") if not values.get(key)]
    if missing:
        raise InvalidInput(
            f"{path}: the front matter has no {' and no '.join(missing)}",
            hint="begin the file with ---, name: …, description: …, ---",
        )
    return {key: clean(values[key]) for key in ("name", "description")}


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    key, first, rest = "", "", list[str]()
    for line in [*lines, "end:"]:
        match = _KEY.match(line)
        if match is None:
            rest.append(line)
            continue
        if key:
            yield key, _scalar(first, rest)
        key, first, rest = match[1], (match[2] or "").strip(), []


def _scalar(first: str, rest: Sequence[str]) -> str:
    lines = [line.strip() for line in rest]
    if first[:1] == "|":
        return "\n".join(lines).strip()
    text = " ".join(part for part in ("" if first[:1] == ">" else first, *lines) if part)
    if text[:1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    if text[:1] == "'":
        return text.strip("'").replace("''", "'")
    return text
