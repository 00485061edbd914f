"""What is learned for all projects takes nothing of a private one along."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rounds import sync
from toolkit import Agent, InThisProcess, NoIndex

from prowess.server.sync.address import read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.remote import Remote
from prowess.server.sync.segment import decode_segment
from prowess.storage.events import ExposureMade
from prowess.storage.ids import new_id
from prowess.storage.models import Exposure, Origin
from prowess.storage.store import Store
from prowess.tools.context import Context

pytestmark = pytest.mark.anyio

AT = "2026-11-29T12:00:00.000Z"
ORIGIN = Origin(machine="m", client="tests", session="s")


@asynccontextmanager
async def _agent(folder: Path) -> AsyncIterator[Agent]:
    async with Store.open(folder) as store:
        yield Agent(Context(store=store, compute=InThisProcess(), index=NoIndex(), origin=ORIGIN, session="s"))


def _steps(place: str, number: int, *, failed: bool) -> list[dict[str, Any]]:
    """A fetch that fails in part of the tasks, with what it failed at in the error."""
    fetched = {"tool": f"fetch_{place}", "args": {"from": place}}
    broken = {**fetched, "error": f"the {place} door is jammed"}
    return [{"tool": f"open_{place}", "args": {"number": number}}, broken if failed else fetched]


async def _worked(agent: Agent, project: str, numbers: Sequence[int], *, place: str = "vault") -> None:
    for number in numbers:
        failed = number % 3 == 0
        task = f"bring number {number} out of the {place}"
        about = {"project": project, "task": task}
        reward = -8 if failed else 8
        await agent.worked(f"{project}-{number}", _steps(place, number, failed=failed), reward=reward, **about)


async def _sent(url: str) -> str:
    async with open_database(read_address(url), "") as database:
        pulled = await (await Remote.open(database)).pull(0, None, {})
    return repr([decode_segment(segment.data) for segment in pulled.segments])


@pytest.mark.parametrize(("projects", "home"), [(["vault"], "vault"), (["vault", "vaulted"], "")])
async def test_what_was_learned_without_a_project_from_private_ones_stays_home(
    tmp_path: Path, projects: list[str], home: str
) -> None:
    url = f"file://{tmp_path}/shared.db"
    async with _agent(tmp_path / "m") as agent:
        for project in projects:
            await _worked(agent, project, range(1, 7))
        assert (await agent("reflect")).memories
        changes = (await agent("evolve_skills", mode="auto")).changes
        assert {(await agent.store.skill(change.id)).project for change in changes} == {home}
        await sync(agent.store, url)
        assert "fetch_vault" in await _sent(url)  # as it would be told
        other = f"file://{tmp_path}/other.db"
        await sync(agent.store, other, private=projects)
        assert "vault" not in await _sent(other)


async def _shared(agent: Agent, folder: Path) -> str:
    url = f"file://{folder}/shared.db"
    await sync(agent.store, url, private=["vault"])
    return await _sent(url)


def _move(place: str, number: int) -> list[dict[str, Any]]:
    return [
        {"tool": "get_item", "args": {"item": f"{place}-{number}"}},
        {"tool": "move_item", "args": {"item": f"{place}-{number}", "to": "depot"}},
    ]


async def _moved(agent: Agent, place: str, numbers: Sequence[int], **about: Any) -> None:
    for number in numbers:
        await agent.worked(
            f"{place}-{number}", _move(place, number), project=place, task=f"move {place} item {number}", **about
        )


async def test_a_skill_for_all_projects_is_made_of_those_that_may_be_told(tmp_path: Path) -> None:
    async with _agent(tmp_path / "m") as open_agent:
        agent = open_agent.having(private=("vault",))
        await _moved(agent, "vault", (1, 2))
        assert (await agent("evolve_skills", mode="auto", project="")).total == 0
        (own,) = (await agent("evolve_skills", mode="auto", project="vault")).changes
        assert (await agent.store.skill(own.id)).project == "vault"
        await _moved(agent, "shop", (1, 2))
        (change,) = (await agent("evolve_skills", mode="auto", project="")).changes
        assert change.action == "create"
        skill = await agent.store.skill(change.id)
        assert [(await agent.store.episode(key)).project for key in skill.episodes] == ["shop", "shop"]
        told = await _shared(agent, tmp_path)
        assert change.id in told
        assert "vault" not in told


async def test_a_question_asked_for_a_private_projects_episode_stays_home_wherever_it_was_asked(tmp_path: Path) -> None:
    async with _agent(tmp_path / "m") as agent:
        await _moved(agent, "shop", (1,))
        await _moved(agent, "vault", (1,))
        for episode in await agent.store.episodes():
            asked = Exposure(id=new_id(), at=AT, query=f"open the {episode.project}", episode_id=episode.id)
            await agent.store.append([ExposureMade(exposure=asked)], origin=ORIGIN)
        told = await _shared(agent, tmp_path)
        assert "open the shop" in told
        assert "vault" not in told


async def test_uses_in_a_private_project_leave_no_values_in_a_skill_of_all(tmp_path: Path) -> None:
    async with _agent(tmp_path / "m") as open_agent:
        agent = open_agent.having(private=("vault",))
        await _moved(agent, "shop", (1,))
        await _moved(agent, "yard", (1,))
        (change,) = (await agent("evolve_skills", mode="auto", project="")).changes
        used = [{"skill": change.name, "success": True}]
        await _moved(agent, "vault", (1, 2, 3))
        for number in (1, 2, 3):
            await agent("score_reward", task_id=f"vault-{number}", project="vault", reward=8, skills_used=used)
        for project in ("", "vault"):
            await agent("evolve_skills", mode="adjust", project=project)
        assert "vault" not in await _shared(agent, tmp_path)
        skill = await agent.store.skill(change.id)
        assert (skill.version, skill.use_count) == (1, 3)
        # Where nothing is private they are learned from.
        await open_agent("evolve_skills", mode="adjust", project="")
        assert "vault-1" in repr((await agent.store.skill(change.id)).parameters)
