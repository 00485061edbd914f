"""Learning on a machine that another one's episodes reached: whole with ``sync_raw``, else as summaries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rounds import sync
from toolkit import Agent, InThisProcess, NoIndex

from prowess.storage.events import PrivacySet
from prowess.storage.models import Origin, SkillStep
from prowess.storage.store import Store
from prowess.tools.context import Context

pytestmark = pytest.mark.anyio

AT = "2026-11-29T12:00:00.000Z"
PERSON = Origin(client="prowess", session="cli", actor="person")


def _steps(number: int, reason: str = "no longer needed") -> list[dict[str, Any]]:
    order = f"#W{number:03}"
    cancelled = {"tool": "cancel_order", "args": {"order_id": order, "reason": reason}, "observation": "cancelled"}
    return [{"tool": "get_order", "args": {"order_id": order}, "observation": "pending"}, cancelled]


async def _cancel(agent: Agent, *numbers: int, **about: Any) -> None:
    for number in numbers:
        await agent.worked(f"t{number}", _steps(number, **about), task=f"please cancel my pending order #W{number:03}")


@asynccontextmanager
async def _agents(folder: Path, count: int = 2) -> AsyncIterator[list[Agent]]:
    """Agents on machines of their own."""
    async with AsyncExitStack() as stack:
        made = []
        for name in (f"m{number}" for number in range(count)):
            store = await stack.enter_async_context(Store.open(folder / name))
            origin = Origin(machine=name, client="tests", session=name)
            made.append(
                Agent(Context(store=store, compute=InThisProcess(), index=NoIndex(), origin=origin, session=name))
            )
        yield made


@asynccontextmanager
async def _shared(folder: Path, *, raw: bool) -> AsyncIterator[tuple[Agent, Agent, str]]:
    """Two machines with what one learned from three orders, and the name of its skill."""
    url = f"file://{folder}/shared.db"
    async with _agents(folder) as (first, second):
        await _cancel(first, 1, 2, 3)
        (change,) = (await first("evolve_skills", mode="auto")).changes
        await sync(first.store, url, raw=raw)
        await sync(second.store, url, raw=raw)
        yield first, second, change.name


async def _found(agent: Agent) -> list[str]:
    return [skill.name for skill in (await agent("find_skill", query="cancel my pending order")).skills]


async def test_of_summaries_the_second_machine_makes_no_skill_and_finds_the_first_ones(tmp_path: Path) -> None:
    async with _shared(tmp_path, raw=False) as (_, second, name):
        for mode in ("auto", "create", "adjust", "compose"):
            answer = await second("evolve_skills", mode=mode)
            assert (answer.total, [skill.name for skill in await second.store.skills()]) == (0, [name])
        assert (await second("evolve_skills", mode="create")).notes == [
            "0 successful episodes are scored and have their steps here; mining needs at least 2"
        ]
        answer = await second("find_skill", query="cancel my pending order")
        assert ([skill.name for skill in answer.skills], answer.examples) == ([name], [])
        # Rewards and tool names arrived: reflection works on them.
        assert (await second.store.stats()).scored == 3


async def test_summaries_do_not_speak_against_what_the_second_machine_words(tmp_path: Path) -> None:
    worded = {"name": "look-up", "steps": [{"tool": "get_order", "args_template": {"order_id": "{order}"}}]}
    async with _shared(tmp_path, raw=False) as (_, second, _name):
        (change,) = (await second("evolve_skills", mode="create", skills=[worded])).changes
        assert (await second.store.skill(change.id)).support == 0


async def test_with_their_own_steps_both_sides_count_apart(tmp_path: Path) -> None:
    """What the second machine did itself is learned from; of the three summaries beside it nothing is."""
    async with _shared(tmp_path, raw=False) as (_, second, name):
        await _cancel(second, 8, 9, reason="found it cheaper")
        answer = await second("evolve_skills", mode="create")
        # Two episodes show less than the three that the known skill rests on, so it stays as it is.
        assert (answer.total, await _found(second)) == (0, [name])


async def test_two_that_learn_apart_do_not_take_each_others_version_away_again_and_again(tmp_path: Path) -> None:
    """One always writes, the other always calls, and neither sees the steps of the other: both are right."""
    url, work = f"file://{tmp_path}/shared.db", _cancel_by
    async with _agents(tmp_path) as agents:
        kinds = list(zip(agents, (0, 100), ("mail", "phone"), strict=True))
        for agent, first, channel in kinds:
            await work(agent, first, "no longer needed", channel)
            await work(agent, first + 1, "no longer needed", channel)
        await agents[0]("evolve_skills", mode="create")
        await work(agents[1], 199, "found it cheaper", "phone")
        for number in range(2, 7):  # each in turn has more episodes to show than the other
            for agent, first, channel in kinds:
                for other in agents:
                    await sync(other.store, url)
                for more in range(2):
                    await work(agent, first + 2 * number + more, f"reason {number} {more}", channel)
                await agent("evolve_skills", mode="create")
        for agent in (*agents, *agents):
            await sync(agent.store, url)
        told = []
        for agent in agents:
            assert (await agent("evolve_skills", mode="create")).total == 0
            skills = await agent.store.skills()
            told.append({(skill.name, skill.version, *_channels(skill.steps)) for skill in skills})
            for skill in skills:  # no version took another channel than the one before
                assert len({_channels(one.skill.steps) for one in await agent.store.versions(skill.id)}) == 1
        assert told[0] == told[1]
        assert sorted(channel for _, _, channel in told[0]) == ["mail", "phone"]


async def test_what_holds_for_the_others_too_takes_the_place_of_their_version(tmp_path: Path) -> None:
    """And stays, however much more the narrower one has to show."""
    url = f"file://{tmp_path}/shared.db"
    async with _agents(tmp_path) as (first, second):
        for number in range(2):
            await _cancel_by(first, number, f"reason {number}", "mail")
        await first("evolve_skills", mode="create")
        await sync(first.store, url)
        await sync(second.store, url)
        for number, channel in enumerate(("phone", "mail", "letter"), start=100):
            await _cancel_by(second, number, f"reason {number}", channel)
        (change,) = (await second("evolve_skills", mode="create")).changes
        assert change.action == "adjust"
        await sync(second.store, url)
        await sync(first.store, url)
        for number in range(2, 6):
            await _cancel_by(first, number, f"reason {number}", "mail")
        assert (await first("evolve_skills", mode="create")).total == 0
        (skill,) = await first.store.skills()
        assert (skill.version, skill.support, *_channels(skill.steps)) == (2, 3, "{channel}")


async def _cancel_by(agent: Agent, number: int, reason: str, channel: str) -> None:
    order = {"order_id": f"#W{number:03}"}
    cancelled = {"tool": "cancel_order", "args": {**order, "reason": reason, "channel": channel}}
    steps = [{"tool": "get_order", "args": order}, cancelled]
    await agent.worked(f"t{number}", steps, task=f"please cancel my pending order #W{number:03}")


def _channels(steps: Sequence[SkillStep]) -> tuple[str, ...]:
    return tuple(step.args_template["channel"] for step in steps if "channel" in (step.args_template or {}))


async def _apart(agents: Sequence[Agent], url: str, *, channels: tuple[str, str] = ("mail", "mail")) -> None:
    """Each makes a skill before it hears of the other; the second cancels for several reasons."""
    for at, (agent, channel) in enumerate(zip(agents, channels, strict=True)):
        for number, other in enumerate(("wrong size", "found it cheaper", "too late")):
            reason = other if at and channels[0] == channels[1] else "no longer needed"
            await _cancel_by(agent, 100 * at + number, reason, channel)
        await agent("evolve_skills", mode="create")
    await _exchange(agents, url)


async def _exchange(agents: Sequence[Agent], url: str) -> None:
    for agent in (*agents, *agents):
        await sync(agent.store, url)


async def _skills(agents: Sequence[Agent]) -> list[tuple[str, str, int]]:
    """Name, status and version of each skill, in the order of their ids: alike on all machines."""
    told = [await agent.store.skills() for agent in agents]
    alike = [sorted((skill.id, skill.name, skill.status, skill.version) for skill in skills) for skills in told]
    assert all(one == alike[0] for one in alike)
    return sorted((name, status, version) for _, name, status, version in alike[0])


async def test_of_two_drafts_with_one_name_the_one_that_says_more_stays_on_both_sides(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/shared.db"
    async with _agents(tmp_path) as agents:
        await _apart(agents, url)
        assert await _skills(agents) == [("cancel-order", "draft", 1)] * 2
        for agent in agents:  # neither has heard of the other's decision
            (change,) = (await agent("evolve_skills", mode="create")).changes
            assert (change.action, change.name) == ("retire", "cancel-order")
        await _exchange(agents, url)
        assert await _skills(agents) == [("cancel-order", "draft", 1), ("cancel-order", "retired", 1)]
        for agent in agents:
            assert (await agent("evolve_skills", mode="create")).total == 0
            left = await agent.store.skill("cancel-order")
            assert left.steps[1].args_template == {
                "order_id": "{order_id}",
                "reason": "{reason}",
                "channel": "mail",
            }


async def test_what_a_person_takes_back_gets_a_name_of_its_own(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/shared.db"
    async with _agents(tmp_path) as agents:
        await _apart(agents, url)
        (change,) = (await agents[0]("evolve_skills", mode="create")).changes
        await agents[0]("evolve_skills", mode="rollback", skills=[change.id])
        (renamed,) = (await agents[0]("evolve_skills", mode="create")).changes
        assert (renamed.action, renamed.id, renamed.name) == ("adjust", change.id, "cancel-order-2")
        await _exchange(agents, url)
        assert await _skills(agents) == [("cancel-order", "draft", 1), ("cancel-order-2", "draft", 2)]


async def test_of_two_that_do_something_else_the_later_gets_another_name_on_both_sides(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/shared.db"
    async with _agents(tmp_path) as agents:
        await _apart(agents, url, channels=("mail", "phone"))
        assert await _skills(agents) == [("cancel-order", "draft", 1)] * 2
        for agent in agents:
            (change,) = (await agent("evolve_skills", mode="create")).changes
            assert change.name == "cancel-order-2"
        await _exchange(agents, url)
        assert await _skills(agents) == [("cancel-order", "draft", 1), ("cancel-order-2", "draft", 2)]
        for agent in agents:
            assert (await agent("evolve_skills", mode="create")).total == 0
            assert _channels((await agent.store.skill("cancel-order")).steps) == ("mail",)


async def test_what_no_other_machine_knows_changes_no_name_of_theirs(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/shared.db"
    async with _agents(tmp_path) as (first, second):
        await _cancel_by(first, 1, "no longer needed", "mail")
        await _cancel_by(first, 2, "no longer needed", "mail")
        (mine,) = (await first("evolve_skills", mode="create")).changes
        await first.store.append([PrivacySet(skill_ids=(mine.id,), private=True, at=AT)], origin=PERSON)
        for number in range(3):
            await _cancel_by(second, 100 + number, "no longer needed", "phone")
        await second("evolve_skills", mode="create")
        await _exchange((first, second), url)
        assert (await first("evolve_skills", mode="create")).total == 0
        assert [skill.name for skill in await first.store.skills()] == ["cancel-order"] * 2


async def test_of_whole_episodes_the_second_machine_makes_no_near_duplicate(tmp_path: Path) -> None:
    async with _shared(tmp_path, raw=True) as (_, second, name):
        assert (await second("evolve_skills", mode="create")).total == 0
        await _cancel(second, 8, 9, reason="found it cheaper")
        (change,) = (await second("evolve_skills", mode="create")).changes
        assert (change.action, change.name) == ("adjust", name)
        (skill,) = await second.store.skills()
        assert (skill.name, skill.version, skill.support) == (name, 2, 5)
        assert skill.steps[1].args_template == {"order_id": "{order_id}", "reason": "{reason}"}
        assert (await second("evolve_skills", mode="create")).total == 0


async def test_what_retention_dropped_is_not_learned_from(tmp_path: Path) -> None:
    async with _agents(tmp_path, 1) as (agent,):
        await _cancel(agent, 1, 2, 3)
        before = await agent.store.trajectories([one.id for one in await agent.store.episodes()])
        await agent.store.trim(days=None, max_bytes=0, origin=agent.context.origin)
        after = await agent.store.trajectories([one.id for one in await agent.store.episodes()])
        assert [[one.whole for one in found] for found in (before, after)] == [[True] * 3, [False] * 3]
        assert (await agent("evolve_skills", mode="create")).total == 0


async def test_an_episode_that_went_on_after_retention_is_not_whole(tmp_path: Path) -> None:
    async with _agents(tmp_path, 1) as (agent,):
        told = await agent("track_execution", task_id="t", steps=_steps(1))
        await agent.store.trim(days=None, max_bytes=0, origin=agent.context.origin)
        await agent("track_execution", task_id="t", steps=_steps(2))
        (found,) = await agent.store.trajectories([told.episode_id])
        assert ([step.observation for step in found.steps], found.whole) == (
            [None, None, "pending", "cancelled"],
            False,
        )
