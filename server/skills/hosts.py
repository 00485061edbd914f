"""Active skills in the folders where agents look for them, as many as the agent lists.

An agent puts name and description of every skill that it finds into each session, up to a budget; beyond it
descriptions are cut or dropped. So the best skills go there as long as there is room beside what the agent brings along
and what the person put there. Of the files there only those are written or removed that come from this store and that
nobody has touched since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from prowess.server.skills.files import free_folder, read_one, remove, write
from prowess.server.skills.importing import masked
from prowess.server.skills.markdown import FILE, FileSkill, lean
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Skill

__all__ = ["HOSTS", "LISTING", "Exported", "Host", "Scope", "best_first", "export_skills", "exported", "host_folder"]

# Characters of names and descriptions. Claude Code 2.1.197 gives the list one hundredth of the context (8,000 for
# 200,000 tokens at four characters each); Codex 0.171.0 two hundredths, or 8,000 where it does not know the model;
# Cursor's documentation names none. (2026-11-29)
LISTING = 8_000
_LONGEST = 250  # characters of a description: with more one skill would take the place of another
_AROUND = 32  # what stands around name and description: "- ", ": ", and Codex's path, which has the name again

State = Literal["written", "unchanged", "kept", "removed", "no room"]
Scope = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Host:
    """One agent. ``variable`` moves ``home``, its folder below the user's; ``own`` is what its own skills take."""

    name: str
    variable: str
    home: str
    project: str
    own: int


# ``own`` was counted in what the clients sent to a model (versions above); Cursor's was not.
HOSTS = {
    host.name: host
    for host in (
        Host("claude", "CLAUDE_CONFIG_DIR", ".claude", ".claude/skills", 4_600),
        Host("codex", "", ".agents", ".agents/skills", 1_700),
        Host("cursor", "", ".cursor", ".cursor/skills", 2_000),
    )
}


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of one skill or file. ``kept``: a person wrote or edited it; ``no room``: the list is full."""

    skill: str
    path: Path
    state: State


def host_folder(host: Host, scope: Scope, home: Path, root: Path, env: Mapping[str, str]) -> Path:
    """Where ``host`` looks for skills: of the user in all projects, or of the project at ``root``.

    Raises InvalidInput where a link in a project leads out of it.
    """
    if scope == "project":
        folder = root / host.project
        if not folder.resolve().is_relative_to(root.resolve()):  # a project may come from anybody
            raise InvalidInput(f"{folder} leads out of the project", hint="put a folder in its place")
        return folder
    moved = env.get(host.variable, "").strip() if host.variable else ""
    return (Path(moved).expanduser() if moved else home / host.home) / "skills"


def export_skills(
    skills: Iterable[Skill], known: Mapping[str, Skill], folder: Path, room: int, *, dry_run: bool = False
) -> list[Exported]:
    """Write as many of ``skills``, best first, as there is ``room`` for (characters), and remove what else is ours.

    ``known`` has all skills of the store by id: a file whose skill is not among them came from somebody else's store
    and stays. Raises OSError.
    """
    there = _there(folder)
    mine = {path for path, found in there.items() if not found.edited and found.skill.id in known}
    room -= sum(_cost(found.skill, path) for path, found in there.items() if path not in mine)
    told = list[Exported]()
    for skill, path in _placed(skills, there, folder):
        if path in there and path not in mine:
            told.append(Exported(skill.name, path, "kept"))
        elif (cost := _cost(skill, path)) > room:
            told.append(Exported(skill.name, path, "no room"))
        else:
            room -= cost
            state: State = "written"
            if not dry_run:
                state = write(path.parent, _texts(skill, known, path.parent.name))
            told.append(Exported(skill.name, path, state))
    wanted = {item.path for item in told if item.state != "no room"}
    return told + [_removed(path, there[path].skill, dry_run) for path in sorted(mine - wanted)]


def exported(folder: Path) -> list[Path]:
    """The files in an agent's ``folder`` that an export wrote, of whichever store, and nobody edited."""
    return [path for path, found in _there(folder).items() if not found.edited]


def best_first(skills: Iterable[Skill], lifts: Mapping[str, float]) -> list[Skill]:
    """What a person pinned, then by lift where it was measured, then by what uses and support let expect."""

    def key(skill: Skill) -> tuple[bool, float, float, int, str]:
        expected = (skill.use_count * skill.success_rate + 1) / (skill.use_count + 2)
        return (not skill.pinned, -lifts.get(skill.id, 0.0), -expected, -skill.support, skill.id)

    return sorted(skills, key=key)


def _there(folder: Path) -> dict[Path, FileSkill]:
    """Every skill in ``folder`` by its file. One that cannot be read is a person's, and takes its name's room."""
    found = {}
    for path in sorted(folder.glob(f"*/{FILE}")):
        one = read_one(path)
        if isinstance(one, InvalidInput):
            one = FileSkill(path, Skill(id="", name=path.parent.name, description="", steps=()), edited=True)
        found[path] = one
    return found


def _placed(skills: Iterable[Skill], there: Mapping[Path, FileSkill], folder: Path) -> Iterator[tuple[Skill, Path]]:
    """Each skill with its file: the one that it has, else one in a new folder."""
    ours_last = sorted(there.items(), key=lambda item: not item[1].edited)
    has = {found.skill.id: path for path, found in ours_last if found.skill.id}
    taken = {entry.name.lower() for entry in folder.iterdir()} if folder.is_dir() else set[str]()
    for skill in skills:
        path = has.get(skill.id) or folder / free_folder(skill, taken) / FILE
        taken.add(path.parent.name.lower())
        yield skill, path


def _texts(skill: Skill, known: Mapping[str, Skill], folder: str) -> dict[str, str]:
    """The skill's files. An agent has no other skill at hand, so what a step refers to is written out."""
    from prowess.learning.lifecycle import expand

    try:
        steps = expand(skill, known)
    except InvalidInput:  # what it refers to was erased since
        steps = skill.steps
    shown = masked(msgspec.structs.replace(skill, steps=steps))
    return lean(masked(skill), shown.steps, folder, _LONGEST)


def _cost(skill: Skill, path: Path) -> int:
    return 2 * len(path.parent.name) + min(len(skill.description), _LONGEST) + _AROUND


def _removed(path: Path, skill: Skill, dry_run: bool) -> Exported:
    if not dry_run:
        remove(path.parent)
    return Exported(skill.name, path, "removed")
