"""A task that was tracked with a project is found again by calls that leave the project out."""

from __future__ import annotations

import pytest
from msgspec import to_builtins
from toolkit import Agent

from prowess.storage.events import EpisodeOpened, SkillSaved
from prowess.storage.ids import new_id
from prowess.storage.log.foreign import Foreign
from prowess.storage.models import Origin, Skill, SkillStep
from prowess.tools.confined import confined
from prowess.tools.errors import ToolError

pytestmark = pytest.mark.anyio

AT = "2026-11-29T12:00:00.000Z"


async def test_a_step_without_a_project_joins_its_task(agent: Agent) -> None:
    agent = agent.having(project="folder")
    first = await agent("track_execution", task_id="t", action="look", project="shop")
    again = await agent("track_execution", task_id="t", action="buy")
    assert (again.episode_id, again.step) == (first.episode_id, 2)
    # Closed, its next attempt is of the same project; what is named goes where it is named.
    await agent("score_reward", task_id="t", reward=5, final=True)
    await agent("track_execution", task_id="t", action="look anew")
    await agent("track_execution", task_id="t", action="look there", project="bank")
    found = sorted((one.project, one.attempt, one.reward) for one in await agent.store.episodes())
    assert found == [("bank", 1, None), ("shop", 1, 5.0), ("shop", 2, None)]


async def test_the_agents_own_project_goes_first(agent: Agent) -> None:
    agent = agent.having(project="folder")
    await agent("track_execution", task_id="t", action="look", project="folder")
    await agent("track_execution", task_id="t", action="look", project="shop")
    assert (await agent("track_execution", task_id="t", action="buy")).step == 2
    await agent("score_reward", task_id="t", reward=5)
    assert {one.project: one.reward for one in await agent.store.episodes()} == {"shop": None, "folder": 5.0}


async def test_a_task_of_another_machine_is_not_joined(agent: Agent) -> None:
    session = agent.context.session
    told = EpisodeOpened(episode_id=new_id(), project="shop", session=session, task_id="t", attempt=1, at=AT)
    data, log = to_builtins(told), "0198c0de-0000-7000-8000-000000000001"
    origin = Origin(client="tests", session=session)
    event = Foreign(log=log, epoch=1, seq=1, clock=1, type="episode.opened", version=1, at=AT, origin=origin, data=data)
    await agent.store.receive([event])
    agent = agent.having(project="folder")
    with pytest.raises(ToolError, match="no episode has task_id 't' in project 'folder'"):
        await agent("score_reward", task_id="t", reward=5)
    await agent("track_execution", task_id="t", action="look")
    assert sorted(one.project for one in await agent.store.episodes()) == ["folder", "shop"]


async def test_another_session_opens_a_task_of_its_own(agent: Agent) -> None:
    await agent("track_execution", task_id="t", action="look", project="shop")
    other = agent.having(session="other", project="folder")
    await other("track_execution", task_id="t", action="look")
    assert sorted(one.project for one in await agent.store.episodes()) == ["folder", "shop"]


async def test_a_score_without_a_project_finds_the_task(agent: Agent) -> None:
    agent = agent.having(project="folder")
    await agent("track_execution", task_id="t", action="look", project="shop")
    await agent("score_reward", task_id="t", reward=5)
    # As well for who was killed in between, and comes again in another session.
    await agent.having(session="later")("score_reward", task_id="t", step=1, reward=3)
    (episode,) = await agent.store.episodes()
    assert (episode.project, episode.reward) == ("shop", 5.0)


async def test_of_its_own_session_comes_before_an_older_one_in_the_agents_project(agent: Agent) -> None:
    old = agent.having(session="old", project="folder")
    await old("track_execution", task_id="t", action="look")
    agent = agent.having(project="folder")
    await agent("track_execution", task_id="t", action="look", project="shop")
    await agent("score_reward", task_id="t", reward=5)
    assert {one.project: one.reward for one in await agent.store.episodes()} == {"folder": None, "shop": 5.0}


async def test_a_task_of_several_projects_has_to_be_named(agent: Agent) -> None:
    for session, project in (("a", "bank"), ("b", "shop")):
        await agent.having(session=session)("track_execution", task_id="t", action="look", project=project)
    with pytest.raises(ToolError, match="task 't' is in several projects") as caught:
        await agent.having(project="folder")("score_reward", task_id="t", reward=5)
    assert caught.value.hint == "send project as well, one of 'bank', 'shop'; nothing was stored"
    await agent.having(project="folder")("score_reward", task_id="t", reward=5, project="bank")


async def test_skills_of_the_tasks_project_are_found_by_name(agent: Agent) -> None:
    agent = agent.having(project="folder")
    skill = Skill(id="k", name="buy", description="Buy it.", steps=(SkillStep(tool="buy"),), project="shop")
    origin = Origin(client="tests", session="s", actor="person")
    await agent.store.append([SkillSaved(skill=skill, change="create")], origin=origin)
    await agent("track_execution", task_id="t", action="look", project="shop")
    answer = await agent("score_reward", task_id="t", reward=5, skills_used=["buy"])
    assert [(one.name, one.use_count) for one in answer.skills] == [("buy", 1)]


async def test_agents_that_share_a_session_do_not_get_each_others_tasks(agent: Agent) -> None:
    agent = agent.having(project="folder", shared=True)
    await agent("track_execution", task_id="t", action="look", project="shop")
    with pytest.raises(ToolError, match="no episode has task_id 't' in project 'folder'"):
        await agent("score_reward", task_id="t", reward=5)
    await agent("track_execution", task_id="t", action="look")
    assert sorted(one.project for one in await agent.store.episodes()) == ["folder", "shop"]


async def test_who_is_let_into_one_project_finds_nothing_elsewhere(agent: Agent) -> None:
    await agent("track_execution", task_id="t", action="look", project="bank")
    shop = Agent(confined(agent.context, "shop"))
    with pytest.raises(ToolError, match="no episode has task_id 't' in project 'shop'"):
        await shop("score_reward", task_id="t", reward=5)
    await shop("track_execution", task_id="t", action="look")
    assert sorted(one.project for one in await agent.store.episodes()) == ["bank", "shop"]
