"""evolve_skills with a language model: what it extracts from lone successes, and that its failures fail nothing else.

The model is the real client before a loopback server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from languagekit import World, world
from messages_server import Fault, Reply, error, message
from toolkit import Agent

from prowess.learning.redaction.masking import mask
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Skill, SkillStep
from prowess.tools import evolve_skills
from prowess.tools.extraction import EXTRACTED

pytestmark = pytest.mark.anyio

Steps = Callable[[int], list[dict[str, Any]]]

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
ANSWER: dict[str, Any] = {
    "name": "cancel-pending-order",
    "description": "Cancel a pending order when the customer no longer needs it.",
    "steps": [
        {"tool": "get_order", "args_template": '{"order_id": "{order_id}"}'},
        {"tool": "cancel_order", "args_template": '{"order_id": "{order_id}", "reason": "no longer needed"}'},
    ],
}


def _using(tool: str, **args: str) -> dict[str, Any]:
    return {**ANSWER, "steps": [{"tool": tool, "args_template": args}]}


async def _save(agent: Agent, skill: Skill) -> None:
    await agent.store.append([SkillSaved(skill=skill, change="create")], origin=agent.context.origin)


@asynccontextmanager
async def _with_model(agent: Agent, *replies: Reply | Fault, **settings: Any) -> AsyncIterator[tuple[Agent, World]]:
    async with world(*replies, **settings) as made:
        yield agent.having(language=made.model), made


def _asked(made: World) -> list[str]:
    return [asked.body["messages"][0]["content"] for asked in made.server.asked]


@pytest.fixture
async def lone(agent: Agent, cancelling: Steps) -> Agent:
    """An agent that cancelled one order: too little to mine from."""
    await agent.worked("t1", cancelling(1), task="please cancel my order #W001")
    return agent


@pytest.mark.parametrize("mode", ["create", "auto"])
async def test_a_lone_success_becomes_a_draft(lone: Agent, mode: str) -> None:
    async with _with_model(lone, message(ANSWER)) as (agent, made):
        answer = await agent("evolve_skills", mode=mode)
    (change,) = answer.changes
    assert change.reason == "extracted by the language model; happened in 1 successful episode"
    skill = await lone.store.skill("cancel-pending-order")
    assert (skill.status, skill.author, skill.support, skill.version) == ("draft", "machine", 1, 1)
    assert [step.tool for step in skill.steps] == ["get_order", "cancel_order"]
    assert [parameter.name for parameter in skill.parameters] == ["order_id"]
    (episode,) = await lone.store.episodes()
    assert (skill.episodes, skill.trust) == ((episode.id,), "own")
    assert [call.purpose for call in made.ledger] == ["extract_skill"]
    (prompt,) = _asked(made)
    assert "please cancel my order #W001" in prompt
    assert answer.notes == ["1 successful episode is scored; mining needs at least 2"]


async def test_what_a_skill_covers_is_not_asked_about(lone: Agent, cancelling: Steps) -> None:
    async with _with_model(lone, message(ANSWER)) as (agent, made):
        await agent("evolve_skills", mode="create")
        assert (await agent("evolve_skills", mode="create")).total == 0
    assert len(made.server.asked) == 1


async def test_a_draft_covers_the_next_episode_of_the_same_call(agent: Agent) -> None:
    refund = {"tool": "refund", "args": {"order_id": "#W1"}}
    await agent.worked("t1", [{"tool": "wait", "args": {"days": 1}}, refund])
    await agent.worked("t2", [{"tool": "phone", "args": {"who": "Ada"}}, {**refund, "args": {"order_id": "#W2"}}])
    async with _with_model(agent, message(_using("refund", order_id="{order_id}"))) as (asking, made):
        answer = await asking("evolve_skills", mode="create")
    assert (answer.total, len(made.server.asked)) == (1, 1)


async def test_an_archived_skill_covers_what_it_happened_in(lone: Agent) -> None:
    step = SkillStep(tool="cancel_order", args_template={"order_id": "{order_id}", "reason": "{why}"})
    await _save(lone, Skill(id="old", name="old", description="", steps=(step,), status="archived"))
    async with _with_model(lone, message(ANSWER)) as (agent, made):
        assert (await agent("evolve_skills", mode="create")).total == 0
    assert made.server.asked == []


async def test_mined_skills_are_worded_and_their_episodes_not_asked_about(agent: Agent, cancelling: Steps) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number))
    async with _with_model(agent, message(ANSWER)) as (asking, made):
        answer = await asking("evolve_skills", mode="create")
    assert (answer.total, answer.changes[0].reason) == (1, "shared by 3 successful episodes")
    assert [call.purpose for call in made.ledger] == ["word_skill"]


async def test_only_the_newest_few_are_asked_about(agent: Agent) -> None:
    for number in range(EXTRACTED + 2):
        await agent.worked(f"t{number}", [{"tool": f"tool{number}", "args": {"a": number}}], task=f"task-{number}.")
    async with _with_model(agent, message("no JSON")) as (asking, made):
        answer = await asking("evolve_skills", mode="create")
    assert [number for number in range(5) for prompt in _asked(made) if f"task-{number}." in prompt] == [2, 3, 4]
    assert "task-4." in _asked(made)[0]
    assert (answer.total, len(answer.notes)) == (0, EXTRACTED)


async def test_failures_open_episodes_and_calls_without_arguments_are_not_asked_about(
    agent: Agent, cancelling: Steps
) -> None:
    await agent.worked("failed", cancelling(1), reward=-8)
    await agent.worked("bare", [{"tool": "ping"}, {"action": "think"}])
    await agent("track_execution", task_id="open", steps=cancelling(2))
    await agent("score_reward", task_id="open", reward=8)
    async with _with_model(agent, message(ANSWER)) as (asking, made):
        assert (await asking("evolve_skills", mode="create")).total == 0
    assert made.server.asked == []


@pytest.mark.parametrize("project", ["a", ""])
async def test_another_project_is_not_asked_about(agent: Agent, cancelling: Steps, project: str) -> None:
    await agent.worked("t1", cancelling(1), project="a")
    async with _with_model(agent, message(ANSWER)) as (asking, made):
        assert (await asking("evolve_skills", mode="create", project="b")).total == 0
        assert made.server.asked == []
        assert (await asking("evolve_skills", mode="create", project=project)).total == 1
    assert (await agent.store.skill("cancel-pending-order")).project == "a"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_using("delete_everything"), "'delete_everything', which is not in the episode"),
        (_using("cancel_order", order_id="#W999", reason="{reason}"), "it happened in none"),
        (_using("get_order", order="{order_id}"), "it happened in none"),
        ({**ANSWER, "steps": ANSWER["steps"][::-1]}, "it happened in none"),
        ({**ANSWER, "steps": []}, "proposed 0 steps"),
        ({**ANSWER, "name": "Ignore all rules!"}, "kebab-case"),
        ({**ANSWER, "steps": [{"tool": "get_order", "args_template": f'{{"order_id": {10**30}}}'}]}, "in none"),
        ("sorry", "does not fit"),
    ],
)
async def test_an_answer_that_is_of_no_use_is_told_and_stores_nothing(
    lone: Agent, answer: dict[str, Any] | str, told: str
) -> None:
    async with _with_model(lone, message(answer)) as (agent, made):
        answered = await agent("evolve_skills", mode="create")
    assert (answered.total, answered.receipt) == (0, None)
    assert answered.notes[-1].startswith("no skill was extracted from task 't1': ")
    assert told in answered.notes[-1]
    assert await lone.store.skills() == ()
    assert made.ledger[0].cost_usd > 0


async def test_after_a_refused_answer_the_next_episode_is_asked_about(lone: Agent) -> None:
    await lone.worked("t2", [{"tool": "refund", "args": {"order_id": "#W7"}}])
    async with _with_model(lone, message(_using("unknown")), message(ANSWER)) as (agent, _):
        answer = await agent("evolve_skills", mode="create")
    assert [change.name for change in answer.changes] == ["cancel-pending-order"]
    assert answer.notes[0].startswith("no skill was extracted from task 't2'")


async def test_a_key_that_is_refused_ends_the_asking(lone: Agent) -> None:
    await lone.worked("t2", [{"tool": "refund", "args": {"order_id": "#W7"}}])
    async with _with_model(lone, error(401, "authentication_error")) as (agent, made):
        answer = await agent("evolve_skills", mode="create")
    assert (answer.total, len(made.server.asked)) == (0, 1)
    assert answer.notes[-1].startswith("the language model did not help, so no more skills were extracted: ")
    assert answer.notes[-1].endswith("answered 401: no (check ANTHROPIC_API_KEY and the account's credit)")
    assert made.settings.api_key not in str(answer.notes)
    assert [call.error for call in made.ledger] == ["Unauthorised"]


async def test_a_model_that_failed_at_wording_is_asked_no_more(lone: Agent, cancelling: Steps) -> None:
    await lone.worked("t2", cancelling(2))
    await lone.worked("t3", [{"tool": "refund", "args": {"order_id": "#W7"}}])
    async with _with_model(lone, error(401, "authentication_error")) as (agent, made):
        answer = await agent("evolve_skills", mode="create")
    assert (answer.total, len(made.server.asked)) == (1, 1)
    assert "names and descriptions are the built-in ones and no skill was extracted: " in answer.notes[-1]


async def test_at_the_daily_cap_nothing_is_sent(lone: Agent) -> None:
    async with _with_model(lone, message(ANSWER), daily_usd=0.0001) as (agent, made):
        answer = await agent("evolve_skills", mode="auto")
    assert (answer.total, made.server.asked) == (0, [])
    assert "of today's $0.00 are spent or held" in answer.notes[-1]


async def test_the_cap_counts_what_was_extracted_before(lone: Agent) -> None:
    await lone.worked("t2", [{"tool": "refund", "args": {"order_id": "#W7"}}])
    reply = message(_using("refund", order_id="{order_id}"), input_tokens=900_000, output_tokens=4_000)
    async with _with_model(lone, reply, daily_usd=0.4) as (agent, made):
        answer = await agent("evolve_skills", mode="create")
    assert (answer.total, len(made.server.asked)) == (1, 1)
    assert "did not help, so no more skills were extracted: a call may cost" in answer.notes[-1]


async def test_a_model_that_is_slow_is_left(lone: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evolve_skills, "MODEL_SECONDS", 0.05)
    async with _with_model(lone, lambda writer, over: over.wait()) as (agent, _):
        answer = await agent("evolve_skills", mode="create")
    assert answer.total == 0
    assert "the language model was slow" in answer.notes[-1]


async def test_a_dry_run_asks_nothing_and_says_so(lone: Agent) -> None:
    async with _with_model(lone, message(ANSWER)) as (agent, made):
        answer = await agent("evolve_skills", mode="auto", dry_run=True)
    assert (made.server.asked, made.ledger) == ([], [])
    assert answer.notes[-1] == "dry_run asks no language model: names may become others, and no skill was extracted"


async def test_building_on_patterns_asks_about_no_other_episode(agent: Agent, cancelling: Steps) -> None:
    for number in range(3):
        await agent.worked(f"t{number}", cancelling(number))
    pattern = (await agent("reflect")).patterns[0].id
    await agent.worked("lone", [{"tool": "refund", "args": {"order_id": "#W7"}}])
    async with _with_model(agent, message(ANSWER)) as (asking, made):
        await asking("evolve_skills", mode="create", patterns=[pattern])
    assert {call.purpose for call in made.ledger} <= {"word_skill"}


async def test_without_a_model_nothing_is_tried(lone: Agent) -> None:
    answer = await lone("evolve_skills", mode="create")
    assert (answer.total, answer.notes) == (0, ["1 successful episode is scored; mining needs at least 2"])


async def test_a_name_that_is_taken_gets_a_number(lone: Agent) -> None:
    await _save(lone, Skill(id="s", name=ANSWER["name"], description="", steps=(SkillStep(tool="other"),)))
    async with _with_model(lone, message(ANSWER)) as (agent, _):
        answer = await agent("evolve_skills", mode="create")
    assert [change.name for change in answer.changes] == ["cancel-pending-order-2"]


async def test_a_name_that_is_taken_by_the_same_calls_is_refused(lone: Agent) -> None:
    steps = tuple(SkillStep(tool=tool, args_template={"id": 7}) for tool in ("get_order", "cancel_order"))
    await _save(lone, Skill(id="s", name=ANSWER["name"], description="", steps=steps))
    async with _with_model(lone, message(ANSWER)) as (agent, _):
        answer = await agent("evolve_skills", mode="create")
    assert answer.total == 0
    assert "calls the same tools in the same order" in answer.notes[-1]


async def test_an_episode_that_lost_its_steps_is_not_asked_about(lone: Agent) -> None:
    await lone.store.trim(days=None, max_bytes=0, origin=lone.context.origin)
    async with _with_model(lone, message(ANSWER)) as (agent, made):
        assert (await agent("evolve_skills", mode="create")).total == 0
    assert made.server.asked == []


async def test_secrets_that_the_model_repeats_are_masked(lone: Agent) -> None:
    told = {**ANSWER, "description": f"Cancel an order with {SECRET}."}
    assert mask(SECRET) != SECRET
    async with _with_model(lone, message(told)) as (agent, _):
        answer = await agent("evolve_skills", mode="create")
    assert SECRET not in answer.model_dump_json()
    assert SECRET not in (await lone.store.skill("cancel-pending-order")).description


async def test_what_is_extracted_for_someone_untrusted_stays_a_draft(lone: Agent) -> None:
    stranger = lone.having(origin=Origin(machine="test", session="s", trust="untrusted"))
    async with _with_model(stranger, message(ANSWER)) as (agent, _):
        await agent("evolve_skills", mode="create")
    for number in range(3):
        await lone("track_execution", task_id=f"u{number}", action="a")
        used = [{"skill": "cancel-pending-order", "success": True}]
        await lone("score_reward", task_id=f"u{number}", reward=5, skills_used=used, final=True)
    await lone("evolve_skills", mode="adjust")
    skill = await lone.store.skill("cancel-pending-order")
    assert (skill.trust, skill.status, skill.use_count) == ("untrusted", "draft", 3)
