"""What find_skill tells where nobody asked: at a prompt, by a hook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from toolkit import Agent, OneVector

from prowess.learning.rendering import count_tokens
from prowess.storage.events import MemorySaved, SkillSaved
from prowess.storage.models import Memory, Skill, SkillStep
from prowess.tools.find_skill import FindInput, FindOutput, handle

pytestmark = pytest.mark.anyio

HOME = {"project": "shop"}


def _at(cosine: float) -> list[float]:
    return [cosine, (1 - cosine**2) ** 0.5]


async def _told(agent: Agent, query: str, *, unasked: bool = True, **fields: Any) -> FindOutput:
    asker = agent.having(index=OneVector())
    return await handle(FindInput(query=query, **HOME, **fields), asker.context, unasked=unasked)


async def _learned(agent: Agent, cosine: float, command: str = "make till", task: str = "open the till") -> None:
    """A skill of one past task, which is as near as ``cosine`` to every query."""
    await agent.worked("t", [{"tool": "Bash", "args": {"command": command}}], task=task, **HOME)
    (episode,) = await agent.store.episodes()
    made = Skill(
        id="s",
        name="open_till",
        description="Open the till of the shop",
        steps=(SkillStep(tool="Bash", args_template={"command": command}),),
        episodes=(episode.id,),
        **HOME,
    )
    await agent.store.append([SkillSaved(skill=made, change="create")], origin=agent.context.origin)
    await agent.store.save_embeddings("episode", "m", [episode.id], np.array([_at(cosine)], np.float32))
    await agent.store.save_embeddings("skill", "m", ["s"], np.array([_at(0.6)], np.float32))


@pytest.mark.parametrize(("cosine", "unasked", "shown"), [(0.3, True, 0), (0.3, False, 1), (0.4, True, 1)])
async def test_a_skill_serves_only_where_a_task_of_its_own_is_near(
    agent: Agent, cosine: float, unasked: bool, shown: int
) -> None:
    await _learned(agent, cosine)
    assert len((await _told(agent, "mend the till of the shop", unasked=unasked)).skills) == shown


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("git add x && git commit -m y", 0),
        ("sed -n 1,9p x", 0),
        ("cd x && git show | head", 0),
        ("make x && git commit -m y", 1),
        ("gh run view --log-failed | tail", 1),
        ("kubectl logs deploy/till", 1),
    ],
)
async def test_a_skill_that_does_what_every_task_does_is_not_told(agent: Agent, command: str, shown: int) -> None:
    await _learned(agent, 0.9, command)
    assert len((await _told(agent, "open the till of the shop")).skills) == shown
    assert len((await _told(agent, "open the till of the shop", unasked=False)).skills) == 1


@pytest.mark.parametrize(
    ("cosine", "task", "shown"),
    [
        (0.9, "open the till", 1),
        (0.9, "why is the till shut?", 1),  # it was asked to have it opened
        (0.6, "open the till", 0),
        (0.9, "what is a till?\n\nopen it", 0),  # which the next prompt did
    ],
)
async def test_a_question_is_work_where_it_was_before(agent: Agent, cosine: float, task: str, shown: int) -> None:
    await _learned(agent, cosine, task=task)
    told = await _told(agent, "why does the till of the shop not open?")
    assert len(told.skills) == shown
    assert bool(await agent.store.exposures()) == bool(shown)


async def _remembered(agent: Agent, *memories: tuple[str, str, str]) -> None:
    made = [
        Memory(id=key, kind="lesson", text=text, at="2026-11-01T00:00:00.000Z", subject=subject, **HOME)
        for key, subject, text in memories
    ]
    await agent.store.append([MemorySaved(memory=memory) for memory in made], origin=agent.context.origin)


async def test_what_past_tasks_called_brings_the_lessons_about_it(agent: Agent) -> None:
    lesson = "When exec_command:make till failed with “no key”, it worked after `make key`"
    await _remembered(agent, ("m", "exec_command:make till | no key", lesson))
    await _learned(agent, 0.5)
    assert (await _told(agent, "customers wait outside")).lessons == [lesson]


async def test_a_past_task_that_is_far_brings_none(agent: Agent) -> None:
    lesson = "When Bash:make till failed with “no key”, it worked after `make key`"
    await _remembered(agent, ("m", "Bash:make till | no key", lesson))
    await _learned(agent, 0.3)
    assert (await _told(agent, "customers wait outside")).lessons == []


async def test_of_several_ways_out_the_one_that_was_borne_out_best_is_told(agent: Agent) -> None:
    text = "When Bash:make {} failed with “no key of the till”, it worked after `{}`"
    made = [
        Memory(
            id=way,
            kind="lesson",
            text=text.format(call, way),
            at="2026-11-01T00:00:00.000Z",
            subject=f"Bash:make {call} | no key of the till",
            importance=worth,
            **HOME,
        )
        for call, way, worth in (("a", "by chance", 0.4), ("b", "as ever", 2.0))
    ]
    await agent.store.append([MemorySaved(memory=memory) for memory in made], origin=agent.context.origin)
    assert (await _told(agent, "the till has no key")).lessons == [text.format("b", "as ever")]


async def test_what_is_known_to_fail_goes_before_more_skills_and_words_alone_count(agent: Agent) -> None:
    await _learned(agent, 0.9)
    (episode,) = await agent.store.episodes()
    more = [
        Skill(
            id=f"s{number}",
            name=f"open_till_{number}",
            description=f"Open the till of shop {number}, " + "slowly " * 40,
            steps=tuple(
                SkillStep(tool="Bash", args_template={"command": f"make till {'now ' * 30}{number}"}) for _ in "ab"
            ),
            episodes=(episode.id,),
            **HOME,
        )
        for number in range(2)
    ]
    await agent.store.append([SkillSaved(skill=one, change="create") for one in more], origin=agent.context.origin)
    lessons = [
        (
            key,
            f"Bash:make {key} | no {key}",
            f"When Bash:make {key} failed with “no {key} of the till”, it worked after `make {key}`",
        )
        for key in ("key", "light", "coin")
    ]
    await _remembered(agent, *lessons)
    told = await _told(agent, "open the till of the shop: key, light and coin", max_tokens=300)
    assert len(told.lessons) == 3
    assert count_tokens(told.text()) <= 300
    assert told.skills
    asked = await _told(agent, "open the till of the shop: key, light and coin", max_tokens=300, unasked=False)
    assert len(asked.lessons) < 3


@pytest.mark.parametrize(("tills", "told"), [(1, 0), (2, 1)])
async def test_what_one_of_several_past_tasks_called_brings_none(agent: Agent, tills: int, told: int) -> None:
    lesson = "When Bash:make till failed with “no key”, it worked after `make key`"
    await _remembered(agent, ("m", "Bash:make till | no key", lesson))
    for number in range(3):
        steps = [{"tool": "Bash", "args": {"command": "make till" if number < tills else "make tea"}}]
        await agent.worked(f"t{number}", steps, task=f"serve customer {number}", **HOME)
    ids = [episode.id for episode in await agent.store.episodes()]
    await agent.store.save_embeddings("episode", "m", ids, np.array([_at(0.5)] * 3, np.float32))
    assert len((await _told(agent, "someone waits outside")).lessons) == told
