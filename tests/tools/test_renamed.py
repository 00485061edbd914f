"""evolve_skills recognises what was mined before, whatever it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from toolkit import Agent

from prowess.storage.events import SkillSaved, SkillStatusSet
from prowess.storage.models import SkillStep

pytestmark = pytest.mark.anyio

Steps = Callable[[int], list[dict[str, Any]]]


async def test_a_mined_skill_keeps_the_name_that_it_had_and_is_not_made_again_under_another(
    agent: Agent, cancelling: Steps
) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number), task=f"please cancel my order #W{number:03}")
    (change,) = (await agent("evolve_skills", mode="create")).changes
    stored = await agent.store.skill(change.id)
    other = SkillStep(tool="cancel_order", args_template={"order_id": "{order_id}", "reason": "{why}"})
    renamed = replace(stored, name="order-cancel-for-customer", description="Order cancel.", version=2)
    known = replace(renamed, id="f" * 32, name="old-name", steps=(*stored.steps[:2], other), support=2)
    await agent.store.append([SkillSaved(skill=renamed, change="adjust")], origin=agent.context.origin)
    assert (await agent("evolve_skills", mode="create")).total == 0  # the same steps: the same id
    await agent.store.append(
        [
            SkillStatusSet(skill_id=stored.id, status="retired", at="2026-11-30T00:00:00.000Z"),
            SkillSaved(skill=known, change="create"),
        ],
        origin=agent.context.origin,
    )
    for number in (3, 4):
        about = f"please cancel my order #W{number:03}"
        await agent.worked(f"t{number}", [{**step, **_too_late(step)} for step in cancelling(number)], task=about)
    (better,) = (await agent("evolve_skills", mode="create")).changes
    assert (better.action, better.id, better.name) == ("adjust", known.id, "old-name")
    assert [skill.name for skill in await agent.store.skills() if skill.status != "retired"] == ["old-name"]


def _too_late(step: dict[str, Any]) -> dict[str, Any]:
    return {"args": {**step["args"], "reason": "too late"}} if step.get("tool") == "cancel_order" else {}
