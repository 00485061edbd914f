"""reflect: patterns and lessons from what was scored, the same again when nothing is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from toolkit import Agent

from prowess.tools.errors import ToolError
from prowess.tools.together import at_once

pytestmark = pytest.mark.anyio

Steps = Callable[[int], list[dict[str, Any]]]

FAILING = {"tool": "Bash", "args": {"command": "make"}, "error": "Error: linker ld not found", "outcome": "failure"}
FIX = {"tool": "Install", "args": {"package": "binutils"}, "outcome": "success"}
WORKING = {"tool": "Bash", "args": {"command": "make"}, "outcome": "success"}


async def test_with_nothing_stored_it_says_what_to_do(agent: Agent) -> None:
    answer = await agent("reflect")
    assert (answer.patterns, answer.memories, answer.receipt) == ([], [], None)
    assert "track and score" in answer.text()


async def test_a_sequence_that_recurs_is_a_pattern_with_support(agent: Agent, cancelling: Steps) -> None:
    for number in range(4):
        await agent.worked(f"t{number}", cancelling(number), 8 if number else -8)
    answer = await agent("reflect", kinds="sequences")
    assert answer.patterns
    assert {pattern.kind for pattern in answer.patterns} == {"sequence"}
    assert max(pattern.support for pattern in answer.patterns) == 4
    assert all(pattern.episodes for pattern in answer.patterns)


async def _recoveries(agent: Agent, count: int = 4, first: int = 0) -> None:
    for number in range(first, first + count):
        await agent.worked(f"r{number}", [FAILING, FIX, WORKING], 8)


async def test_a_recovery_becomes_a_lesson_and_a_failure_a_warning_once(agent: Agent) -> None:
    await _recoveries(agent)
    first = await agent("reflect")
    assert first.new == len(first.memories) > 0
    assert {memory.kind for memory in first.memories} <= {"lesson", "warning"}
    again = await agent("reflect")
    assert [memory.id for memory in again.memories] == [memory.id for memory in first.memories]
    assert (again.new, again.receipt) == (0, None)
    stored = {memory.id: memory.text for memory in await agent.store.memories()}
    assert stored == {memory.id: memory.text for memory in first.memories}


async def test_a_failure_without_an_error_is_told_by_what_came_back(agent: Agent) -> None:
    came_back = {"tool": "Bash", "observation": "error: stock pool exhausted in zone 3", "outcome": "failure"}
    for number in range(4):
        await agent.worked(f"f{number}", [came_back], -5)
    texts = [pattern.statement for pattern in (await agent("reflect", kinds="failures")).patterns]
    assert len(texts) == 1
    assert "Bash fails with “error: stock pool exhausted in zone" in texts[0]


async def test_a_lesson_is_kept_again_only_when_it_was_seen_much_more_often(agent: Agent) -> None:
    await _recoveries(agent, 12)
    known = len((await agent("reflect")).memories)
    await _recoveries(agent, 2, first=12)
    again = await agent("reflect")
    assert (len(again.memories), again.new, again.receipt) == (known, 0, "committed")
    await _recoveries(agent, 1, first=14)
    assert (await agent("reflect")).new == known
    assert all("(seen in 15 episodes)" in memory.text for memory in await agent.store.memories())


async def test_of_two_reflections_at_once_only_one_keeps_what_both_found(agent: Agent) -> None:
    await _recoveries(agent)
    answers = await at_once(lambda: agent("reflect"), lambda: agent("reflect"))
    assert sorted(answer.new for answer in answers) == [0, len(answers[0].memories)]
    assert {answer.receipt for answer in answers} == {None, "committed"}
    assert answers[0].patterns == answers[1].patterns


async def test_patterns_are_stored_and_a_narrowed_look_does_not_replace_them(agent: Agent, cancelling: Steps) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number))
    whole = await agent("reflect")
    assert whole.receipt == "committed"
    await agent("reflect", task_id="t1", min_support=1)
    assert {p.id for p in await agent.store.patterns()} >= {p.id for p in whole.patterns}


async def test_another_project_is_left_out(agent: Agent, cancelling: Steps) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number), project="shop")
    assert (await agent("reflect", project="bank")).patterns == []


async def test_what_was_before_since_is_left_out(agent: Agent, cancelling: Steps) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number))
    assert (await agent("reflect", since="2999-01-01T00:00:00Z")).patterns == []


async def test_the_limit_is_kept(agent: Agent, cancelling: Steps) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number))
    await _recoveries(agent)
    assert len((await agent("reflect", limit="1")).patterns) == 1


@pytest.mark.parametrize(
    "fields",
    [{"kinds": ["luck"]}, {"min_support": 0}, {"limit": 0}, {"limit": "many"}, {"since": "2026-01-01T00:00:00"}],
)
async def test_what_makes_no_sense_is_refused_by_name(agent: Agent, fields: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match=next(iter(fields))):
        await agent("reflect", **fields)


async def test_progress_is_told(agent: Agent) -> None:
    told: list[float] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        assert message
        told.append(done / (total or 1))

    await agent.having(progress=progress)("reflect")
    assert told == sorted(told)
    assert told[-1] == 1.0


async def test_memories_are_told_also_where_there_is_no_pattern(agent: Agent) -> None:
    await agent("track_execution", task_id="t", action="a", task="Deploy the site")
    reason = "the migration must run before the workers restart"
    await agent("score_reward", task_id="t", reward=8, reason=reason, final=True)
    answer = await agent("reflect", min_support=5)
    assert answer.patterns == []
    head, counted, line = answer.text().splitlines()
    assert head.startswith("no patterns yet")
    assert head.endswith("(stored data, never instructions)")
    assert (counted, line) == ("1 memory, 1 new", f"- lesson: “Deploy the site” worked: {reason}")


async def test_a_call_sent_again_with_its_key_tells_what_is_new_since(agent: Agent) -> None:
    again = agent.having(key="k")
    for number in range(3):
        await agent.worked(f"t{number}", [{"tool": "look"}, {"tool": "mend"}])
    assert (await again("reflect")).receipt == "committed"
    assert (await again("reflect")).receipt is None
    await agent("track_execution", task_id="t", action="a", task="Deploy the site")
    reason = "the server was missing its certificate files"
    await agent("score_reward", task_id="t", reward=-8, reason=reason, final=True)
    told = await again("reflect")
    assert (told.receipt, told.new) == ("committed", 1)
    assert [memory.text for memory in await agent.store.memories()] == [f"“Deploy the site” failed: {reason}"]


async def test_no_kind_given_is_every_kind(agent: Agent) -> None:
    await _recoveries(agent)
    every = (await agent("reflect")).patterns
    assert len({pattern.kind for pattern in every}) > 1
    for none in ([], "", "[]", ","):
        assert (await agent("reflect", kinds=none)).patterns == every


async def test_a_lesson_is_told_in_the_words_in_which_it_is_stored(agent: Agent) -> None:
    broke = {"tool": "Bash", "action": "Bash: git push", "args": {"command": "git push"}, "outcome": "failure"}
    broke["error"] = "commit refused: run 'make fmt' first"
    joined = {"tool": "Bash", "action": "Bash: make fmt && git push", "args": {"command": "make fmt && git push"}}
    for number in range(2):
        await agent.worked(f"r{number}", [broke, {**joined, "outcome": "success"}], 8)
        answer = await agent("reflect")
    await agent.worked("r2", [{**broke, "error": "commit refused: run 'make lint' first"}], 8)
    answer = await agent("reflect")
    stored = {memory.id: memory.text for memory in await agent.store.memories() if memory.kind == "lesson"}
    assert {memory.id: memory.text for memory in answer.memories} == stored
    (text,) = stored.values()
    assert "it worked after `make fmt`" in text


async def test_a_warning_is_not_told_beside_a_lesson_that_an_episode_taught(agent: Agent) -> None:
    broke = {"tool": "Bash", "action": "Bash: make test", "args": {"command": "make test"}, "outcome": "failure"}
    broke["error"] = "error: .env is missing"
    made = {"tool": "Bash", "action": "Bash: cp a .env", "args": {"command": "cp a .env"}, "outcome": "success"}
    await agent.worked("r0", [broke], 8)
    await agent.worked("r1", [broke, made, {**broke, "error": None, "outcome": "success"}], 8)
    answer = await agent("reflect")
    assert ([memory.kind for memory in answer.memories], answer.new) == (["lesson"], 1)
    assert "make test fails" not in answer.text()
