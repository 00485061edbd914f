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


@pytest.mark.parametrize(
    ("rule", "said", "left"),
    [
        ("we use pnpm here", "actually we use npm here now, CI moved", ["we use npm here now"]),
        ("we use pnpm here", "remove pnpm from the Dockerfile", ["we use pnpm here"]),
        (
            "always run the full suite before committing",
            "you can commit without running the full suite again, it got too slow",
            ["you can commit without running the full suite again"],
        ),
        ("never push to main", "you can push to main, it is a small fix", ["never push to main"]),
        ("never push to main", "never use --no-verify again", ["never use --no-verify again", "never push to main"]),
        ("we use pnpm here", "we never do that here, revert it", ["we use pnpm here"]),
    ],
)
@pytest.mark.parametrize("first", [True, False])
async def test_a_session_is_told_the_rule_that_holds(
    agent: Client, hub: Hub, home: Path, *, rule: str, said: str, left: list[str], first: bool
) -> None:
    corrected(agent, f"no, {rule}")
    again = Client(hub, home, session="s2")
    if first:
        corrected(again, "and the door", prompt=said)
    else:
        corrected(again, said, prompt="Paint the door of the shop")
    again.leave("SessionStart", source="startup", session_id="s3")
    told = (await ask(home, "start", "e9", "s3"))["context"].splitlines()[2:]
    assert told == [f"constraint: the user said: {one}" for one in left]


async def test_what_an_agent_says_takes_no_rule_back(agent: Client, home: Path) -> None:
    corrected(agent, "no, we use pnpm here")
    async with connected(home, project="shop") as peer:
        step = {"action": "we moved to npm", "observation": "we use npm here now"}
        told = {"task_id": "t", "task": "Go on\n\nwe moved to npm", "steps": [step]}
        await call(peer, "track_execution", told)
        await call(peer, "score_reward", {"task_id": "t", "reward": 5, "final": True})
        await call(peer, "reflect", {})
    assert [rule.superseded_by for rule in await rules(agent)] == [None]


@pytest.mark.parametrize(
    ("said", "value"),
    [("we never do that here, revert it", -8.0), ("revert it", -8.0), ("now revert the commit from last week", None)],
)
async def test_work_that_was_taken_back_is_blamed_though_another_task_follows(
    agent: Client, said: str, value: float | None
) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s")
    agent.prompt(said)
    agent.shell("git checkout till.py", "Updated 1 path")
    agent.prompt("Write a long and friendly letter to every customer whose parcel never came to their house")
    agent.shell("ls")
    agent.leave("SessionEnd")
    assert (await agent.evidence(0)).get("user") == value


@pytest.mark.parametrize("worked", [False, True])
async def test_a_rule_is_kept_where_a_session_was_resumed_to_say_it(agent: Client, home: Path, *, worked: bool) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("ls", "till.py")
    agent.leave("SessionEnd")
    assert (await agent.episodes())[0].closed_at
    agent.leave("SessionStart", source="resume")
    agent.prompt(f"no, {RULE}")
    if worked:
        agent.shell("ls", "till.py")
    agent.leave("SessionEnd")
    agent.leave("SessionStart", source="startup", session_id="s2")
    told = (await ask(home, "start", "e2", "s2"))["context"].splitlines()[2:]
    assert told == [f"constraint: the user said: {RULE}"]


async def test_what_a_resumed_session_says_holds_against_what_another_said_meanwhile(
    agent: Client, hub: Hub, home: Path
) -> None:
    corrected(agent, "and the door")
    corrected(Client(hub, home, session="s2"), "no, we use npm here")
    agent.leave("SessionStart", source="resume")
    agent.prompt("no, we use pnpm here")
    agent.leave("SessionEnd")
    assert [rule.text for rule in await rules(agent) if not rule.superseded_by] == ["the user said: we use pnpm here"]


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
