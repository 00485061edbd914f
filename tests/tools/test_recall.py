"""Lessons and warnings as lines: with what bears them out, and what speaks against them."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.events import MemorySaved
from prowess.storage.models import Memory

pytestmark = pytest.mark.anyio

FAILS = "build of the order fails with “no disk”"
HELPS = "When build of the order failed with “no disk”, it worked after `clean`"
RULE = "the user said: sign the order before you build"


@pytest.mark.parametrize(
    ("kind", "text", "fields", "told"),
    [
        ("warning", FAILS, {"support": 1}, f"{FAILS} (seen in 1 episode)"),  # it may have worked ever since
        ("warning", FAILS, {"support": 3}, f"{FAILS} (seen in 3 episodes)"),
        ("warning", FAILS, {"support": 1, "against": 4}, f"{FAILS} (seen in 1 episode, not in 4)"),
        ("warning", f"{FAILS} (seen in 3 episodes)", {"support": 3}, f"{FAILS} (seen in 3 episodes)"),
        ("warning", FAILS, {"support": 1, "subject": "task | build order"}, FAILS),  # somebody's words
        ("lesson", HELPS, {"support": 1}, HELPS),
        ("lesson", HELPS, {"support": 2, "against": 1}, f"{HELPS} (seen in 2 episodes, not in 1)"),
        (
            "lesson",
            f"{HELPS} (seen in 2 episodes)",
            {"support": 2, "against": 1},
            f"{HELPS} (seen in 2 episodes) (not in 1)",
        ),
        ("constraint", RULE, {"support": 1}, RULE),
        ("warning", FAILS, {"trust": "untrusted"}, f"untrusted: {FAILS} (seen in 1 episode)"),
    ],
)
async def test_how_often_it_was_seen_is_told(
    agent: Agent, kind: Any, text: str, fields: dict[str, Any], told: str
) -> None:
    about = {"subject": "build | no disk", **fields}
    memory = Memory(id="m", kind=kind, text=text, at="2026-11-29T13:50:01.000Z", **about)
    await agent.store.append([MemorySaved(memory=memory)], origin=agent.context.origin)
    answer = await agent("find_skill", query="build the order")
    assert [*answer.lessons, *answer.warnings] == [told]


@pytest.mark.parametrize(("kind", "ended"), [("lesson", "worked"), ("warning", "failed")])
async def test_what_several_tasks_have_taught_is_told_once(agent: Agent, kind: Any, ended: str) -> None:
    reasons = {"users": "set a default for old rows", "orders": "set a default for old rows", "carts": "lock the table"}
    for table, reason in reasons.items():
        text = f"“add a note column to {table}” {ended}: {reason}"
        about = {"subject": f"task | {table}", "at": "2026-11-29T13:50:01.000Z"}
        memory = Memory(id=table, kind=kind, text=text, **about)
        await agent.store.append([MemorySaved(memory=memory)], origin=agent.context.origin)
    answer = await agent("find_skill", query="add a note column to users, orders and carts")
    told = answer.lessons or answer.warnings
    assert sorted(line.partition(f"{ended}: ")[2] for line in told) == sorted(set(reasons.values()))


@pytest.mark.parametrize(
    ("query", "text", "subject"),
    [
        (
            "see why the wifi failed, what worked instead",
            "When sync failed with “disk gone”, it worked after `mount`",
            "sync | x",
        ),
        ("ask what the user said of it", "the user said: sign every order", "rule | every order sign"),
    ],
)
async def test_the_words_of_every_memory_make_none_fit(agent: Agent, query: str, text: str, subject: str) -> None:
    memory = Memory(id="m", kind="lesson", text=text, at="2026-11-29T13:50:01.000Z", subject=subject)
    await agent.store.append([MemorySaved(memory=memory)], origin=agent.context.origin)
    assert (await agent("find_skill", query=query)).lessons == []


async def test_a_line_written_wrong_says_nothing_of_the_program_in_it(agent: Agent) -> None:
    steps = [{"tool": "Bash", "args": {"command": f"make {part}"}} for part in ("lint", "docs")]
    for number in (1, 2):
        for step in steps:
            await agent("track_execution", task_id=f"t{number}", action="run", task="check the chapter", **step)
        await agent("score_reward", task_id=f"t{number}", reward=9, done=True)
    await agent("evolve_skills")
    for key, error in (("wrong", "zsh:1: no matches found: docs/[id]"), ("right", "no rule to make target")):
        text = f"When Bash:make lint failed with “{error}”, it worked with `{key}`"
        memory = Memory(
            id=key, kind="lesson", text=text, at="2026-11-29T13:50:01.000Z", subject=f"Bash:make lint | {error}"
        )
        await agent.store.append([MemorySaved(memory=memory)], origin=agent.context.origin)
    answer = await agent("find_skill", query="check the chapter")
    assert answer.skills
    assert ["`right`" in line for line in answer.lessons] == [True]


OTHER = " Paint one kitchen wall green. Sweep the yard behind the long barn. Count the seven chairs."


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("The big mirror hangs low. A plumber mends pipes in cellars." + OTHER, False),
        ("The big mirror hangs on the pipes. A plumber mends cellars." + OTHER, True),
        ("look at /home/mirror/pipes/kitchen.py and paint the wall", False),  # where it lies says nothing
    ],
)
async def test_two_words_fit_where_they_stand_in_one_sentence(agent: Agent, query: str, fits: bool) -> None:
    text = "“oil” worked: warm the pipes and the mirror"
    memory = Memory(id="m", kind="lesson", text=text, at="2026-11-29T13:50:01.000Z", subject="task | oil")
    await agent.store.append([MemorySaved(memory=memory)], origin=agent.context.origin)
    assert bool((await agent("find_skill", query=query)).lessons) is fits
