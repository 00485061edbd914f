"""score_reward: numbers, labels and evidence, or a refusal that says what to send."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

from prowess.server.app import describe
from prowess.storage.events import SkillSaved
from prowess.storage.models import Skill, SkillStep
from prowess.tools.errors import ToolError
from prowess.tools.registry import find

pytestmark = pytest.mark.anyio


@pytest.fixture
async def tracked(agent: Agent) -> Agent:
    await agent("track_execution", task_id="t", action="a")
    return agent


@pytest.mark.parametrize(
    ("reward", "more", "value"),
    [
        (8, {}, 8.0),
        ("-3.5", {}, -3.5),
        ("positive", {}, 5.0),
        ("Negative", {"magnitude": "2"}, -2.0),
        ("positive(8)", {}, 8.0),
        ("negative: 4", {}, -4.0),
        (0, {}, 0.0),
        (-10, {}, -10.0),
    ],
)
async def test_a_reward_is_a_number_or_a_label(tracked: Agent, reward: Any, more: dict[str, Any], value: float) -> None:
    answer = await tracked("score_reward", task_id="t", reward=reward, **more)
    assert answer.reward == value
    assert answer.sources == {"agent": value}


async def test_neutral_is_uncertain_and_not_zero(tracked: Agent) -> None:
    answer = await tracked("score_reward", task_id="t", reward="neutral", reason="could not tell")
    assert (answer.reward, answer.outcome) == (None, "unknown")
    assert "reward" not in answer.structured()
    (reward,) = await tracked.store.rewards(answer.episode_id)
    assert (reward.value, reward.label, reward.reason) == (None, "neutral", "could not tell")


@pytest.mark.parametrize(
    "reward",
    [
        float("nan"),
        float("inf"),
        1e308,
        "very good",
        "1e999",
        "nan",
        10.01,
        -11,
        True,
        [5],
        {"reward": 5},
        "positive(50)",
        "negative 1.2.3",
    ],
)
async def test_what_is_no_reward_is_refused_with_what_to_send(tracked: Agent, reward: Any) -> None:
    with pytest.raises(ToolError, match="reward") as caught:
        await tracked("score_reward", task_id="t", reward=reward)
    assert "send" in str(caught.value)
    (episode,) = await tracked.store.episodes()
    assert await tracked.store.rewards(episode.id) == ()


async def test_nothing_to_score_is_refused(tracked: Agent) -> None:
    for fields in ({}, {"evidence": {"mood": "fine"}}, {"reason": "because"}):
        with pytest.raises(ToolError, match="reward is missing"):
            await tracked("score_reward", task_id="t", **fields)


async def test_each_kind_of_evidence_is_a_reward_of_its_own(tracked: Agent) -> None:
    answer = await tracked(
        "score_reward",
        task_id="t",
        reward=2,
        evidence='{"tests": {"passed": 4, "failed": 0}, "exit_code": 0, "user": "thanks, works", "note": "by hand"}',
    )
    assert answer.sources == {"user": 8.0, "tests": 10.0, "exit_code": 3.0, "agent": 2.0}
    # weights 8, 6, 3 and 1: (8 * 8 + 6 * 10 + 3 * 3 + 1 * 2) / 18
    assert answer.reward == pytest.approx((64 + 60 + 9 + 2) / 18)
    stored = {reward.source: reward.evidence for reward in await tracked.store.rewards(answer.episode_id)}
    assert stored["agent"] == {"note": "by hand"}
    assert stored["exit_code"] == {"exit_code": 0}


async def test_the_example_of_evidence_that_clients_are_told_is_taken(tracked: Agent) -> None:
    told = describe(find("score_reward")).input_schema["properties"]["evidence"]["description"]
    answer = await tracked("score_reward", task_id="t", evidence=told.removeprefix("such as "))
    assert answer.sources == {"tests": 10.0, "exit_code": 3.0, "user": 8.0, "commit": 6.0}
    assert answer.notes == []


LONG = "w" * 4_001


@pytest.mark.parametrize(
    ("fields", "notes"),
    [
        ({"reward": 5, "magnitude": 3}, ["ignored magnitude: it belongs to the labels positive and negative"]),
        ({"reward": "neutral", "magnitude": 3}, ["ignored magnitude: it belongs to the labels positive and negative"]),
        ({"reward": "negative", "magnitude": 3}, []),
        ({"reward": 1, "reason": LONG}, ["reason of 4001 characters was cut to 4000: beginning and end were kept"]),
        (
            {"reward": 1, "evidence": {"user": LONG}},
            ["evidence.user of 4001 characters was cut to 4000: beginning and end were kept"],
        ),
        (
            {"reward": 1, "evidence": {"exitcode": 0, "Commit": "abc1234", "log": "a.txt"}},
            [
                "evidence 'exitcode' is kept and does not count (did you mean 'exit_code'?)",
                "evidence 'Commit' is kept and does not count (did you mean 'commit'?)",
            ],
        ),
        (
            {"reward": 1, "evidence": "9 passed"},
            ['evidence as text is kept and does not count: name its kind, as in {"tests": "9 passed, 1 failed"}'],
        ),
        ({"final": True, "magnitude": 2, "reason": LONG}, [
            "ignored magnitude: it belongs to the labels positive and negative",
            "reason and evidence were not kept: they belong to a reward",
        ]),
    ],
)  # fmt: skip
async def test_what_does_not_count_as_it_was_sent_is_told(
    tracked: Agent, fields: dict[str, Any], notes: list[str]
) -> None:
    assert (await tracked("score_reward", task_id="t", **fields)).notes == notes


async def test_that_there_are_more_tasks_than_those_named_is_told(agent: Agent) -> None:
    for name in ("refund-1", "refund-2", "xyz"):
        await agent("track_execution", task_id=name, action="a")
    with pytest.raises(ToolError) as caught:
        await agent("score_reward", task_id="refund", reward=1)
    assert caught.value.hint.startswith("known task ids: refund-2, refund-1, …; ")


async def test_evidence_alone_is_enough(tracked: Agent) -> None:
    answer = await tracked("score_reward", task_id="t", evidence={"exit_code": "1"})
    assert (answer.reward, answer.outcome) == (-5.0, "failure")


async def test_details_are_kept_also_where_evidence_alone_is_told(tracked: Agent) -> None:
    evidence = {"user": "thanks", "exit_code": 0, "note": "by hand"}
    answer = await tracked("score_reward", task_id="t", evidence=evidence)
    stored = {reward.source: reward.evidence for reward in await tracked.store.rewards(answer.episode_id)}
    assert stored == {"user": {"user": "thanks", "note": "by hand"}, "exit_code": {"exit_code": 0}}
    closed = await tracked("score_reward", task_id="t", final=True, reason="all is done")
    assert closed.notes == ["reason and evidence were not kept: they belong to a reward"]


async def test_evidence_that_makes_no_sense_is_refused(tracked: Agent) -> None:
    with pytest.raises(ToolError, match="exit_code") as caught:
        await tracked("score_reward", task_id="t", evidence={"exit_code": "fine"})
    assert "evidence takes" in caught.value.hint


async def test_evidence_is_bounded(tracked: Agent) -> None:
    with pytest.raises(ToolError, match="evidence is longer than"):
        await tracked("score_reward", task_id="t", reward=1, evidence={str(n): "x" * 1_000 for n in range(100)})


async def test_a_step_is_scored_by_its_number(tracked: Agent) -> None:
    answer = await tracked("score_reward", task_id="t", reward=4, step="1")
    (reward,) = await tracked.store.rewards(answer.episode_id)
    assert reward.step == 1
    with pytest.raises(ToolError, match="99"):
        await tracked("score_reward", task_id="t", reward=4, step=99)


async def test_final_closes_the_attempt_and_the_next_step_opens_another(tracked: Agent) -> None:
    closed = await tracked("score_reward", task_id="t", final="true")
    assert (closed.closed, closed.reward) == (True, None)
    again = await tracked("track_execution", task_id="t", action="b")
    assert again.episode_id != closed.episode_id
    assert again.step == 1


async def test_an_unknown_task_is_refused_with_near_ones(tracked: Agent) -> None:
    await tracked("track_execution", task_id="fix-login", action="a")
    with pytest.raises(ToolError, match="fix-logn") as caught:
        await tracked("score_reward", task_id="fix-logn", reward=1)
    assert "fix-login" in caught.value.hint


async def _save(agent: Agent, name: str) -> Skill:
    skill = Skill(id=f"id-of-{name}", name=name, description=name, steps=(SkillStep(tool="Bash"),))
    await agent.store.append([SkillSaved(skill=skill, change="create")], origin=agent.context.origin)
    return skill


async def test_uses_are_counted_by_the_running_formula(tracked: Agent) -> None:
    await _save(tracked, "build")
    first = await tracked("score_reward", task_id="t", reward=8, skills_used=["build"])
    assert [(s.name, s.use_count, s.success_rate) for s in first.skills] == [("build", 1, 1.0)]
    used = [{"skill": "id-of-build", "success": "false"}]
    second = await tracked("score_reward", task_id="t", skills_used=used)
    assert [(s.use_count, s.success_rate) for s in second.skills] == [(2, 0.5)]


async def test_a_use_without_success_goes_by_the_reward(tracked: Agent) -> None:
    await _save(tracked, "build")
    answer = await tracked("score_reward", task_id="t", reward=-2, skills_used='[{"skill": "build"}]')
    assert [s.success_rate for s in answer.skills] == [0.0]
    with pytest.raises(ToolError, match="whether skill 'build' worked is not known"):
        await tracked("score_reward", task_id="t", reward="neutral", skills_used="build")


async def test_a_use_goes_by_the_reward_as_its_sources_weigh(tracked: Agent) -> None:
    await _save(tracked, "build")
    told = {"reward": 10, "evidence": {"user": "no, this is wrong"}}  # 10 of weight 1 against -8 of weight 8
    answer = await tracked("score_reward", told, task_id="t", skills_used=["build"])
    assert (answer.outcome, [s.success_rate for s in answer.skills]) == ("failure", [0.0])


async def test_a_skill_named_twice_in_one_score_was_used_once(tracked: Agent) -> None:
    await _save(tracked, "build")
    await _save(tracked, "test")
    used = ["build", "build+test", {"skill": "id-of-test", "success": False}]
    answer = await tracked("score_reward", task_id="t", reward=5, skills_used=used)
    assert sorted((s.name, s.use_count, s.success_rate) for s in answer.skills) == [("build", 1, 1.0), ("test", 1, 0.0)]


async def test_an_unknown_skill_stores_nothing(tracked: Agent) -> None:
    await _save(tracked, "build")
    with pytest.raises(ToolError, match="bild"):
        await tracked("score_reward", task_id="t", reward=1, skills_used=["bild"])
    (episode,) = await tracked.store.episodes()
    assert await tracked.store.rewards(episode.id) == ()


async def test_a_score_repeated_with_its_key_counts_once(tracked: Agent) -> None:
    await _save(tracked, "build")
    same = tracked.having(key="k1")
    for _ in range(2):
        answer = await same("score_reward", task_id="t", reward=8, skills_used=["build"])
    assert [s.use_count for s in answer.skills] == [1]
    assert len(await tracked.store.rewards(answer.episode_id)) == 1


async def test_what_stands_under_the_name_of_a_secret_in_evidence_is_not_stored(tracked: Agent) -> None:
    evidence = {"tests": {"passed": 3, "failed": 0}, "setup": {"password": "correct-" + "horse7"}}
    answer = await tracked("score_reward", task_id="t", reward=2, evidence=evidence)
    kept = [reward.evidence for reward in await tracked.store.rewards(answer.episode_id)]
    assert {"setup": {"password": "[masked:secret-field]"}} in kept
