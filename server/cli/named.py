"""The skills and projects that a person names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prowess.server.cli.command import Run
    from prowess.storage.models import Skill
    from prowess.storage.store import Store

__all__ = ["named", "note_unknown"]


async def named(store: Store, id_or_name: str, project: str | None) -> Skill:
    """The skill with this id, else the only one with this name; see ``tools.skills.only_one``.

    Raises UnknownSkill and AmbiguousSkill.
    """
    from prowess.tools.skills import only_one

    found = await store.skill(id_or_name, project=project)
    if found.id == id_or_name:
        return found
    same = [skill for skill in await store.skills(project=project) if skill.name == id_or_name]
    return only_one(id_or_name, same or [found], project=project)


async def note_unknown(run: Run, store: Store, project: str | None) -> None:
    """Say that no project has that name, and which there are."""
    from prowess.tools.projects import unknown_to

    for note in await unknown_to(store, project):
        run.note(note)
