"""What one run decides of a skill once, and what a run for all projects leaves to a project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.events import SkillSaved, SkillStatusSet
from prowess.storage.models import Skill, SkillStep

pytestmark = pytest.mark.anyio

Steps = Callable[[int], list[dict[str, Any]]]
IDLE = Skill(
    id="idle",
    name="idle",
    description="idle",
    steps=(SkillStep(tool="x"),),
    support=5,
    created_at="2026-01-01T00:00:00.000Z",
)


async def test_what_is_archived_is_not_promoted_before(agent: Agent) -> None:
    await agent.store.append([SkillSaved(skill=IDLE, change="create")], origin=agent.context.origin)
    await agent("track_execution", task_id="t", action="a")
    assert (await agent.having(unused_days=0)("evolve_skills", mode="prune")).total == 0  # never for that
    answer = await agent.having(unused_days=1)("evolve_skills")
    assert [(change.action, change.after["status"]) for change in answer.changes] == [("prune", "archived")]


async def test_for_all_projects_nothing_is_made_again_that_each_project_has(agent: Agent, cancelling: Steps) -> None:
    for number in range(2):
        await agent.worked(f"t{number}", cancelling(number), task="please cancel my order", project="shop")
    (made,) = (await agent("evolve_skills", mode="create", project="shop")).changes
    again = await agent("evolve_skills", mode="create")
    known = "1 procedure is known in each project that shows them, and not made for all projects again"
    assert (again.total, again.notes) == (0, [known])
    await agent("evolve_skills", mode="prune")
    await agent.store.append(
        [SkillStatusSet(skill_id=made.id, status="archived", at="2026-11-30T00:00:00.000Z")],
        origin=agent.context.origin,
    )
    assert (await agent("evolve_skills", mode="create")).total == 0  # what was put away does not come back so
    await agent.worked("t9", cancelling(9), task="please cancel my order", project="law")
    (wider,) = (await agent("evolve_skills", mode="create")).changes
    assert (await agent.store.skill(wider.id)).project == ""
