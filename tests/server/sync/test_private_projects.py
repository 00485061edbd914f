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
from prowess.storage.models import Origin
from prowess.storage.store import Store
from prowess.tools.context import Context

pytestmark = pytest.mark.anyio

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


async def _worked(agent: Agent, place: str, numbers: Sequence[int]) -> None:
    for number in numbers:
        failed = number % 3 == 0
        task = f"bring number {number} out of the {place}"
        about = {"project": place, "task": task}
        reward = -8 if failed else 8
        await agent.worked(f"{place}-{number}", _steps(place, number, failed=failed), reward=reward, **about)


async def _sent(url: str) -> str:
    async with open_database(read_address(url), "") as database:
        pulled = await (await Remote.open(database)).pull(0, None, {})
    return repr([decode_segment(segment.data) for segment in pulled.segments])


async def test_what_was_learned_for_all_projects_from_a_private_one_stays_home(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/shared.db"
    async with _agent(tmp_path / "m") as agent:
        await _worked(agent, "vault", range(1, 7))
        assert (await agent("reflect")).memories
        (change,) = (await agent("evolve_skills", mode="auto")).changes
        assert (await agent.store.skill(change.id)).project == ""
        await sync(agent.store, url)
        assert "fetch_vault" in await _sent(url)  # as it would be told
        other = f"file://{tmp_path}/other.db"
        await sync(agent.store, other, private=["vault"])
        assert "vault" not in await _sent(other)
