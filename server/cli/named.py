"""The skill that a person names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prowess.storage.models import Skill
    from prowess.storage.store import Store

__all__ = ["named"]


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
