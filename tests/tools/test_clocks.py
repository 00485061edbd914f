"""Machines whose clocks are a day or a year apart, and share what they learned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import to_builtins
from toolkit import Agent

from prowess.storage.events import EpisodeOpened, Event, SkillSaved
from prowess.storage.ids import new_id
from prowess.storage.log.codec import type_of
from prowess.storage.log.foreign import Foreign
from prowess.storage.models import Origin, Skill, SkillStep, format_time

pytestmark = pytest.mark.anyio

LOG = "0198c0de-0000-7000-8000-000000000001"
YEAR = 365


def _ago(days: float) -> str:
    return format_time(datetime.now(UTC) - timedelta(days=days))


async def _hear(agent: Agent, *events: Event, after: int = 0) -> None:
    """Take in what another machine says, its events from ``after`` on."""
    told = [
        Foreign(
            log=LOG,
            epoch=1,
            seq=seq,
            clock=seq,
            type=type_of(event),
            version=event.VERSION,
            at=_ago(0),
            origin=Origin(client="tests", session="there"),
            data=to_builtins(event),
        )
        for seq, event in enumerate(events, start=after + 1)
    ]
    await agent.store.receive(told)


def _episode(number: int, days: float) -> EpisodeOpened:
    at = datetime.now(UTC) - timedelta(days=days)
    return EpisodeOpened(
        episode_id=new_id(int(at.timestamp() * 1000)),
        project="shop",
        session="there",
        task_id=f"there-{number}",
        attempt=1,
        at=format_time(at),
    )


def _skill(name: str, made: str) -> Skill:
    step = SkillStep(tool="refund", args_template={})
    return Skill(id=name, name=name, description=name, steps=(step,), project="shop", created_at=made, updated_at=made)


async def test_a_skill_of_a_clock_that_is_a_year_behind_is_not_taken_for_a_year_old(agent: Agent) -> None:
    old, new = _skill("old", _ago(YEAR)), _skill("new", _ago(YEAR))
    await _hear(agent, SkillSaved(skill=old, change="create"))
    await _hear(agent, *(_episode(day, day) for day in range(40)), after=1)  # a day of work each
    await _hear(agent, SkillSaved(skill=new, change="create"), after=41)
    answer = await agent("evolve_skills", mode="prune")
    assert [(change.name, change.reason) for change in answer.changes] == [
        ("old", "never used in 30 days with activity")
    ]


@pytest.mark.parametrize("ahead", [1, YEAR])
async def test_what_a_person_took_back_stays_though_the_clock_of_who_made_it_is_ahead(agent: Agent, ahead: int) -> None:
    await _hear(agent, SkillSaved(skill=_skill("bad", _ago(-ahead)), change="create"))
    for number in range(5):
        task = f"use-{number}"
        await agent("track_execution", task_id=task, action="a", project="shop")
        used = [{"skill": "bad", "success": False}]
        await agent("score_reward", task_id=task, reward=-5, skills_used=used, project="shop", final=True)
    assert (await agent("evolve_skills", mode="prune")).total == 1
    await agent("evolve_skills", mode="rollback", skills=["bad"])
    assert (await agent("evolve_skills", mode="prune")).changes == []


async def test_a_task_is_found_in_its_project_though_others_began_later_by_their_clocks(agent: Agent) -> None:
    agent = agent.having(project="folder")
    first = await agent("track_execution", task_id="t", action="look", project="shop")
    await _hear(agent, *(_episode(number, -1) for number in range(600)))
    again = await agent("track_execution", task_id="t", action="buy")
    assert (again.episode_id, again.step) == (first.episode_id, 2)
    await agent.having(session="later")("score_reward", task_id="t", reward=5)
    assert (await agent.store.episode(first.episode_id)).reward == 5


async def test_a_question_after_an_attempt_was_closed_is_not_one_of_that_attempt(agent: Agent) -> None:
    await agent.store.append(
        [SkillSaved(skill=_skill("refund-order", _ago(0)), change="create")], origin=agent.context.origin
    )
    await agent("track_execution", task_id="t", action="look", project="shop")
    await agent("score_reward", task_id="t", reward=-5, project="shop", final=True)
    asked = await agent("find_skill", query="refund-order", task_id="t", project="shop")
    assert [card.name for card in asked.skills] == ["refund-order"]
    assert await agent.store.trials(limit=10) == ()  # what it showed did not make that attempt fail
    again = await agent("track_execution", task_id="t", action="refund", project="shop")
    await agent("score_reward", task_id="t", reward=5, project="shop", final=True)
    (trial,) = await agent.store.trials(limit=10)
    assert (trial.episode_id, trial.success) == (again.episode_id, True)
