"""What one run decides of a skill once, and what a run for all projects leaves to a project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from toolkit import Agent

from prowess.storage.events import SkillSaved, SkillStatusSet
from prowess.storage.models import Skill, SkillStep
from prowess.tools.twins import Twins

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
    assert (await agent("evolve_skills", mode="create")).total == 0
    await agent("evolve_skills", mode="prune")
    await agent.store.append(
        [SkillStatusSet(skill_id=made.id, status="archived", at="2026-11-30T00:00:00.000Z")],
        origin=agent.context.origin,
    )
    assert (await agent("evolve_skills", mode="create")).total == 0  # what was put away does not come back so
    await agent.worked("t9", cancelling(9), task="please cancel my order", project="law")
    (wider,) = (await agent("evolve_skills", mode="create")).changes
    assert (await agent.store.skill(wider.id)).project == ""


async def test_what_one_project_alone_shows_is_made_for_that_project(agent: Agent, cancelling: Steps) -> None:
    for number in range(2):
        await agent.worked(f"t{number}", cancelling(number), task="please cancel my order", project="shop")
        await agent.worked(f"u{number}", [{"tool": "pay", "args": {"sum": 7, "by": "card"}}], task="pay", project="")
    made = [await agent.store.skill(change.id) for change in (await agent("evolve_skills", mode="create")).changes]
    assert sorted((one.project, one.steps[-1].tool) for one in made) == [("", "pay"), ("shop", "cancel_order")]
    assert (await agent("evolve_skills", mode="create", project="shop")).total == 0  # it is that project's already
    assert [skill.project for skill in await agent.store.skills(project="law")] == [""]


def skill(key: str, *steps: SkillStep, **fields: Any) -> Skill:
    return Skill(id=key, name=fields.pop("name", key), description=key, steps=steps, **fields)


def call(tool: str, **args: Any) -> SkillStep:
    return SkillStep(tool=tool, args_template=args)


def twins(*known: Skill, project: str = "shop", projects: dict[str, str] | None = None) -> Twins:
    return Twins({each.id: each for each in known}, project, projects or {})


LOOK, PAY = call("look"), call("pay", order="{order}", by="card")
DRAFT = skill("new", LOOK, PAY, name="pay-order", project="shop")


@pytest.mark.parametrize(
    ("known", "is_twin"),
    [
        (skill("k", LOOK, PAY, name="settle-bill", project="shop"), True),
        (skill("k", LOOK, PAY, name="settle-bill"), True),  # of all projects
        (skill("k", LOOK, PAY, name="settle-bill", project="shop", status="active"), True),
        (skill("k", LOOK, PAY, name="pay-order-2", project="shop", author="person"), True),
        (skill("k", LOOK, PAY, name="settle-bill", project="shop", author="person"), False),
        (skill("k", PAY, LOOK, name="pay-order", project="shop"), False),
        (skill("k", LOOK, PAY, name="pay-order", project="bank"), False),
        (skill("k", LOOK, PAY, name="pay-order", project="shop", status="archived"), False),
        (skill("k", LOOK, PAY, name="pay-order", project="shop", trust="untrusted"), False),  # waits for a person
        (skill("new", LOOK, PAY, name="pay-order", project="shop"), False),  # itself
    ],
)
def test_a_draft_is_once_more_what_is_live_here_with_its_tools_and_its_moves_or_name(
    known: Skill, is_twin: bool
) -> None:
    found = twins(known)
    assert found.of(DRAFT) == (known if is_twin else None)
    plan: dict[str, Skill] = {}  # changes while it is made
    later = Twins(plan, "shop", {})
    plan[known.id] = known
    later.add(known)
    assert later.of(DRAFT) == (known if is_twin else None)


def test_of_several_twins_the_one_whose_arguments_the_draft_covers_comes_first() -> None:
    wide = skill("wide", LOOK, call("pay", order="{order}", by="{by}"), name="pay-order", project="shop")
    narrow = skill("narrow", LOOK, call("pay", order="#1", by="card"), name="pay-order", project="shop")
    assert twins(wide, narrow).of(DRAFT) == narrow
    assert twins(wide).of(DRAFT) == wide


def test_a_draft_for_all_is_left_to_projects_where_each_that_shows_it_has_it_wider_or_narrower() -> None:
    draft = skill("new", LOOK, PAY, episodes=("e1", "e2"))
    of = {"e1": "shop", "e2": "bank"}
    wide = skill("wide", LOOK, call("pay", order="{order}", by="{by}"), project="shop", status="retired")
    narrow = skill("narrow", LOOK, call("pay", order="#1", by="card"), project="bank", status="archived")
    both = twins(wide, narrow, project="", projects=of)
    assert both.notes() == []
    assert both.has_project_own(draft)
    assert both.notes() == ["1 procedure is known in each project that shows them, and not made for all projects again"]
    for known in (
        [wide],
        [wide, skill("other", LOOK, call("pay", order="{order}", by="cash"), project="bank")],
        [wide, skill("other", LOOK, PAY)],
        [wide, skill("other", LOOK, PAY, project="bank", trust="untrusted")],
    ):
        apart = twins(*known, project="", projects=of)
        assert not apart.has_project_own(draft)
        assert apart.notes() == []
    assert not twins(wide, project="", projects=of).has_project_own(skill("new", LOOK, PAY))  # of no episode


@pytest.mark.parametrize(
    ("worded", "told"),
    [
        ("Cancel the order.", "Cancel the order. Use when the task mentions the purchase."),
        ("Cancels what nobody wants.", "Cancels what nobody wants."),
    ],
)
async def test_a_skill_that_more_tasks_show_tells_of_them_unless_somebody_worded_it(
    agent: Agent, cancelling: Steps, worded: str, told: str
) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number), task=f"please cancel order {number}")
    await agent("evolve_skills", mode="create")
    (before,) = await agent.store.skills()
    changed = replace(before, version=2, description=worded, keywords=("old",))
    await agent.store.append([SkillSaved(skill=changed, change="adjust")], origin=agent.context.origin)
    for number in (7, 8):
        steps = cancelling(number)
        steps[-1]["args"]["reason"] = f"changed my mind {number}"
        await agent.worked(f"other{number}", steps, task=f"annul the purchase {number}")
    await agent("evolve_skills", mode="create")
    (after,) = await agent.store.skills()
    assert (after.support, after.description, after.keywords == ("old",)) == (5, told, worded == told)
