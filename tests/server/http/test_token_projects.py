"""A token that belongs to a project reaches no other one, by whatever name or id it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from httpkit import bearer, call_tool, message_of, opened, post, served

from prowess.server.http.tokens import Tokens
from prowess.server.hub.hub import Hub
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Skill, SkillStep, SkillVersion
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

PERSON = Origin(client="tests", session="s", actor="person")
NAMED: dict[str, dict[str, Any]] = {
    "track_execution": {"task_id": "t", "action": "look"},
    "score_reward": {"task_id": "theirs", "reward": 5},
    "find_skill": {"query": "cancel an order"},
    "reflect": {},
    "evolve_skills": {"mode": "create"},
}


def skill(key: str, project: str) -> Skill:
    steps = (SkillStep(tool="cancel", args_template={"order": key}),)
    return Skill(
        id=key, name=f"cancel-{key}", description="Cancel an order.", steps=steps, project=project, author="agent"
    )


async def saved(hub: Hub, *skills: Skill) -> Store:
    store = (await hub.opening.opened()).store
    await store.append([SkillSaved(skill=each, change="create") for each in skills], origin=PERSON)
    return store


def text_of(told: dict[str, Any]) -> str:
    return str(told["content"][0]["text"])


@pytest.mark.parametrize("tool", NAMED)
async def test_no_tool_takes_another_project(hub: Hub, home: Path, tool: str) -> None:
    everywhere, shop = Tokens(home).create("all"), Tokens(home).create("ci", project="shop")
    async with served(hub) as port:
        free, bound = await opened(port, bearer(everywhere)), await opened(port, bearer(shop))
        await call_tool(port, free, "track_execution", task_id="theirs", action="look", project="bank")
        store = (await hub.opening.opened()).store
        before = await store.stats()
        told = await call_tool(port, bound, tool, **NAMED[tool], project="bank")
        assert told["isError"]
        assert "your token is for project 'shop' alone" in text_of(told)
        assert "leave project out" in text_of(told)
        after = await store.stats()
        assert (after.episodes, after.steps, after.scored) == (before.episodes, before.steps, before.scored)
        # Its own may be named or left out; who belongs to no project names any.
        for chosen in ({"project": "shop"}, {}):
            assert "alone" not in text_of(await call_tool(port, bound, tool, **NAMED[tool], **chosen))
        assert not (await call_tool(port, free, tool, **NAMED[tool], project="bank")).get("isError")


async def test_a_task_of_another_project_is_not_found_by_its_id(hub: Hub, home: Path) -> None:
    everywhere, shop = Tokens(home).create("all"), Tokens(home).create("ci", project="shop")
    async with served(hub) as port:
        free, bound = await opened(port, bearer(everywhere)), await opened(port, bearer(shop))
        await call_tool(port, free, "track_execution", task_id="theirs", action="look", project="bank")
        told = await call_tool(port, bound, "score_reward", task_id="theirs", reward=5)
        assert told["isError"]
        assert "bank" not in text_of(told)


async def test_a_skill_of_another_project_is_not_used_by_its_id(hub: Hub, home: Path) -> None:
    secret = Tokens(home).create("ci", project="shop")
    store = await saved(hub, skill("mine", "shop"), skill("theirs", "bank"), skill("everybodys", ""))
    async with served(hub) as port:
        bound = await opened(port, bearer(secret))
        await call_tool(port, bound, "track_execution", task_id="t", action="look")
        for wanted in ("theirs", "cancel-theirs", "cancel-their"):
            told = await call_tool(port, bound, "score_reward", task_id="t", reward=5, skills_used=[wanted])
            assert told["isError"]
            assert f"no skill has the id or name '{wanted}'" in text_of(told)
            assert "did you mean" not in text_of(told)  # which would name those of others
        for wanted in ("mine", "cancel-everybodys"):
            told = await call_tool(port, bound, "score_reward", task_id="t", reward=5, skills_used=[wanted])
            assert told["structuredContent"]["skills"][0]["use_count"] == 1
    assert await store.uses("theirs") == ()


@pytest.mark.parametrize(
    "asked",
    [
        {"mode": "rollback", "skills": ["everybodys"]},
        {"mode": "adjust", "skills": [{"skill": "everybodys", "description": "Do as I say."}]},
    ],
)
async def test_what_belongs_to_all_projects_is_not_changed_from_one(
    hub: Hub, home: Path, asked: dict[str, Any]
) -> None:
    secret = Tokens(home).create("ci", project="shop")
    store = await saved(hub, skill("everybodys", ""))
    changed = Skill(**{**_fields(skill("everybodys", "")), "description": "Cancel one.", "version": 2})
    await saved(hub, changed)
    before: tuple[SkillVersion, ...] = await store.versions("everybodys")
    async with served(hub) as port:
        bound = await opened(port, bearer(secret))
        told = await call_tool(port, bound, "evolve_skills", **asked)
        assert told["structuredContent"]["total"] == 0
        assert "left out 1 change to what belongs to all projects" in text_of(told)
    assert await store.versions("everybodys") == before


def _fields(known: Skill) -> dict[str, Any]:
    return {name: getattr(known, name) for name in known.__struct_fields__}


async def test_a_key_of_one_token_is_none_of_another(hub: Hub, home: Path) -> None:
    shop, bank = Tokens(home).create("a", project="shop"), Tokens(home).create("b", project="bank")
    call = {"name": "track_execution", "arguments": {"task_id": "t", "action": "look"}}
    call["_meta"] = {"prowess/idempotency-key": "1"}
    async with served(hub) as port:
        episodes = []
        for secret in (shop, bank, shop):
            session = await opened(port, bearer(secret))
            message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
            episodes.append(message_of(await post(port, message, session))["result"]["structuredContent"])
    assert episodes[0] == episodes[2] != episodes[1]
    store = (await hub.opening.opened()).store
    assert sorted(episode.project for episode in await store.episodes()) == ["bank", "shop"]


async def test_without_a_session_a_task_stays_with_who_named_its_project(hub: Hub) -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    stateless = {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "track_execution"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
    async with served(hub) as port:
        for more in ({"project": "shop"}, {}):
            params = {"name": "track_execution", "arguments": {"task_id": "t", "action": "look", **more}, "_meta": meta}
            told = message_of(await post(port, {**call, "params": params}, stateless))
            assert told["result"]["structuredContent"]["step"] == 1, told
    store = (await hub.opening.opened()).store
    assert sorted(episode.project for episode in await store.episodes()) == ["", "shop"]


async def test_how_much_is_stored_is_told_of_its_own_project_alone(hub: Hub, home: Path) -> None:
    everywhere, shop = Tokens(home).create("all"), Tokens(home).create("ci", project="shop")
    await saved(hub, skill("mine", "shop"), skill("theirs", "bank"), skill("everybodys", ""))
    async with served(hub) as port:
        free, bound = await opened(port, bearer(everywhere)), await opened(port, bearer(shop))
        for project, used, reward in (("shop", "mine", 5), ("bank", "theirs", -5), ("bank", "theirs", 5)):
            named = {"task_id": f"t{reward}", "project": project}
            await call_tool(port, free, "track_execution", **named, action="look")
            await call_tool(port, free, "score_reward", **named, reward=reward, skills_used=[used], final=True)
        told = await call_tool(port, bound, "evolve_skills", mode="status")
        status = told["structuredContent"]["status"]
        counts = {name: status.get(name) for name in ("skills", "episodes", "scored", "outcomes", "uses", "spent_usd")}
        assert counts == {
            "skills": {"draft": 1},
            "episodes": 1,
            "scored": 1,
            "outcomes": {"success": 1},
            "uses": 1,
            "spent_usd": None,
        }
        whole = (await call_tool(port, free, "evolve_skills", mode="status"))["structuredContent"]["status"]
        assert (whole["episodes"], whole["outcomes"], whole["uses"]) == (3, {"failure": 1, "success": 2}, 3)
