"""What calls a tool that the project gave up is not told."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.events import MemorySaved, SkillSaved
from prowess.storage.models import Memory, NewUse, Skill, SkillStep, Where
from prowess.tools.given_up import given_up, is_given_up

pytestmark = pytest.mark.anyio

OLD, NEW, LATER = "2026-11-01T00:00:00.000Z", "2026-11-20T00:00:00.000Z", "2026-11-25T00:00:00.000Z"


def rule(said: str, **more: Any) -> Memory:
    told = {"kind": "constraint", "at": NEW, "project": "shop", "subject": f"rule | {said}", **more}
    return Memory(id=said, text=f"the user said: {said}", **told)


def lesson(way: str, at: str = OLD) -> Memory:
    text = f"When Bash:tsc failed with “no types”, it worked {way}"
    return Memory(id=way, kind="lesson", text=text, at=at, project="shop", subject="Bash:tsc | no types")


@pytest.mark.parametrize(
    ("said", "tools"),
    [
        ("we use pnpm here, not yarn", {"yarn"}),
        ("we moved to pnpm last week", {"bun", "npm", "yarn"}),
        ("we switched over to uv", {"pdm", "pip", "pipenv", "poetry"}),
        ("we migrated from jest to vitest", {"jasmine", "jest", "mocha"}),
        ("we switched to OpenTofu", {"terraform"}),
        ("we switched to OpenTofu, use tofu from now on", {"terraform"}),
        ("never run terraform apply yourself, only plan", set()),
        ("never run npm publish", set()),  # to install with it is no harm
        ("don't use pytest -x here", set()),
        ("never use npm for releases", set()),
        ("for releases, never use npm", set()),
        ("never commit without running pytest", set()),
        ("never run pytest without asking", set()),
        ("never migrate to npm", set()),
        ("the docs moved to pnpm", set()),
        ("we are moving to pnpm next month", set()),
        ("never push to main", set()),
        ("move to the top before you commit", set()),
    ],
)
def test_a_rule_says_which_tools_are_given_up(said: str, tools: set[str]) -> None:
    assert given_up([rule(said)]).keys() == tools


@pytest.mark.parametrize("more", [{"superseded_by": "other"}, {"trust": "untrusted"}], ids=str)
def test_what_was_taken_back_or_said_by_strangers_gives_up_nothing(more: dict[str, Any]) -> None:
    assert given_up([rule("we use pnpm here, not yarn", **more)]) == {}


@pytest.mark.parametrize(
    ("memory", "gone"),
    [
        (lesson("after `yarn types`"), True),
        (lesson("after `pnpm types`"), False),
        (lesson("with `pnpm tsc` instead of `yarn tsc`"), False),
        (lesson("after `yarn types`", at="2026-11-21T00:00:00.000Z"), False),  # it was borne out since
        (rule("yarn is fine for releases"), False),
    ],
)
def test_a_lesson_gives_way_whose_way_out_calls_it(memory: Memory, gone: bool) -> None:
    assert is_given_up(memory, given_up([rule("we use pnpm here, not yarn")])) is gone


async def _kept(agent: Agent, *memories: Memory) -> None:
    await agent.store.append([MemorySaved(memory=memory) for memory in memories], origin=agent.context.origin)


async def test_find_skill_tells_neither_lessons_nor_skills_that_call_it(agent: Agent) -> None:
    for program in ("yarn", "pnpm"):
        step = SkillStep(tool="Bash", args_template={"command": f"{program} types"})
        made = Skill(
            id=program, name=f"{program}_types", description="Make the types of the cart", steps=(step,), project="shop"
        )
        await agent.store.append([SkillSaved(skill=made, change="create")], origin=agent.context.origin)
    await _kept(agent, lesson("after `yarn types`"))

    async def told() -> tuple[set[str], list[str]]:
        answer = await agent("find_skill", query="make the types of the cart with tsc", project="shop")
        return {card.name for card in answer.skills}, answer.lessons

    names, lessons = await told()
    assert names == {"yarn_types", "pnpm_types"}
    assert len(lessons) == 1
    await _kept(agent, rule("we moved to pnpm last week"))
    assert await told() == ({"pnpm_types"}, [])


async def test_a_skill_that_was_used_since_is_told(agent: Agent) -> None:
    step = SkillStep(tool="Bash", args_template={"command": "npm publish"})
    made = Skill(id="s", name="publish", description="Publish the cart", steps=(step,), project="shop")
    await agent.store.append([SkillSaved(skill=made, change="create")], origin=agent.context.origin)
    await _kept(agent, rule("we use pnpm here, not npm"))
    assert (await agent("find_skill", query="publish the cart", project="shop")).skills == []
    await agent.worked("release", [{"tool": "Bash", "args": {"command": "npm publish"}}], project="shop")
    where = Where(task_id="release", project="shop", session=agent.context.session)
    use = NewUse(skill_id="s", version=1, success=True)
    await agent.store.score(where, [], uses=[use], origin=agent.context.origin)
    assert [card.name for card in (await agent("find_skill", query="publish the cart", project="shop")).skills] == [
        "publish"
    ]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, False),
        ({"pinned": True}, True),
        ({"author": "person", "created_at": "2026-11-21T00:00:00.000Z"}, True),
        ({"created_at": "2026-11-21T00:00:00.000Z"}, False),  # of tasks that are older
    ],
    ids=str,
)
async def test_what_a_person_wrote_or_pinned_since_is_told(agent: Agent, more: dict[str, Any], told: bool) -> None:
    step = SkillStep(tool="Bash", args_template={"command": "npm publish"})
    made = Skill(id="s", name="publish", description="Publish the cart", steps=(step,), project="shop", **more)
    await agent.store.append([SkillSaved(skill=made, change="create")], origin=agent.context.origin)
    await _kept(agent, rule("we use pnpm here, not npm"))
    assert bool((await agent("find_skill", query="publish the cart", project="shop")).skills) is told


@pytest.mark.parametrize(("at", "told"), [(OLD, True), ("2999-01-01T00:00:00.000Z", False)])
async def test_a_rule_that_later_tasks_did_not_keep_silences_neither_them_nor_their_skills(
    agent: Agent, at: str, told: bool
) -> None:
    await agent.worked("t", [{"tool": "Bash", "args": {"command": "npm publish"}}], task="publish cart", project="shop")
    await _kept(agent, rule("we use pnpm here, not npm", at=at))
    assert bool((await agent("find_skill", query="publish cart", project="shop")).examples) is told
    (episode,) = await agent.store.episodes()
    step = SkillStep(tool="Bash", args_template={"command": "npm publish"})
    made = Skill(id="s", name="publish", description="Publish", steps=(step,), project="shop", episodes=(episode.id,))
    await agent.store.append([SkillSaved(skill=made, change="create")], origin=agent.context.origin)
    assert bool((await agent("find_skill", query="publish cart", project="shop")).skills) is told


@pytest.mark.parametrize(("at", "told"), [(OLD, False), (LATER, True)], ids=["before", "since"])
async def test_what_was_imported_later_is_as_old_as_its_work(agent: Agent, at: str, told: bool) -> None:
    await _kept(agent, rule("we use pnpm here, not npm"))
    await agent.imported("p1", at, task="publish cart", project="shop")
    assert bool((await agent("find_skill", query="publish cart", project="shop")).examples) is told
