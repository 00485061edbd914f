"""A look at all projects at once: what one of them alone shows is kept for that one."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

pytestmark = pytest.mark.anyio


def got_over(error: str) -> list[dict[str, Any]]:
    """Steps that get over ``error`` of a call named after it."""
    call = {"tool": f"open_{error}", "args": {"number": 1}}
    return [
        {**call, "error": f"Error: {error} is jammed", "outcome": "failure"},
        {"tool": "oil", "args": {"what": error}, "outcome": "success"},
        {**call, "outcome": "success"},
    ]


async def worked(agent: Agent, project: str, error: str) -> None:
    for number in range(3):
        await agent.worked(f"{project}-{error}-{number}", got_over(error), project=project)


async def lessons(agent: Agent) -> dict[str, list[str]]:
    """For which projects each error's lesson is kept."""
    kept: dict[str, list[str]] = {}
    for memory in await agent.store.memories(kinds=("lesson",)):
        kept.setdefault(memory.subject.partition(" | ")[0], []).append(memory.project)
    return {call: sorted(projects) for call, projects in kept.items()}


async def test_a_lesson_of_one_project_is_kept_for_it_and_one_of_several_for_all(agent: Agent) -> None:
    await worked(agent, "shop", "till")
    await worked(agent, "shop", "door")
    await worked(agent, "garden", "door")
    await agent("reflect")
    assert await lessons(agent) == {"open_till": ["shop"], "open_door": [""]}
    told = await agent.store.memories(project="garden", kinds=("lesson",))
    assert ["till" in memory.text for memory in told] == [False]
    again = await agent("reflect")
    assert (again.new, again.receipt) == (0, None)


async def test_it_is_the_lesson_that_the_project_would_keep_itself(agent: Agent) -> None:
    await worked(agent, "shop", "till")
    await agent("reflect")
    (before,) = await agent.store.memories(kinds=("lesson",))
    await agent("reflect", project="shop")
    (after,) = await agent.store.memories(kinds=("lesson",))
    assert (before.id, before.support) == (after.id, after.support) == (after.id, 3)


@pytest.mark.parametrize("narrowed", [{"kinds": "recovery"}, {"since": "2020-01-01T00:00:00Z"}])
async def test_what_a_narrowed_look_counted_is_not_counted_again(agent: Agent, narrowed: dict[str, str]) -> None:
    await worked(agent, "shop", "till")
    await agent("reflect", project="shop", **narrowed)
    await agent("reflect", project="shop")
    (kept,) = await agent.store.memories(kinds=("lesson",))
    assert (kept.support, len(kept.evidence)) == (3, 3)
    await agent.worked("shop-once-more", got_over("till"), project="shop")
    await agent("reflect", project="shop")
    (kept,) = await agent.store.memories(kinds=("lesson",))
    assert (kept.support, len(kept.evidence)) == (4, 4)


async def test_each_project_keeps_no_more_than_its_cap(agent: Agent) -> None:
    small = agent.having(memory_cap=1)
    for error in ("till", "door"):
        await worked(agent, "shop", error)
        await worked(agent, "garden", f"garden_{error}")
    await small("reflect")
    kept = [memory.project for memory in await agent.store.memories()]
    assert sorted(kept) == ["garden", "shop"]


async def test_what_has_no_project_stays_for_all(agent: Agent) -> None:
    await worked(agent, "", "till")
    await worked(agent, "shop", "door")
    await agent("reflect")
    assert await lessons(agent) == {"open_till": [""], "open_door": ["shop"]}
