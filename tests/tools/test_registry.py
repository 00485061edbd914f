"""The list of tools, and what no call may let through."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from toolkit import Agent

from prowess.server.app import describe
from prowess.server.cli.exits import Exit, exit_of
from prowess.storage.errors import StoreUnavailable, WriteUncertain
from prowess.tools.base import Tool
from prowess.tools.errors import ToolError
from prowess.tools.large import is_large
from prowess.tools.registry import TOOLS, call, find

pytestmark = pytest.mark.anyio

BUDGET = 6_000  # bytes of tools/list


def test_there_are_five_tools() -> None:
    names = [tool.name for tool in TOOLS]
    assert names == ["track_execution", "score_reward", "reflect", "find_skill", "evolve_skills"]


def test_the_whole_list_is_within_its_budget_of_bytes() -> None:
    listed = [describe(tool).model_dump_json(by_alias=True, exclude_none=True) for tool in TOOLS]
    assert len(f'{{"tools":[{",".join(listed)}]}}'.encode()) <= BUDGET


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_says_what_it_is_and_does(tool: Tool) -> None:
    listed = describe(tool)
    assert listed.description
    assert listed.annotations is not None
    hints = listed.annotations
    assert None not in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
    assert hints.read_only_hint == (tool.name == "find_skill")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_plain_objects(tool: Tool) -> None:
    for schema in (tool.input_schema(), tool.output_schema()):
        assert schema["type"] == "object"
        assert not {"$ref", "$defs", "title"} & _keys(schema)
        assert all("type" in field or "items" in field for field in schema["properties"].values())
    assert set(tool.input_schema()["properties"]) == set(tool.input.model_fields)
    assert set(tool.output_schema()["properties"]) == set(tool.output.model_fields)


def _keys(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set(node) | {key for value in node.values() for key in _keys(value)}
    return {key for value in node for key in _keys(value)} if isinstance(node, list) else set()


def test_an_unknown_tool_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ToolError, match="no tool 'remember'") as caught:
        find("remember")
    assert "find_skill" in caught.value.hint


async def test_a_failure_of_the_store_keeps_its_hint(agent: Agent) -> None:
    async def full(told: Any, ctx: Any) -> Any:
        raise StoreUnavailable("the disk is full", hint="free some space")

    with pytest.raises(ToolError, match="the disk is full") as caught:
        await call(replace(find("reflect"), handle=full), {}, agent.context)
    assert caught.value.hint == "free some space"


async def test_what_nobody_foresaw_is_logged_and_not_shown(agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(told: Any, ctx: Any) -> Any:
        raise KeyError("/home/someone/secret")

    with caplog.at_level(logging.ERROR), pytest.raises(ToolError, match="reference") as caught:
        await call(replace(find("reflect"), handle=broken), {}, agent.context)
    assert "someone" not in caught.value.explain()
    reference = str(caught.value).rpartition("reference ")[2].rstrip(")")
    assert reference in caplog.text
    assert "someone" in caplog.text


async def test_unknown_fields_are_named_with_the_one_that_was_meant(agent: Agent) -> None:
    answer = await agent("track_execution", task_id="t", action="look", contxt="a typo")
    assert answer.notes == ["ignored unknown field 'contxt' (did you mean 'context'?)"]
    assert answer.structured()["notes"] == answer.notes


async def test_one_key_may_serve_different_tools(agent: Agent) -> None:
    same = agent.having(key="k")
    tracked = await same("track_execution", task_id="t", action="a")
    scored = await same("score_reward", task_id="t", reward=3)
    again = await same("track_execution", task_id="t", action="a")
    assert (tracked.step, scored.reward, again.step) == (1, 3.0, 1)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("reflect", {"kinds": 0}, "kinds: input should be a valid list, got 0"),
        ("reflect", {"kinds": True}, "kinds: input should be a valid list, got True"),
        ("reflect", {"kinds": ["x"] * 1_000_000}, "kinds: 1000000 items are too many; send at most 20"),
        (
            "score_reward",
            {"task_id": "t", "reward": 1, "skills_used": ["x"] * 51},
            "skills_used: 51 items are too many; send at most 50",
        ),
    ],
)
async def test_a_list_that_makes_no_sense_is_refused_without_looking_at_each_item(
    agent: Agent, tool: str, arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await agent(tool, arguments)
    assert str(caught.value) == f"{tool}: {told}"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("reflect", {"project": "p" * 231}, "reflect: project: string should have at most 200 characters, not 231"),
        (
            "evolve_skills",
            {"mode": "create", "skills": [{"name": "n", "steps": ["bash"], "keywords": ["a", "k" * 231]}]},
            "skills[0].keywords[1]: string should have at most 100 characters, not 231",
        ),
        (
            "track_execution",
            {"task_id": "t", "steps": [{"action": "a", "tool": "k" * 231}]},
            "track_execution: steps: steps[0].tool: string should have at most 200 characters, not 231",
        ),
    ],
)
async def test_of_a_text_that_is_too_long_the_characters_are_counted(
    agent: Agent, tool: str, arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await agent(tool, arguments)
    assert str(caught.value).startswith(f"{told}, got ")


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("track_execution", {"task_id": "t", "action": "a", "args": [1]}, "args: input should be an object, got [1]"),
        ("score_reward", {"task_id": "t", "skills_used": [5]}, "skills_used[0]: input should be an object, got 5"),
        ("evolve_skills", {"settings": "fast"}, "settings: input should be an object, got 'fast'"),
        (
            "evolve_skills",
            {"mode": "create", "skills": [{"name": "n", "steps": [5]}]},
            "skills[0].steps[0]: input should be an object, got 5",
        ),
    ],
)
async def test_what_should_be_an_object_is_called_so(
    agent: Agent, tool: str, arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await agent(tool, arguments)
    assert str(caught.value).removeprefix(f"{tool}: ").startswith(told)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("track_execution", {"task_id": " ", "action": "a"}),
        ("track_execution", {"task_id": "t", "action": "other", "step": 1}),
        ("score_reward", {"task_id": "never-seen", "reward": 1}),
        ("score_reward", {"task_id": "t", "reward": 1, "step": 9}),
        ("score_reward", {"task_id": "t", "reward": 1, "skills_used": ["never-seen"]}),
        ("score_reward", {"task_id": "t", "evidence": {"tests": "maybe"}}),
        ("score_reward", {"task_id": "t", "reward": 1, "evidence": {"log": list(range(10_000))}}),
        ("evolve_skills", {"mode": "create", "patterns": ["never-seen"]}),
        ("evolve_skills", {"mode": "create", "skills": [{"name": "a/b", "steps": ["Bash"]}]}),
        ("evolve_skills", {"mode": "create", "skills": [5]}),
        ("evolve_skills", {"mode": "rollback", "skills": ["never-seen"]}),
        ("evolve_skills", {"mode": "rollback"}),
        ("evolve_skills", {"mode": "adjust", "skills": [{"description": "of none"}]}),
    ],
)
async def test_who_is_refused_is_told_that_nothing_was_stored_once(
    agent: Agent, tool: str, arguments: dict[str, Any]
) -> None:
    await agent("track_execution", task_id="t", action="a")
    head = agent.store.head
    with pytest.raises(ToolError) as caught:
        await agent(tool, arguments)
    assert caught.value.explain().lower().count("nothing was stored") == 1
    assert agent.store.head == head


async def test_who_is_refused_keeps_the_cause_of_it(agent: Agent) -> None:
    with pytest.raises(ToolError) as caught:
        await agent("evolve_skills", mode="rollback", skills=["never-seen"])
    assert exit_of(caught.value) == Exit.NOT_FOUND


async def test_what_no_store_can_tell_is_not_said_to_be_unstored(agent: Agent) -> None:
    async def uncertain(told: Any, ctx: Any) -> Any:
        raise WriteUncertain("the disk failed", hint="send it again")

    with pytest.raises(ToolError) as caught:
        await call(replace(find("reflect"), handle=uncertain), {}, agent.context)
    assert caught.value.explain() == "the disk failed\nsend it again"


async def test_fields_that_do_not_exist_are_named_up_to_five_whatever_their_number_and_length(agent: Agent) -> None:
    fields = {"actoin": "b", "k" * 1_000_000: 1, **{f"actio{number}": 1 for number in range(100_000)}}
    answer = await agent("track_execution", fields, task_id="t", action="a")
    assert len(answer.notes) == 5
    assert answer.notes[0] == "ignored unknown field 'actoin' (did you mean 'action'?)"
    assert answer.notes[1] == f"ignored unknown field '{'k' * 58}…"


@pytest.mark.parametrize(
    "arguments",
    [
        {"steps": [{"action": "a"}] * 201},
        {"observation": "x" * 50_001},
        {"args": {f"name{number}": 1 for number in range(201)}},
        {"args": {"a": {"b": {"x" * 50_001: 1}}}},
        {"args": {"a": [[["x" * 50_001]]]}},
    ],
)
def test_what_is_large_in_any_place_is_read_away_from_the_event_loop(arguments: dict[str, Any]) -> None:
    assert is_large({"task_id": "t", **arguments})
    assert not is_large({"task_id": "t", "args": {"a": {"b": ["x"] * 100}}, "observation": "x" * 50_000})
