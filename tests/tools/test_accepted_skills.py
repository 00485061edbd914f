"""A stranger's skill that a person accepted: what they saw stays, whatever came under its id before or since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from toolkit import Agent

from prowess.storage.events import SkillSaved
from prowess.storage.models import Skill, SkillStep
from prowess.tools.errors import ToolError

pytestmark = pytest.mark.anyio

THEIRS = Skill(
    id="theirs",
    name="theirs",
    description="d",
    steps=(SkillStep(tool="rm"),),
    trust="untrusted",
    created_at="2026-01-01T00:00:00.000Z",
)
ACCEPTED = replace(THEIRS, steps=(SkillStep(tool="ls"),), version=2, status="active")


async def _save(agent: Agent, *skills: Skill) -> None:
    events = [SkillSaved(skill=skill, change="test") for skill in skills]
    await agent.store.append(events, origin=agent.context.origin)


async def test_no_agent_takes_it_back_to_a_text_that_nobody_accepted(agent: Agent) -> None:
    await _save(agent, THEIRS, ACCEPTED)
    with pytest.raises(ToolError, match="has no version before 2"):
        await agent("evolve_skills", mode="rollback", skills=["theirs"])
    assert (await agent.store.skill("theirs")).steps == ACCEPTED.steps


async def test_its_accepted_versions_can_be_taken_back(agent: Agent) -> None:
    await _save(agent, THEIRS, ACCEPTED, replace(ACCEPTED, version=3, description="worse"))
    await agent("evolve_skills", mode="rollback", skills=["theirs"])
    skill = await agent.store.skill("theirs")
    assert (skill.version, skill.description, skill.status) == (4, "d", "active")


async def test_a_draft_that_waits_for_a_word_has_its_own_versions(agent: Agent) -> None:
    await _save(agent, THEIRS, replace(THEIRS, version=2, description="worse"))
    await agent("evolve_skills", mode="rollback", skills=["theirs"])
    skill = await agent.store.skill("theirs")
    assert (skill.version, skill.description, skill.status) == (3, "d", "draft")


async def test_it_comes_to_rest_on_no_draft_of_a_stranger(agent: Agent) -> None:
    first, second, third = (SkillStep(tool=tool) for tool in ("find", "read", "send"))
    part = replace(THEIRS, id="part", name="part", steps=(first, second))
    draft = replace(THEIRS, id="draft", name="draft", steps=(third, first, second))
    await _save(agent, part, replace(ACCEPTED, steps=(first, second, third)), draft)
    answer = await agent("evolve_skills", mode="compose")
    assert [change.id for change in answer.changes] == ["draft"]


@pytest.mark.parametrize("same", [True, False])
async def test_a_strangers_draft_keeps_no_skill_of_ones_own_away(
    agent: Agent, cancelling: Callable[[int], list[dict[str, Any]]], same: bool
) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number), task="please cancel my order")
    (planned,) = (await agent("evolve_skills", mode="create", dry_run=True)).changes
    steps = tuple(SkillStep(tool=tool) for tool in ("find_user", "get_order", "cancel_order"))
    theirs = replace(THEIRS, id=planned.id if same else "other", name=planned.name, steps=steps, support=99, version=4)
    await _save(agent, theirs)
    (made,) = (await agent("evolve_skills", mode="create")).changes
    skill = await agent.store.skill(made.id)
    assert (made.action, made.id, skill.trust, skill.support) == ("create", planned.id, "own", 3)
    assert skill.steps[2].args_template == {"order_id": "{order_id}", "reason": "no longer needed"}
    assert (await agent("evolve_skills", mode="create")).total == 0
