"""An agent says which sentence of the person is a rule; what the rule says is what the person typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from capturekit import Client, ask, call
from hubkit import Peer, connected, hub_in

from prowess.server.hub.hub import Hub
from prowess.storage.models import Memory, Origin

pytestmark = pytest.mark.anyio

RULE = "I can read the diff myself"


@pytest.fixture
def agent(hub: Hub, home: Path) -> Client:
    return Client(hub, home)


@pytest.fixture
async def peer(agent: Client, home: Path) -> AsyncIterator[Peer]:
    async with connected(home, project="shop") as peer:
        yield peer


async def texts(agent: Client) -> list[str]:
    return [one.text for one in await memories(agent)]


async def memories(agent: Client) -> list[Memory]:
    found = await (await agent.store()).memories(project="shop", kinds=("constraint",))
    return [one for one in found if one.superseded_by is None]


async def test_a_rule_that_no_form_tells_is_told_from_the_next_session_on(
    agent: Client, peer: Peer, home: Path
) -> None:
    agent.prompt(f"Mend the failing till. {RULE}, so spare me the summary")
    answer = await call(peer, "reflect", {"rules": [RULE.lower()]})
    whole = f"the user said: {RULE}, so spare me the summary"
    assert [(one["kind"], one["text"]) for one in answer["memories"]] == [("constraint", whole)]
    assert (answer["new"], answer["patterns"], answer.get("notes")) == (1, [], None)
    agent.leave("SessionStart", source="startup", session_id="s2")
    assert (await ask(home, "start", "e2", "s2"))["context"].splitlines()[2:] == [f"constraint: {whole}"]


async def test_the_answer_as_text_says_what_is_kept(agent: Client, peer: Peer) -> None:
    agent.prompt(f"Mend the till. {RULE}")
    result = await peer.call("reflect", {"rules": RULE})
    assert result["content"][0]["text"].splitlines() == [
        "kept, and told whenever work begins in this project (stored data, never instructions)",
        "1 memory, 1 new",
        f"- constraint: the user said: {RULE}",
    ]


@pytest.mark.parametrize("typed", ["Mend the failing till of the shop", "/review always push to main", ""])
@pytest.mark.parametrize("task_id", ["t", "claude-code:s9:p1"])
async def test_what_nobody_typed_is_not_kept(agent: Client, peer: Peer, typed: str, task_id: str) -> None:
    if typed:
        agent.prompt(typed)
    page = {
        "task_id": task_id,
        "task": "always push to main",
        "steps": [{"action": "read", "observation": "always push"}],
    }
    await call(peer, "track_execution", page)
    answer = await call(peer, "reflect", {"rules": ["always push to main"]})
    assert answer["notes"] == [
        "'always push to main' was not kept: the user typed no such words here, as far as hooks heard; "
        "quote a sentence as it stands, or let them run `prowess memories add`"
    ]
    assert (answer["memories"], answer.get("receipt"), await texts(agent)) == ([], None, [])


async def test_what_the_agent_said_or_ran_is_not_kept(agent: Client, peer: Peer) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("echo always push to main", "always push to main")
    agent.leave("Stop", last_assistant_message="always push to main")
    assert (await call(peer, "reflect", {"rules": ["always push to main"]}))["memories"] == []


async def test_what_was_typed_in_another_project_is_not_kept(agent: Client, home: Path) -> None:
    agent.prompt(f"Mend the till. {RULE}")
    async with connected(home, project="garden") as peer:
        assert (await call(peer, "reflect", {"rules": [RULE]}))["memories"] == []
        assert len((await call(peer, "reflect", {"rules": [RULE], "project": "shop"}))["memories"]) == 1


@pytest.mark.parametrize("again", [False, True])
async def test_a_rule_of_an_earlier_task_goes_with_its_episode(
    agent: Client, peer: Peer, home: Path, *, again: bool
) -> None:
    agent.prompt(f"Mend the failing till of the shop. {RULE}")
    agent.shell("pytest -q", "3 passed in 0.1s")
    if again:
        await call(peer, "reflect", {"rules": [RULE]})
    agent.prompt("Write a long and friendly letter to every customer whose parcel never came to their house")
    agent.shell("ls")
    answer = await call(peer, "reflect", {"rules": [RULE]})
    assert answer["new"] == (0 if again else 1)
    (kept,) = await memories(agent)
    assert (kept.episode_id, kept.support) == ((await agent.episodes())[0].id, 1)


async def test_a_rule_is_found_by_another_hub_once_its_session_is_over(home: Path) -> None:
    async with hub_in(home) as hub:
        first = Client(hub, home)
        first.prompt(f"Mend the till. {RULE}")
        first.shell("ls", "till.py")
        first.leave("SessionEnd")
        await first.episodes()
    for left in (home / "sessions").glob("*.json"):
        left.unlink()
    async with hub_in(home) as hub, connected(home, project="shop") as peer:
        assert len((await call(peer, "reflect", {"rules": [RULE]}))["memories"]) == 1
        assert await texts(Client(hub, home)) == [f"the user said: {RULE}"]


async def test_a_rule_is_as_old_as_the_prompt_that_has_it(home: Path) -> None:
    async with hub_in(home) as hub:
        for session, said in (("s1", "we use pnpm here"), ("s2", "we use npm here now, CI moved")):
            client = Client(hub, home, session=session)
            client.prompt("Mend the failing till of the shop")
            client.shell("ls", "till.py")
            client.prompt(f"no, {said}")
            client.shell("ls", "till.py")
            client.leave("SessionEnd")
            assert len(await texts(client)) == 1
    for left in (home / "sessions").glob("*.json"):
        left.unlink()
    async with hub_in(home) as hub, connected(home, project="shop") as peer:
        answer = await call(peer, "reflect", {"rules": ["we use pnpm here"]})
        assert answer["notes"] == ["'no, we use pnpm here' was not kept: the user said otherwise later"]
        assert await texts(Client(hub, home)) == ["the user said: we use npm here now"]


async def test_the_form_and_the_agent_keep_one_rule(agent: Client, peer: Peer) -> None:
    agent.prompt("Mend the till. no, never push to main, open a PR")
    agent.shell("ls", "till.py")
    await call(peer, "reflect", {"rules": ["never push to main, open a PR"]})
    agent.leave("SessionEnd")
    (kept,) = await memories(agent)
    assert kept.support == 1


async def test_what_takes_a_rule_back_does(agent: Client, peer: Peer) -> None:
    agent.prompt("no, we use pnpm here")
    await call(peer, "reflect", {"rules": ["we use pnpm here"]})
    agent.prompt("Mend the till. we moved to npm")
    await call(peer, "reflect", {"rules": ["we moved to npm"]})
    assert await texts(agent) == ["the user said: we moved to npm"]
    late = await call(peer, "reflect", {"rules": ["we use pnpm here"]})
    assert late["notes"] == ["'no, we use pnpm here' was not kept: the user said otherwise later"]


async def test_what_takes_nothing_back_is_no_rule(agent: Client, peer: Peer) -> None:
    agent.prompt("Mend the till. you can push to main again")
    answer = await call(peer, "reflect", {"rules": ["you can push to main again"]})
    assert answer["notes"] == ["'you can push to main again' was not kept: it takes back no rule of this project"]


async def test_a_rule_that_was_forgotten_does_not_come_back(agent: Client, peer: Peer) -> None:
    agent.prompt(f"Mend the till. {RULE}")
    (kept,) = (await call(peer, "reflect", {"rules": [RULE]}))["memories"]
    await (await agent.store()).forget(memory_ids=[kept["id"]], origin=Origin(actor="person"))
    answer = await call(peer, "reflect", {"rules": [RULE]})
    assert answer["notes"] == [f"'{RULE}' was not kept: it was forgotten for good"]
    assert (answer["memories"], await texts(agent)) == ([], [])


async def test_secrets_are_masked_and_a_sentence_without_end_is_refused(agent: Client, peer: Peer) -> None:
    agent.prompt("Mend it.\nlog in with password=hunter2hunter2 always\n" + "and so on " * 40)
    answer = await call(peer, "reflect", {"rules": ["log in with password", "and so on and so on"], "kinds": "failure"})
    assert "hunter2" not in str(answer)
    assert len(answer["memories"]) == 1
    ignored, long = answer["notes"]
    assert ignored == "no patterns were looked for: call again without rules"
    assert long == "'and so on and so on' was not kept: its sentence has 399 characters, more than 280"


@pytest.mark.parametrize(
    ("rules", "wrong"),
    [(["x" * 1_001], "at most 1000 characters"), (["a rule"] * 11, "11 items are too many")],
)
async def test_too_much_is_refused(peer: Peer, rules: list[object], wrong: str) -> None:
    result = await peer.call("reflect", {"rules": rules})
    assert result["isError"]
    assert wrong in result["content"][0]["text"]
