"""One name leads to one skill, also where several machines made theirs before they heard of each other.

Every machine decides by what all of them know, so that all come to the same, and what two decide at once is the same
event. A skill of which another one says the same, or more, is retired; what does something else is renamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from prowess.learning.lift import changeable
from prowess.learning.synthesis.drafts import base_name
from prowess.storage.models import Skill
from prowess.tools.changes import Plan
from prowess.tools.skills import covers, is_as_saved, versions_of

if TYPE_CHECKING:
    from prowess.tools.context import Context

__all__ = ["one_of_each_name"]

LAST = "~"  # after every time: what is only planned was made after what is stored


async def one_of_each_name(plan: Plan, ctx: Context) -> None:
    """Plan that of live skills with one name in one project the widest keeps it, or else the one made first."""
    groups: dict[tuple[str, str], list[Skill]] = {}
    for skill in plan.skills.values():
        if skill.status in ("draft", "active") and skill.trust != "untrusted":
            groups.setdefault((skill.project, skill.name), []).append(skill)
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        return
    kept_here = (await ctx.store.private()).skill_ids  # others know nothing of these, and would decide otherwise
    for group in several:
        await _settle([skill for skill in group if skill.id not in kept_here], plan, ctx)


async def _settle(group: Sequence[Skill], plan: Plan, ctx: Context) -> None:
    kept: list[Skill] = []
    for skill in sorted(group, key=lambda each: _order(each, group, plan)):
        wider = next((other for other in kept if covers(other, skill, plan.skills)), None)
        if not kept or not changeable(skill) or skill.trial_of is not None:
            kept.append(skill)
        elif wider is not None and await _is_untouched(skill, ctx):
            plan.add("retire", replace(skill, status="retired"), f"{wider.name} ({wider.id}) does the same or more")
        else:
            new = replace(skill, name=_free_name(skill.name, plan), version=skill.version + 1)
            plan.add("adjust", new, f"another skill is named {skill.name}")


def _order(skill: Skill, group: Sequence[Skill], plan: Plan) -> tuple[bool, bool, int, str, str]:
    """What keeps its name first: a person's word, what proved itself, what covers most, what was made first."""
    covered = sum(covers(skill, other, plan.skills) for other in group)
    return changeable(skill), skill.status != "active", -covered, skill.created_at or LAST, skill.id


async def _is_untouched(skill: Skill, ctx: Context) -> bool:
    """Whether it is a draft as it was made: nobody used it, or decided about it since."""
    made = skill.status == "draft" and not skill.use_count
    return made and is_as_saved(skill, await versions_of(skill, ctx.store))


def _free_name(name: str, plan: Plan) -> str:
    taken = {skill.name for skill in plan.skills.values()}
    return next(free for free in _numbered(base_name(name)) if free not in taken)


def _numbered(base: str) -> Iterator[str]:
    return (f"{base}-{number}" for number in count(2))
