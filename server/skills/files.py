"""Skills as files: Agent Skills folders (``NAME/SKILL.md``) and one JSON file.

A file that a person wrote or edited is never overwritten.
"""

from __future__ import annotations

import errno
import json
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from prowess.server.skills.markdown import (
    BESIDE,
    FILE,
    MAX_NAME,
    FileSkill,
    as_json,
    folder_name,
    is_untouched,
    parse,
    render,
)
from prowess.server.whole_file import write_whole
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Skill
from prowess.storage.ordinary import NotOrdinaryError, open_ordinary, read_ordinary
from prowess.tools.errors import ToolError
from prowess.tools.text import clean

__all__ = ["Written", "free_folder", "read", "read_one", "remove", "write", "write_folders", "write_json"]

MAX_BYTES = 4_000_000  # a skill is a page; anything far beyond is another kind of file


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one file: ``kept`` means that a person's file was left as it is."""

    skill: str
    path: Path
    state: Literal["written", "unchanged", "kept"]


def free_folder(skill: Skill, taken: Collection[str]) -> str:
    """The name of a folder for ``skill`` that is not ``taken`` (in small letters: some disks see no difference)."""
    name = folder_name(skill.name)
    mark = folder_name(skill.id[:8])
    ends = ("", f"-{mark}", *(f"-{mark}-{number}" for number in range(2, len(taken) + 3)))
    tried = (name[: MAX_NAME - len(end)].strip("-") + end for end in ends)
    return next(folder for folder in tried if folder not in taken)


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
        if not is_untouched(_text_of(path), _text_if_there(folder / BESIDE)):
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
    write_whole(path, text.encode("utf-8", "replace"), mode=None)


def write_json(skills: Sequence[Skill], target: Path) -> None:
    """All skills in one new JSON file. Raises InvalidInput where ``target`` exists."""
    if target.exists():
        raise InvalidInput(f"{target} exists and is not overwritten", hint="name a file that does not exist")
    target.parent.mkdir(parents=True, exist_ok=True)
    document = {"prowess_skills": 1, "skills": [msgspec.to_builtins(skill) for skill in skills]}
    _replace(target, as_json(document, indent=1) + "\n")


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
        with open_ordinary(path) as file:
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
    try:
        text = read_ordinary(path, MAX_BYTES).decode("utf-8-sig", "replace")  # some editors put a mark at the start
    except NotOrdinaryError as error:
        if error.errno == errno.EFBIG:
            reason, hint = f"is larger than {MAX_BYTES} bytes: not a skill", "export fewer skills at once"
        else:
            reason, hint = "is no ordinary file", "copy it to a file"  # a pipe or a device may never end
        raise InvalidInput(f"{path} {reason}", hint=hint) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
