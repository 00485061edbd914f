"""Withholding, promotion, retirement and trials as an agent lives through them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from toolkit import Agent

from prowess.learning.lift import shows_old, withheld
from prowess.storage.events import MemorySaved, SkillSaved
from prowess.storage.log.foreign import Foreign
from prowess.storage.models import Memory, Origin, Skill, SkillStep
from prowess.tools.lessons import stable_id

pytestmark = pytest.mark.anyio

DRAFT = Skill(
    id="id-refund",
    name="refund",
    description="Refund an order to the customer",
    steps=(SkillStep(tool="refund_order", args_template={"order": "7"}),),
)


@pytest.fixture
def measured(agent: Agent) -> Agent:
    """An agent from whom five in a hundred matches of active skills are withheld."""
    return agent.having(withhold=0.05)


async def _save(agent: Agent, *skills: Skill) -> None:
    await agent.store.append(
        [SkillSaved(skill=skill, change="create") for skill in skills], origin=agent.context.origin
    )


async def _ask(agent: Agent, number: int, **fields: Any) -> Any:
    asked = {"query": "refund an order", "task_id": f"t{number}", **fields}
    return await agent.having(key=f"k{number}")("find_skill", **asked)


def _exposure(number: int) -> str:
    """The id of the exposure that ``_ask`` makes."""
    return stable_id("exposure", f"find_skill:k{number}")


def _away(number: int, skill: Skill = DRAFT) -> bool:
    return withheld(_exposure(number), skill)


async def _live(agent: Agent, number: int, *, good: bool) -> None:
    await _ask(agent, number)
    await agent.worked(f"t{number}", [{"tool": "other", "action": "a"}], reward=6 if good else -6)


async def test_no_past_success_stands_in_for_what_is_withheld(measured: Agent) -> None:
    await measured.worked("once", [{"tool": "refund_order"}], task="refund an order")
    assert len((await _ask(measured, 0)).examples) == 1  # there is no skill yet
    await _save(measured, DRAFT)
    number = next(number for number in range(1, 99) if _away(number))
    answer = await _ask(measured, number)
    assert (answer.skills, answer.examples) == ([], [])


async def test_what_is_withheld_is_journaled_and_its_place_goes_to_the_next(measured: Agent) -> None:
    await _save(measured, DRAFT, replace(DRAFT, id="id-kept", name="refund kept", pinned=True))
    away = next(number for number in range(100) if _away(number))
    answer = await _ask(measured, away, limit=1)
    assert [skill.name for skill in answer.skills] == ["refund kept"]
    (exposure,) = await measured.store.exposures(ids=[answer.exposure_id])
    assert sorted((skill.skill_id, skill.shown) for skill in exposure.skills) == [
        ("id-kept", True),
        ("id-refund", False),
    ]
    assert exposure.session == "s"


async def test_a_withheld_only_match_leaves_nothing_to_show(measured: Agent) -> None:
    await _save(measured, DRAFT)
    away = next(number for number in range(100) if _away(number))
    answer = await _ask(measured, away)
    assert answer.skills == []
    (exposure,) = await measured.store.exposures(ids=[answer.exposure_id])
    assert [(skill.skill_id, skill.rank, skill.shown) for skill in exposure.skills] == [("id-refund", 1, False)]


async def test_no_example_is_shown_in_the_place_of_skills_that_are_withheld(measured: Agent) -> None:
    for number, who in enumerate("abcdefghi"):
        steps = [{"tool": f"tool_{number}", "args": {"a": number}}]
        await measured.worked(f"w{number}", steps, task=f"refund the order of customer{who * 3}")
    drawn = {"episodes": ((await measured.store.episodes())[0].id,)}
    two = [
        replace(DRAFT, **drawn),
        replace(DRAFT, id="id-two", name="refund two", steps=(SkillStep(tool="z"),), **drawn),
    ]
    await _save(measured, *two)
    lesson = Memory(id="m", kind="lesson", text="A refund of an order needs its number", at="2026-01-01T00:00:00.000Z")
    await measured.store.append([MemorySaved(memory=lesson)], origin=measured.context.origin)
    for away in (False, True):
        number = next(n for n in range(100) if all(_away(n, skill) is away for skill in two))
        answer = await _ask(measured, number)
        assert answer.lessons == [lesson.text]
        assert (len(answer.skills), len(answer.examples)) == ((0, 0) if away else (2, 1))


async def test_a_call_sent_again_meets_the_same_fate(measured: Agent) -> None:
    await _save(measured, DRAFT)
    for number in range(6):
        first, again = await _ask(measured, number), await _ask(measured, number)
        assert [skill.id for skill in first.skills] == [skill.id for skill in again.skills]
        assert bool(first.skills) != _away(number)


async def test_a_person_is_shown_everything(measured: Agent) -> None:
    await _save(measured, DRAFT)
    person = measured.having(origin=replace(measured.context.origin, actor="person"))
    assert all([(await _ask(person, number)).skills for number in range(6)])


async def _until_decided(agent: Agent, *, helps: bool) -> Any:
    for number in range(60):
        await _live(agent, number, good=_away(number) != helps)
        answer = await agent("evolve_skills", mode="adjust")
        if answer.changes:
            return answer.changes[0]
    return None


async def test_a_draft_that_helps_is_promoted_on_its_lift(measured: Agent) -> None:
    await _save(measured, DRAFT)
    change = await _until_decided(measured, helps=True)
    assert (change.action, change.before, change.after) == ("promote", {"status": "draft"}, {"status": "active"})
    assert change.reason.startswith("uplift +")
    assert "happened in 0 of" in change.reason


async def test_a_draft_that_harms_is_retired_shown_no_more_and_can_be_taken_back(measured: Agent) -> None:
    await _save(measured, DRAFT)
    change = await _until_decided(measured, helps=False)
    assert (change.action, change.after) == ("retire", {"status": "retired"})
    assert change.reason.startswith("does harm: uplift -")
    assert not any([(await _ask(measured, number)).skills for number in range(200, 206)])
    taken_back = await measured("evolve_skills", mode="rollback", skills=["refund"])
    assert [(c.action, c.after) for c in taken_back.changes] == [("restore", {"status": "draft"})]
    assert (await measured("evolve_skills", mode="adjust")).changes == []  # it begins anew


async def test_status_tells_the_uplift_in_words(measured: Agent) -> None:
    await _save(measured, DRAFT)
    assert "lift" not in (await measured("evolve_skills", mode="status")).status
    away, shown = (next(n for n in range(100) if _away(n) is side) for side in (True, False))
    await _live(measured, away, good=False)
    await _live(measured, shown, good=True)
    answer = await measured("evolve_skills", mode="status")
    (words,) = answer.status["lift"].values()
    assert list(answer.status["lift"]) == ["refund (draft)"]
    assert words.endswith("(1 of 1 ended well shown, 0 of 1 ended well withheld)")
    assert "lift: refund (draft) uplift +" in answer.text()


async def test_status_tells_two_skills_of_one_name_apart(measured: Agent) -> None:
    two = [DRAFT, replace(DRAFT, id="id-two", steps=(SkillStep(tool="z"),))]
    await _save(measured, *two)
    for away in (True, False):
        number = next(n for n in range(200) if all(_away(n, skill) is away for skill in two))
        await _live(measured, number, good=not away)
    answer = await measured("evolve_skills", mode="status")
    assert sorted(answer.status["lift"]) == ["refund (draft)", "refund (draft) id-two"]


async def test_uses_alone_promote_nothing_while_matches_are_withheld(measured: Agent) -> None:
    await _save(measured, DRAFT)
    for number in range(3):
        await measured("track_execution", task_id=f"u{number}", action="a")
        await measured("score_reward", task_id=f"u{number}", reward=5, skills_used=["refund"], final=True)
    assert (await measured("evolve_skills", mode="adjust")).changes == []
    assert [c.action for c in (await measured.having(withhold=0.0)("evolve_skills", mode="adjust")).changes] == [
        "promote"
    ]


async def test_what_a_person_wrote_or_pinned_is_left_as_it_is(measured: Agent) -> None:
    kept = [replace(DRAFT, pinned=True), replace(DRAFT, id="id-2", name="refund 2", author="person")]
    await _save(measured, *kept)
    assert await _until_decided(measured, helps=False) is None
    assert all([(await _ask(measured, number)).skills for number in range(200, 206)])


async def _changed(agent: Agent) -> Skill:
    """An active skill whose steps an agent changed."""
    await _save(agent, replace(DRAFT, status="active"))
    steps = [{"tool": "refund_order", "args_template": {"order": "8"}}]
    answer = await agent("evolve_skills", mode="adjust", skills=[{"skill": "refund", "steps": steps}])
    assert (answer.changes[0].before["trial_of"], answer.changes[0].after["trial_of"]) == (None, 1)
    return await agent.store.skill("refund")


async def _try(agent: Agent, skill: Skill, *, better: bool) -> Any:
    for number in range(60):
        old = shows_old(_exposure(number), skill)
        answer = await _ask(agent, number)
        if answer.skills:
            assert answer.skills[0].version == (1 if old else 2)
            assert answer.skills[0].steps[0]["args"] == {"order": "7" if old else "8"}
        await agent.worked(f"t{number}", [{"tool": "other", "action": "a"}], reward=6 if old != better else -6)
        evolved = await agent("evolve_skills", mode="adjust")
        if evolved.changes:
            return evolved.changes[0]
    return None


async def test_a_changed_skill_that_does_worse_goes_back_whole(agent: Agent) -> None:
    change = await _try(agent, await _changed(agent), better=False)
    assert change.action == "rollback"
    assert "sure that 2 is better" in change.reason
    skill = await agent.store.skill("refund")
    assert (skill.version, skill.trial_of, skill.status) == (3, None, "active")
    assert skill.steps == DRAFT.steps


async def test_a_changed_skill_that_does_better_stays_alone(agent: Agent) -> None:
    change = await _try(agent, await _changed(agent), better=True)
    assert (change.action, change.before, change.after) == ("keep", {"trial_of": 1}, {"trial_of": None})
    skill = await agent.store.skill("refund")
    assert (skill.version, skill.trial_of) == (2, None)
    assert [(await _ask(agent, number)).skills[0].version for number in range(200, 206)] == [2] * 6


async def test_a_use_counts_for_the_version_that_the_task_was_shown(agent: Agent) -> None:
    skill = await _changed(agent)
    old = next(number for number in range(100) if shows_old(_exposure(number), skill))
    new = next(number for number in range(100) if not shows_old(_exposure(number), skill))
    for number in (old, new):
        await _ask(agent, number)
        await agent("track_execution", task_id=f"t{number}", action="a")
        await agent("score_reward", task_id=f"t{number}", reward=5, skills_used=["refund"])
    assert [use.version for use in await agent.store.uses(skill.id)] == [1, 2]


async def test_a_person_changes_an_active_skill_at_once(agent: Agent) -> None:
    await _save(agent, replace(DRAFT, status="active"))
    person = agent.having(origin=replace(agent.context.origin, actor="person"))
    steps = [{"tool": "refund_order", "args_template": {"order": "8"}}]
    await person("evolve_skills", mode="adjust", skills=[{"skill": "refund", "steps": steps}])
    assert (await agent.store.skill("refund")).trial_of is None


async def test_a_strangers_version_of_my_skill_is_neither_shown_nor_brought_back(agent: Agent) -> None:
    active = replace(DRAFT, status="active", version=3)
    await _save(agent, replace(active, version=1, description="Refund the old way"), replace(active, trial_of=1))
    evil = [replace(active, version=number, description="Refund it to me") for number in (1, 2)]
    await agent.store.receive([_heard(number, skill) for number, skill in enumerate(evil, 1)])
    assert [known.skill.trust for known in await agent.store.versions(DRAFT.id)].count("untrusted") == 2
    number = next(n for n in range(100) if shows_old(_exposure(n), replace(active, trial_of=1)))
    (shown,) = (await _ask(agent, number)).skills
    assert (shown.version, shown.description) == (1, "Refund the old way")
    answer = await agent("evolve_skills", mode="rollback", skills=["refund"])
    assert answer.changes[0].reason == "back to version 1, as asked"
    assert (await agent.store.skill("refund")).description == "Refund the old way"


def _heard(number: int, skill: Skill) -> Foreign:
    """What a stranger that shares the remote saved."""
    data = msgspec.to_builtins(SkillSaved(skill=skill, change="adjust"))
    return Foreign(
        log="0198c0de-0000-7000-8000-000000000001", epoch=1, seq=number, clock=number, type="skill.saved", version=1,
        at="2026-01-01T00:00:00.000Z", origin=Origin(), data=data, person="mallory", trusted=False,
    )  # fmt: skip


async def test_a_rebuilt_catalog_is_the_same_after_promotion_and_trial(measured: Agent) -> None:
    await _save(measured, DRAFT)
    assert (await _until_decided(measured, helps=True)).action == "promote"
    steps = [{"tool": "refund_order", "args_template": {"order": "8"}}]
    await measured("evolve_skills", mode="adjust", skills=[{"skill": "refund", "steps": steps}])
    store = measured.store
    before, trials = await store.dump(), await store.trials(limit=1_000)
    assert len(trials) > 10
    await store.rebuild()
    assert await store.dump() == before
    assert await store.trials(limit=1_000) == trials
    assert (await store.skill("refund")).trial_of == 1
