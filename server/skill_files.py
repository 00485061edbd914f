"""Skills as files: Agent Skills folders (``NAME/SKILL.md``) and one JSON file.

A SKILL.md has front matter that agents read (name, description), the steps in Markdown that people read, and a fenced
block ``json prowess-skill`` with the whole skill, from which reading gets the same skill back. In the folders of
agents the block is a file of its own, since they would read it too. The last line of SKILL.md carries a digest of the
text above and of that file. Without that line, or with another digest, it was written or edited by a person: it is
never overwritten, and what its front matter says wins over the block.
"""

from __future__ import annotations

import hashlib
import json
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from prowess.learning.display import replaced, shown
from prowess.learning.synthesis import identify
from prowess.learning.synthesis_placeholders import placeholder_in_words
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Parameter, Skill, SkillStep
from prowess.tools.errors import ToolError
from prowess.tools.text import clean

__all__ = [
    "FILE",
    "FileSkill",
    "Written",
    "folder_name",
    "free_folder",
    "lean",
    "parse",
    "read",
    "read_one",
    "remove",
    "render",
    "write",
    "write_folders",
    "write_json",
]

FILE = "SKILL.md"
BESIDE = "prowess.json"  # the whole skill, where SKILL.md is for agents
MAX_BYTES = 4_000_000  # a skill is a page; anything far beyond is another kind of file
_MAX_NAME = 64  # of the Agent Skills format
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


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one file: ``kept`` means that a person's file was left as it is."""

    skill: str
    path: Path
    state: Literal["written", "unchanged", "kept"]


def folder_name(name: str) -> str:
    """``name`` as the Agent Skills format wants it: lower case letters, digits and single hyphens, at most 64."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_MAX_NAME].strip("-") or "skill"


def free_folder(skill: Skill, taken: Collection[str]) -> str:
    """The name of a folder for ``skill`` that is not ``taken`` (in small letters: some disks see no difference)."""
    name = folder_name(skill.name)
    mark = folder_name(skill.id[:8])
    ends = ("", f"-{mark}", *(f"-{mark}-{number}" for number in range(2, len(taken) + 3)))
    tried = (name[: _MAX_NAME - len(end)].strip("-") + end for end in ends)
    return next(folder for folder in tried if folder not in taken)


def render(skill: Skill, names: Mapping[str, str], folder: str = "") -> str:
    """The text of SKILL.md. ``names`` has the names of the skills that this one refers to, by id."""
    lines = _lines(skill, names, folder, _MAX_DESCRIPTION)
    block = _json(msgspec.to_builtins(skill), indent=1).replace("```", "\\u0060\\u0060\\u0060")
    lines += ["## For Prowess", "", "```json prowess-skill", block, "```", ""]
    return _marked("\n".join(lines))


def lean(skill: Skill, steps: tuple[SkillStep, ...], folder: str, longest: int) -> dict[str, str]:
    """The texts of SKILL.md without the block, and of the file beside it that has the whole skill, by name.

    ``steps`` are those to show, ``longest`` is what the description in the front matter may have; it ends with a whole
    word.
    """
    block = _json(msgspec.to_builtins(skill), indent=1) + "\n"
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
    return _FENCE.sub(lambda found: "-" + "\\u002d" * (len(found[0]) - 1), _json(fit))


def _json(value: Any, indent: int | None = None) -> str:
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
    args = f" {_code(_json(step.args_template))}" if step.args_template else ""
    return f"{_code(step.tool or '')}{args}{note}"


def _marked(text: str, beside: str = "") -> str:
    return f"{text}\n<!-- prowess {_digest(text + beside)} -->\n"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _is_untouched(text: str, beside: str = "") -> bool:
    mark = _MARK.search(text)
    return mark is not None and mark[1] == _digest(text[: mark.start()] + beside)


def parse(text: str, path: Path, beside: str = "") -> FileSkill:
    """The skill in the text of a SKILL.md, and of the file beside it. Raises InvalidInput that names the file."""
    front = _front_matter(text, path)
    edited = not _is_untouched(text, beside)
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


def write_folders(skills: Sequence[Skill], target: Path, names: Mapping[str, str]) -> list[Written]:
    """One folder per skill under ``target``. A file that a person wrote or edited is kept."""
    taken: set[str] = set()
    written = []
    for skill in skills:
        folder = free_folder(skill, taken)
        taken.add(folder)
        path = target / folder / FILE
        state = write(path.parent, {FILE: render(skill, names, folder)})
        written.append(Written(skill.name, path, state))
    return written


def write(folder: Path, texts: Mapping[str, str]) -> Literal["written", "unchanged", "kept"]:
    """Put a skill's files into ``folder``, unless a person wrote or edited what is there."""
    path = folder / FILE
    if path.exists():
        if all(_text_if_there(folder / name) == text for name, text in texts.items()):
            return "unchanged"
        if not _is_untouched(_text_of(path), _text_if_there(folder / BESIDE)):
            return "kept"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():  # a crash between them leaves what looks edited, and so is never lost
        _replace(folder / name, text)
    return "written"


def remove(folder: Path) -> None:
    """Take a skill's files away, and its folder where nothing else is in it."""
    for name in (FILE, BESIDE):
        (folder / name).unlink(missing_ok=True)
    if not folder.is_symlink() and not any(folder.iterdir()):  # a link is a person's
        folder.rmdir()


def _replace(path: Path, text: str) -> None:
    """Whole or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)  # of a run that was killed; a link that came with a project is not written through
    try:
        with fresh.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def write_json(skills: Sequence[Skill], target: Path) -> None:
    """All skills in one new JSON file. Raises InvalidInput where ``target`` exists."""
    if target.exists():
        raise InvalidInput(f"{target} exists and is not overwritten", hint="name a file that does not exist")
    target.parent.mkdir(parents=True, exist_ok=True)
    document = {"prowess_skills": 1, "skills": [msgspec.to_builtins(skill) for skill in skills]}
    _replace(target, _json(document, indent=1) + "\n")


def read(path: Path) -> list[FileSkill | InvalidInput]:
    """What ``path`` holds: a SKILL.md, its folder, a folder of such folders, or a JSON export.

    A file that cannot be read is an InvalidInput in the list. Raises FileNotFoundError and InvalidInput where there is
    nothing to read.
    """
    if path.is_dir():
        files = [path / FILE] if (path / FILE).exists() else sorted(path.glob(f"*/{FILE}"))
        if not files:
            raise InvalidInput(
                f"{path} has no {FILE}, and no folder in it has one", hint="name a skill's folder, or their parent"
            )
        return [read_one(file) for file in files]
    if path.suffix == ".json" or _is_object(path):
        return _read_json(path)
    return [read_one(path)]


def _is_object(path: Path) -> bool:
    """Whether an export, which may have any name, stands there: a SKILL.md begins with its front matter."""
    try:
        if not path.is_file():  # a pipe would keep us waiting
            return False
        with path.open("rb") as file:
            return file.read(8).removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    except OSError:
        return False


def read_one(path: Path) -> FileSkill | InvalidInput:
    """The skill of one SKILL.md, or what is wrong with it."""
    try:
        return parse(_text_of(path), path, _text_if_there(path.with_name(BESIDE)))
    except InvalidInput as error:
        return error
    except OSError as error:
        return InvalidInput(
            f"{path} cannot be read: {error.strerror}", hint="see that it is there and that you may read it"
        )


def _read_json(path: Path) -> list[FileSkill | InvalidInput]:
    try:
        document: Any = clean(json.loads(_text_of(path)))
        skills = msgspec.convert(document["skills"], list[Skill])
    except (ValueError, KeyError, TypeError, RecursionError, ToolError) as error:
        raise InvalidInput(
            f"{path} is no export of skills: {error}", hint="see `prowess skills export --format json`"
        ) from error
    return [FileSkill(path, skill, edited=False) for skill in skills]


def _text_if_there(path: Path) -> str:
    return _text_of(path) if path.exists() else ""


def _text_of(path: Path) -> str:
    if path.exists() and not path.is_file():
        hint = "copy it to a file"  # a pipe or a device may never end
        raise InvalidInput(f"{path} is no ordinary file", hint=hint)
    if path.stat().st_size > MAX_BYTES:
        raise InvalidInput(f"{path} is larger than {MAX_BYTES} bytes: not a skill", hint="export fewer skills at once")
    return path.read_text(encoding="utf-8-sig", errors="replace")  # some editors put a mark at the start
