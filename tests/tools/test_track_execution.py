"""track_execution: whatever agents send is stored as it was meant, or refused with what to send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.models import EpisodeFilter, Step
from prowess.tools.errors import ToolError

pytestmark = pytest.mark.anyio


async def _stored(agent: Agent, **fields: Any) -> Step:
    answer = await agent("track_execution", task_id="t", **fields)
    return next(step for step in await agent.store.steps(answer.episode_id) if step.number == answer.step)


async def test_a_step_is_stored_with_every_field(agent: Agent) -> None:
    step = await _stored(
        agent,
        action="run the tests",
        tool="Bash",
        args={"command": "pytest"},
        context="after the fix",
        observation="3 passed",
        error=None,
        outcome="success",
        duration_ms=12.5,
        timestamp="2026-11-29T14:50:01+01:00",
        external_id="call_1",
    )
    assert (step.action, step.tool, step.args) == ("run the tests", "Bash", {"command": "pytest"})
    assert (step.context, step.observation, step.error) == ("after the fix", "3 passed", None)
    assert (step.outcome, step.duration_ms, step.external_id) == ("success", 12.5, "call_1")
    assert step.at == "2026-11-29T13:50:01.000Z"


async def test_the_episode_knows_task_project_session_and_agent(agent: Agent) -> None:
    await agent("track_execution", task_id="t", action="look", task="fix the bug", project="shop")
    (episode,) = await agent.store.episodes(EpisodeFilter(project="shop"))
    assert (episode.task, episode.session, episode.agent, episode.attempt) == ("fix the bug", "s", "tests", 1)


@pytest.mark.parametrize(
    ("sent", "field", "expected"),
    [
        ({"duration_ms": "12"}, "duration_ms", 12.0),
        ({"args": '{"path": "a.py"}'}, "args", {"path": "a.py"}),
        ({"args": "ls -la"}, "args", {"input": "ls -la"}),
        ({"context": {"cwd": "/x"}}, "context", '{"cwd":"/x"}'),
        ({"observation": ["a", 1]}, "observation", '["a",1]'),
        ({"outcome": "Passed"}, "outcome", "success"),
        ({"outcome": "ERROR"}, "outcome", "failure"),
        ({"outcome": True}, "outcome", "success"),
        ({"step": "3"}, "number", 3),
        ({"timestamp": 1764424200}, "at", "2025-11-29T13:50:00.000Z"),
        ({"timestamp": "1764424200000"}, "at", "2025-11-29T13:50:00.000Z"),
        ({"tool": "", "error": None}, "tool", None),
        ({"args": {"n": 10**30}}, "args", {"n": str(10**30)}),
        ({"args": {"n": float("nan")}}, "args", {"n": "nan"}),
    ],
)
async def test_what_models_really_send_is_understood(
    agent: Agent, sent: dict[str, Any], field: str, expected: Any
) -> None:
    step = await _stored(agent, action="act", **sent)
    assert getattr(step, field) == expected


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, "action is missing"),
        ({"action": "a", "steps": [{"action": "b"}]}, "either one step"),
        ({"tool": "Bash", "steps": [{"action": "b"}]}, "either one step"),
        ({"action": "a", "duration_ms": "fast"}, "duration_ms"),
        ({"action": "a", "duration_ms": -1}, "duration_ms"),
        ({"action": "a", "outcome": "maybe"}, "outcome"),
        ({"action": "a", "timestamp": "2026-11-29T13:50:01"}, "has no zone"),
        ({"action": "a", "timestamp": "yesterday"}, "is not a time; send ISO 8601"),
        ({"action": "a", "timestamp": "inf"}, "is not a time"),
        ({"action": "a", "step": 0}, "step"),
        ({"action": "a", "step": 1.5}, "step"),
        ({"action": "a", "step": "²"}, "step: input should be a valid integer"),
        ({"action": "a", "step": "9" * 5_000}, "step: "),
        ({"steps": [None]}, "steps[0] is no object"),
        ({"action": "a", "args": [1]}, "args"),
        ({"steps": "run"}, "steps"),
        ({"steps": [{"action": "a"}, {"tool": ""}]}, "steps[1].action is missing"),
        ({"steps": [{"action": "a"}, {"action": "b", "timestamp": "2026-01-01"}]}, "steps[1].timestamp"),
        ({"steps": [7]}, "steps[0]"),
    ],
)
async def test_what_cannot_be_understood_is_refused_by_name(agent: Agent, sent: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError) as caught:
        await agent("track_execution", task_id="t", **sent)
    assert told in str(caught.value)
    assert caught.value.hint == "Nothing was stored."
    assert await agent.store.episodes() == ()


async def test_a_missing_task_id_is_named_beside_the_field_that_was_meant(agent: Agent) -> None:
    with pytest.raises(ToolError, match=r"task_id is missing.*did you mean 'task_id'"):
        await agent("track_execution", taskid="t", action="a")


async def test_a_batch_keeps_its_order_and_takes_plain_texts(agent: Agent) -> None:
    steps = json.dumps(["look", {"tool": "Bash", "args": {"command": "ls"}}, '{"action": "think"}'])
    answer = await agent("track_execution", task_id="t", steps=steps)
    assert (answer.step, answer.stored, answer.duplicates, answer.outcome) == (3, 3, 0, None)
    assert [step.action for step in await agent.store.steps(answer.episode_id)] == ["look", "Bash: ls", "think"]


async def test_ten_thousand_steps_are_one_call_and_one_more_is_refused(agent: Agent) -> None:
    answer = await agent("track_execution", task_id="t", steps=[{"action": f"a{n}"} for n in range(10_000)])
    assert (answer.step, answer.stored) == (10_000, 10_000)
    with pytest.raises(ToolError, match="10001 steps are too many for one call; send at most 10000"):
        await agent("track_execution", task_id="t", steps=["a"] * 10_001)


async def test_a_step_told_twice_is_stored_once(agent: Agent) -> None:
    first = await agent("track_execution", task_id="t", action="a", external_id="call_1")
    again = await agent("track_execution", task_id="t", action="a", external_id="call_1")
    assert (first.step, first.stored, again.step, again.stored, again.duplicates) == (1, 1, 1, 0, 1)


async def test_a_call_repeated_with_its_key_gets_the_first_answer(agent: Agent) -> None:
    same = agent.having(key="k1")
    answers = [await same("track_execution", task_id="t", action="a") for _ in range(2)]
    assert answers[0].structured() == answers[1].structured()
    assert len(await agent.store.steps(answers[0].episode_id)) == 1


async def test_steps_may_arrive_out_of_order(agent: Agent) -> None:
    for number in (3, 1, 2):
        answer = await agent("track_execution", task_id="t", action=f"a{number}", step=number)
    assert [step.action for step in await agent.store.steps(answer.episode_id)] == ["a1", "a2", "a3"]


async def test_a_number_that_holds_another_step_is_a_conflict(agent: Agent) -> None:
    await agent("track_execution", task_id="t", action="a", step=1)
    with pytest.raises(ToolError, match="1"):
        await agent("track_execution", task_id="t", action="b", step=1)


async def test_ten_megabytes_are_cut_to_beginning_and_end_and_the_answer_says_so(agent: Agent) -> None:
    text = "begin " + "x" * 10_000_000 + " end"
    answer = await agent("track_execution", task_id="t", action="a", observation=text)
    (step,) = await agent.store.steps(answer.episode_id)
    assert step.observation is not None
    assert step.observation.startswith("begin xxx")
    assert step.observation.endswith("xxx end")
    assert "9000010 of 10000010 characters left out" in step.observation
    assert answer.notes == ["observation of 10000010 characters was cut to 1000000: beginning and end were kept"]


async def test_what_was_cut_of_many_steps_is_told_with_its_place(agent: Agent) -> None:
    steps = [{"action": "a"}, *({"action": "b" * 4_001} for _ in range(6))]
    answer = await agent("track_execution", task_id="t", steps=steps, task="t" * 64_001, reason="why")
    told = "of 4001 characters was cut to 4000: beginning and end were kept"
    assert answer.notes == [
        "ignored unknown field 'reason'",
        *(f"steps[{place}].action {told}" for place in range(1, 6)),
        "2 more texts were cut",
    ]
    answer = await agent("track_execution", task_id="u", action="a", task="t" * 64_001)
    assert answer.notes == ["task of 64001 characters was cut to 64000: beginning and end were kept"]


async def test_one_step_is_a_batch_as_well(agent: Agent) -> None:
    answer = await agent("track_execution", task_id="t", steps={"action": "a"})
    assert (answer.stored, answer.step) == (1, 1)


async def test_huge_arguments_are_cut_value_by_value(agent: Agent) -> None:
    step = await _stored(agent, action="a", args={"path": "a.py", "content": "x" * 100_000})
    assert step.args is not None
    assert step.args["path"] == "a.py"
    assert len(step.args["content"]) < 5_000
    many = await _stored(agent, action="b", args={str(n): "x" * 1_000 for n in range(1_000)})
    assert list(many.args or {}) == ["input"]


async def test_nul_and_lone_surrogates_become_replacement_characters(agent: Agent) -> None:
    step = await _stored(agent, action="a\x00b", observation="\ud800", args={"k\udfff": ["\x00"]})
    assert (step.action, step.observation, step.args) == ("a\ufffdb", "\ufffd", {"k\ufffd": ["\ufffd"]})


async def test_nesting_beyond_reason_is_refused(agent: Agent) -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ToolError, match="nested deeper than 64"):
        await agent("track_execution", task_id="t", action="a", args={"deep": deep})


async def test_an_outcome_that_was_not_told_is_inferred(agent: Agent) -> None:
    failed = await agent("track_execution", task_id="t", tool="Bash", error="Error: no such file")
    unknown = await agent("track_execution", task_id="t", action="think")
    told = await agent("track_execution", task_id="t", action="a", error="ignored", outcome="success")
    assert (failed.outcome, unknown.outcome, told.outcome) == ("failure", "unknown", "success")


async def test_a_secret_is_masked_before_it_is_stored(agent: Agent) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    step = await _stored(
        agent, action="call", args={"header": f"token {secret[:40]}"}, observation=f"used {secret[:40]}"
    )
    assert secret[:40] not in f"{step}"


@pytest.mark.parametrize(
    "called", [{"action": "look", "args": {"command": "pass show till"}}, {"action": "pass show till"}]
)
async def test_a_secret_that_a_command_prints_is_not_stored_but_its_error_is(
    agent: Agent, called: dict[str, Any]
) -> None:
    step = await _stored(agent, **called, observation="hunter2x9")
    assert (step.observation, step.outcome) == ("[masked:printed-secret]", "unknown")
    step = await _stored(agent, **called, observation="Error: till is not in the password store.", outcome="failure")
    assert step.observation == "Error: till is not in the password store."


async def test_what_stands_under_the_name_of_a_secret_is_not_stored(agent: Agent) -> None:
    secret = "correct-" + "horse7"
    step = await _stored(agent, action="log in", tool="login", args={"user": "bob", "options": {"password": secret}})
    assert step.args == {"user": "bob", "options": {"password": "[masked:secret-field]"}}


async def test_what_does_not_exist_in_a_step_of_a_batch_is_named_once(agent: Agent) -> None:
    steps = [{"tool": "a"}, {"tool": "b", "observatoin": "x"}, {"tool": "c", "observatoin": "y"}]
    answer = await agent("track_execution", task_id="t", steps=steps)
    assert answer.notes == ["ignored unknown field 'observatoin' (did you mean 'observation'?) in steps[1]"]


async def test_what_is_told_of_one_step_beside_a_list_of_them_is_named(agent: Agent) -> None:
    answer = await agent("track_execution", task_id="t", steps=[{"tool": "a"}], outcome="failure", error="boom")
    assert answer.notes == ["ignored error, outcome: with steps, send them inside each step"]
    (step,) = (await agent.store.trajectories([answer.episode_id]))[0].steps
    assert (step.outcome, step.error) == ("unknown", None)
