"""find_skill for a task: it looks where the task is recorded, and what it showed is told of that."""

from __future__ import annotations

import pytest
from toolkit import Agent

from prowess.storage.events import SkillSaved
from prowess.storage.models import Skill, SkillStep

pytestmark = pytest.mark.anyio


async def _shop_can_refund(agent: Agent) -> None:
    step = SkillStep(tool="refund", args_template={})
    skill = Skill(id="r", name="refund-order", description="Refund an order", steps=(step,), project="shop")
    await agent.store.append([SkillSaved(skill=skill, change="create")], origin=agent.context.origin)


async def test_a_task_that_the_session_tracks_in_another_project_is_asked_about_there(agent: Agent) -> None:
    await _shop_can_refund(agent)
    at_bank = agent.having(project="bank")
    tracked = await at_bank("track_execution", task_id="t", action="look", project="shop")
    answer = await at_bank("find_skill", query="refund an order", task_id="t")
    assert [skill.name for skill in answer.skills] == ["refund-order"]
    (exposure,) = await agent.store.exposures()
    assert (exposure.project, exposure.episode_id) == ("shop", tracked.episode_id)


async def test_a_project_that_is_named_counts_whatever_the_session_tracks(agent: Agent) -> None:
    await _shop_can_refund(agent)
    at_bank = agent.having(project="bank")
    await at_bank("track_execution", task_id="t", action="look", project="shop")
    assert (await at_bank("find_skill", query="refund an order", task_id="t", project="bank")).skills == []
    (exposure,) = await agent.store.exposures()
    assert (exposure.project, exposure.episode_id) == ("bank", None)


async def test_a_task_of_another_sessions_project_is_not_assumed(agent: Agent) -> None:
    await _shop_can_refund(agent)
    await agent("track_execution", task_id="t", action="look", project="shop")
    other = agent.having(project="bank", session="other")
    assert (await other("find_skill", query="refund an order", task_id="t")).skills == []
    (exposure,) = await agent.store.exposures()
    assert (exposure.project, exposure.episode_id) == ("bank", None)
