"""Skills from files into the store, without losing what a person decided there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from prowess.server.origins import now
from prowess.server.skills.files import read
from prowess.server.skills.markdown import FileSkill
from prowess.storage.errors import InvalidInput
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Skill

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["Taken", "import_skills", "masked"]

# What another store counted or dated; here it starts anew or goes on.
_LOCAL = ("version", "use_count", "success_rate", "created_at", "updated_at", "last_used_at", "updated_seq")
_MAX_ID = 200


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file's skill: ``kept`` where a person's word in the store stands against it."""

    name: str
    path: str
    state: Literal["new", "updated", "unchanged", "kept", "refused"]
    id: str = ""
    reason: str = ""


async def import_skills(store: Store, path: Path, *, origin: Origin, trust: bool = False) -> list[Taken]:
    """Take in every skill that ``path`` holds. Untrusted ones arrive as drafts. Raises as ``files.read``."""
    found = read(path)
    files = [_prepared(item, trust) for item in found if isinstance(item, FileSkill)]
    taken = [_unreadable(path, item) for item in found if isinstance(item, InvalidInput)]
    known = {skill.id: skill for skill in await store.skills(project=None, statuses=None)}
    events: list[SkillSaved] = []
    for item in _parts_first(files):
        told, event = _decide(item, known)
        taken.append(told)
        if event is not None:
            events.append(event)
            known[event.skill.id] = event.skill
    if events:
        await store.append(events, origin=origin)
    return taken


def _unreadable(path: Path, error: InvalidInput) -> Taken:
    return Taken(name=path.name, path=str(path), state="refused", reason=error.explain())


def masked(skill: Skill) -> Skill:
    """``skill`` without the secrets in its texts."""
    from prowess.learning.redaction.masking import mask, mask_value

    steps = tuple(
        msgspec.structs.replace(step, args_template=mask_value(step.args_template), note=mask(step.note))
        for step in skill.steps
    )
    parameters = tuple(
        msgspec.structs.replace(
            item, description=mask(item.description), examples=tuple(mask_value(value) for value in item.examples)
        )
        for item in skill.parameters
    )
    return msgspec.structs.replace(
        skill,
        name=mask(skill.name),
        description=mask(skill.description),
        steps=steps,
        parameters=parameters,
        keywords=tuple(map(mask, skill.keywords)),
    )


def _prepared(item: FileSkill, trust: bool) -> FileSkill:
    """The file's skill with secrets masked, and no more trusted than the person said."""
    skill = masked(item.skill)
    if not trust:
        skill = msgspec.structs.replace(skill, status="draft", trust="untrusted", pinned=False)
    return FileSkill(item.path, skill, item.edited)


def _parts_first(files: Sequence[FileSkill]) -> list[FileSkill]:
    """Skills after those that they refer to, so that each is checked against what is there by then."""
    named = {item.skill.id: item for item in reversed(files)}
    again = [item for item in files if named[item.skill.id] is not item]
    seen, ordered = set[str](), list[FileSkill]()
    for item in files:
        waiting = [(item.skill.id, False)]
        while waiting:
            name, parts_done = waiting.pop()
            if parts_done:
                ordered.append(named[name])
            elif name in named and name not in seen:
                seen.add(name)
                waiting.append((name, True))
                waiting += [(step.skill, False) for step in reversed(named[name].skill.steps) if step.skill]
    return ordered + again


def _decide(item: FileSkill, known: Mapping[str, Skill]) -> tuple[Taken, SkillSaved | None]:
    skill = item.skill
    told = Taken(name=skill.name, path=str(item.path), id=skill.id, state="unchanged")
    before = known.get(skill.id)
    whole = _in_full(skill, known)
    if before is not None and _content(before) in (_content(skill), _content(whole)):
        return told, None
    if before is not None and (before.author == "person" or before.pinned) and not item.edited:
        reason = "a person wrote or pinned this skill here; edit the file to say otherwise"
        return msgspec.structs.replace(told, state="kept", reason=reason), None
    reason = _objection(skill, known)
    if reason:
        return msgspec.structs.replace(told, state="refused", reason=reason), None
    return _saved(told, skill if skill.trust == "untrusted" else whole, before)


def _in_full(skill: Skill, known: Mapping[str, Skill]) -> Skill:
    """As a person's word on it makes it; as it is where a part is not here, which is refused elsewhere."""
    from prowess.tools.skills import pinned_down

    try:
        return pinned_down(skill, known)
    except InvalidInput:
        return skill


def _saved(told: Taken, skill: Skill, before: Skill | None) -> tuple[Taken, SkillSaved]:
    at = now()
    if before is None:
        fresh = {"version": 1, "use_count": 0, "success_rate": 1.0, "last_used_at": None, "updated_seq": 0}
        skill = msgspec.structs.replace(skill, **fresh, created_at=at, updated_at=at)
        return msgspec.structs.replace(told, state="new"), SkillSaved(skill=skill, change="import")
    counted = {name: getattr(before, name) for name in _LOCAL}
    changed = msgspec.structs.replace(skill, **{**counted, "version": before.version + 1, "updated_at": at})
    return msgspec.structs.replace(told, state="updated"), SkillSaved(skill=changed, change="import")


def _content(skill: Skill) -> dict[str, object]:
    """What a file decides. Status and trust are the store's once it knows the skill."""
    values = msgspec.structs.asdict(skill)
    return {name: value for name, value in values.items() if name not in (*_LOCAL, "status", "trust", "pinned")}


def _objection(skill: Skill, known: Mapping[str, Skill]) -> str:
    from prowess.learning.lifecycle import validate

    if not 0 < len(skill.id) <= _MAX_ID:
        return f"its id has {len(skill.id)} characters; 1 to {_MAX_ID} are allowed"
    twins = [other for other in known.values() if other.name == skill.name and other.project == skill.project]
    if any(other.id != skill.id and other.status != "archived" for other in twins):
        return f"another skill is called {skill.name!r} here; give this one another name"
    try:
        validate(skill, known)
    except InvalidInput as error:
        return error.explain()
    return ""
