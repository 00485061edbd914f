"""What a person wants always is known to the next session, without waiting for the server to learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from capturekit import Client, ask, call
from hubkit import connected, hub_in

from prowess.server.hub.hub import Hub
from prowess.server.settings import Settings
from prowess.storage.models import Memory, Origin

pytestmark = pytest.mark.anyio

RULE = "never push to main, open a PR"


@pytest.fixture
def agent(hub: Hub, home: Path) -> Client:
    return Client(hub, home)


def corrected(agent: Client, said: str = f"no, {RULE}", prompt: str = "Mend the failing till of the shop") -> None:
    """A session of which nothing tells what it was worth."""
    agent.prompt(prompt)
    agent.shell("ls", "till.py")
    agent.prompt(said)
    agent.leave("SessionEnd")


async def rules(agent: Client) -> Sequence[Memory]:
    return await (await agent.store()).memories(project="shop", kinds=("constraint",))


async def test_a_correction_is_told_at_the_next_sessions_start(agent: Client, home: Path) -> None:
    corrected(agent)
    agent.leave("SessionStart", source="startup", session_id="s2")
    told = (await ask(home, "start", "e2", "s2"))["context"].splitlines()[2:]
    assert told == [f"constraint: the user said: {RULE}"]


async def test_a_reflection_finds_it_said_and_changes_nothing(agent: Client, home: Path) -> None:
    corrected(agent)
    before = await rules(agent)
    async with connected(home, project="shop") as peer:
        await call(peer, "reflect", {})
    assert await rules(agent) == before
    assert [rule.support for rule in before] == [1]


async def test_a_rule_that_was_forgotten_does_not_come_back(agent: Client, hub: Hub, home: Path) -> None:
    corrected(agent)
    (rule,) = await rules(agent)
    await (await agent.store()).forget(memory_ids=[rule.id], origin=Origin(actor="person"))
    again = Client(hub, home, session="s2")
    corrected(again, f"no, {RULE}\nNever use npm here, we use pnpm")
    assert [rule.text for rule in await rules(again)] == ["the user said: Never use npm here, we use pnpm"]


async def test_nothing_is_kept_where_the_server_does_not_learn_by_itself(home: Path) -> None:
    settings = Settings(home=home, embedder="none", learn_after=0)
    async with hub_in(home, settings=lambda: settings) as hub:
        agent = Client(hub, home)
        corrected(agent)
        assert not await rules(agent)
