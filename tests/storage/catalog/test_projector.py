"""What each event makes of the rows, by hand."""

from __future__ import annotations

import pytest
from catalogkit import AT, at, cursor, envelope, envelopes, feed, opened, remembered, saved, scored, skill, step, used

from prowess.storage.catalog import Catalog, projector
from prowess.storage.errors import StoreDamaged, StoreDefect, StoreNewer, UnknownEpisode, UnknownSkill
from prowess.storage.events import (
    EVENT_TYPES,
    Envelope,
    EpisodeClosed,
    EpisodeDescribed,
    ExposureMade,
    MemoryDeleted,
    ModelAnswered,
    PatternsReflected,
    SkillPinned,
    SkillStatusSet,
    StepsTrimmed,
)
from prowess.storage.models import (
    Episode,
    EpisodeFilter,
    ExposedSkill,
    Exposure,
    Origin,
    Pattern,
    Skill,
    SkillUse,
    SkillVersion,
    Stats,
    Step,
    Where,
)


def test_every_event_type_has_a_projection() -> None:
    assert {*projector.HANDLERS, "foreign.received"} == set(EVENT_TYPES)  # that one is what another came in


# ---- episodes


def test_an_opened_episode_has_what_was_told_and_nothing_else(catalog: Catalog) -> None:
    feed(catalog, opened("e1", task="Return the shirt", attempt=2))
    assert catalog.episode("e1") == Episode(
        id="e1",
        project="shop",
        session="s1",
        task_id="t1",
        attempt=2,
        opened_at=AT,
        task="Return the shirt",
        agent="codex",
        closed_at=None,
        steps=0,
        reward=None,
        outcome="unknown",
        updated_seq=1,
    )


def test_describing_and_closing_change_the_episode(catalog: Catalog) -> None:
    feed(catalog, opened("e1", task="Return"), EpisodeDescribed(episode_id="e1", task="Exchange the boots"))
    feed(catalog, EpisodeClosed(episode_id="e1", at=at(9)))
    found = catalog.episode("e1")
    assert (found.task, found.closed_at, found.updated_seq) == ("Exchange the boots", at(9), 3)
    assert [key for key, _ in catalog.lexical("episode", "boots", 5)] == ["e1"]
    assert catalog.lexical("episode", "return", 5) == []


def test_a_step_keeps_its_summary(catalog: Catalog) -> None:
    given = step(
        3,
        action="cancel order W1",
        numbered=True,
        tool="cancel_order",
        arg_names=("order_id", "reason"),
        outcome="failure",
        error="no such order: <id>",
        context="after lookup",
        duration_ms=12.5,
        external_id="toolu_1",
        size=400,
    )
    feed(catalog, opened(), given)
    assert catalog.summaries("e1") == (
        Step(
            episode_id="e1",
            number=3,
            action="cancel order W1",
            at=AT,
            numbered=True,
            tool="cancel_order",
            args={"order_id": None, "reason": None},
            context="after lookup",
            error="no such order: <id>",
            outcome="failure",
            duration_ms=12.5,
            external_id="toolu_1",
        ),
    )
    assert (catalog.episode("e1").steps, catalog.episode("e1").updated_seq) == (1, 2)


def test_a_step_that_is_told_again_counts_once(catalog: Catalog) -> None:
    feed(catalog, opened())
    feed(catalog, step(1), step(1), step(2))
    feed(catalog, step(2), step(3))
    assert catalog.episode("e1").steps == 3


def test_a_step_without_arguments_has_none(catalog: Catalog) -> None:
    feed(catalog, opened(), step(1))
    assert catalog.summaries("e1")[0].args is None


def test_steps_are_counted_once_in_any_order(catalog: Catalog) -> None:
    feed(catalog, opened(), step(3), step(1), step(3))
    feed(catalog, step(2))
    assert catalog.episode("e1").steps == 3
    assert [found.number for found in catalog.summaries("e1")] == [1, 2, 3]


def test_trimming_keeps_summaries(catalog: Catalog) -> None:
    feed(catalog, opened(), step(1))
    before = catalog.dump()
    feed(catalog, StepsTrimmed(at=AT, episode_ids=("e1",)))
    assert catalog.dump() == before
    assert catalog.cursor() == cursor(3)


# ---- rewards


def test_rewards_are_combined_by_the_rule(catalog: Catalog) -> None:
    feed(catalog, opened(), scored("r1", 4.0, source="tests"), scored("r2", -3.0, source="agent"))
    # (6 * 4 + 1 * -3) / 7 = 3
    found = catalog.episode("e1")
    assert (found.reward, found.outcome, found.updated_seq) == (3.0, "success", 3)


def test_a_neutral_reward_is_kept_and_changes_no_outcome(catalog: Catalog) -> None:
    feed(catalog, opened(), scored("r1", None, label="neutral"))
    assert (catalog.episode("e1").reward, catalog.episode("e1").outcome) == (None, "unknown")
    [kept] = catalog.rewards("e1")
    assert (kept.value, kept.label) == (None, "neutral")


def test_a_reward_keeps_its_evidence(catalog: Catalog) -> None:
    evidence = {"tests": {"passed": 3, "failed": 0}, "note": "nul \0 and 日本"}
    feed(catalog, opened(), scored("r1", -2.0, step=4, reason="flaky", evidence=evidence))
    [kept] = catalog.rewards("e1")
    assert (kept.step, kept.reason, kept.evidence) == (4, "flaky", evidence)
    assert (catalog.episode("e1").reward, catalog.episode("e1").outcome) == (-2.0, "failure")


# ---- skills


def test_a_saved_skill_reads_back_whole(catalog: Catalog) -> None:
    feed(catalog, saved("k1", episodes=("e1", "e2"), support=2, keywords=("order",), project="shop", pinned=True))
    expected = skill("k1", episodes=("e1", "e2"), support=2, keywords=("order",), project="shop", pinned=True)
    assert catalog.skill("k1") == Skill(
        **{**{f: getattr(expected, f) for f in Skill.__struct_fields__}, "updated_seq": 1}
    )


def test_a_new_version_replaces_the_skill_and_keeps_what_was_counted(catalog: Catalog) -> None:
    feed(catalog, saved(), used("u1", True), used("u2", False))
    feed(catalog, saved(change="adjusted", version=2, name="Cancel any order", updated_at=at(5), created_at=at(5)))
    now = catalog.skill("k1")
    assert (now.version, now.name, now.created_at, now.updated_at) == (2, "Cancel any order", AT, at(5))
    assert (now.use_count, now.success_rate) == (2, 0.5)
    first, second = catalog.versions("k1")
    assert first == SkillVersion(skill=skill(), version=1, change="created", at=AT, updated_seq=1)
    assert (second.version, second.change, second.skill.name) == (2, "adjusted", "Cancel any order")
    assert [key for key, _ in catalog.lexical("skill", "any", 5)] == ["k1"]


def test_uses_follow_the_running_formula(catalog: Catalog) -> None:
    feed(catalog, saved())
    assert (catalog.skill("k1").use_count, catalog.skill("k1").success_rate) == (0, 1.0)
    for uses, (success, rate) in enumerate([(False, 0.0), (True, 0.5), (True, 2 / 3), (False, 0.5), (True, 0.6)]):
        feed(catalog, used(f"u{uses}", success, when=at(uses)))
        assert catalog.skill("k1").use_count == uses + 1
        assert catalog.skill("k1").success_rate == pytest.approx(rate)
    assert catalog.skill("k1").last_used_at == at(4)
    assert catalog.uses("k1")[0] == SkillUse(
        id="u0", skill_id="k1", version=1, episode_id="e1", success=False, at=at(0)
    )


def test_uses_told_before_the_skill_count_when_it_arrives(catalog: Catalog) -> None:
    feed(catalog, used("u1", True, when=at(1)), used("u2", False, when=at(2)))
    feed(catalog, saved())
    found = catalog.skill("k1")
    assert (found.use_count, found.success_rate, found.last_used_at) == (2, 0.5, at(2))


def test_status_and_pin_are_set(catalog: Catalog) -> None:
    archived = SkillStatusSet(skill_id="k1", status="archived", at=at(3), reason="unused")
    feed(catalog, saved(updated_at=at(1)), archived, SkillPinned(skill_id="k1", pinned=True, at=at(4)))
    found = catalog.skill("k1")
    assert (found.status, found.pinned, found.updated_at, found.updated_seq) == ("archived", True, at(4), 3)


def test_what_is_decided_by_a_clock_that_is_behind_is_decided_after_the_version_all_the_same(catalog: Catalog) -> None:
    feed(catalog, saved(updated_at=at(9)), SkillStatusSet(skill_id="k1", status="archived", at=at(3)))
    assert catalog.skill("k1").updated_at == "2026-11-29T13:00:09.001Z"


# ---- the rest


def test_an_exposure_keeps_its_skills_by_rank(catalog: Catalog) -> None:
    shown = (
        ExposedSkill(skill_id="k2", version=3, rank=1, score=0.9),
        ExposedSkill(skill_id="k1", version=1, rank=2, score=0.4, shown=False),
    )
    made = Exposure(id="x1", at=AT, query="cancel", project="shop", task_id="t1", episode_id="e1", skills=shown)
    feed(catalog, ExposureMade(exposure=made))
    assert catalog.exposures() == (made,)
    assert catalog.exposures(skill_id="k1", since=AT) == (made,)
    assert catalog.exposures(skill_id="k9") == ()


def pattern(key: str, project: str = "", **changes: object) -> Pattern:
    fields = {"kind": "sequence", "statement": f"{key} helps", "support": 3, "examples": ("e1", "e2")}
    return Pattern(id=key, project=project, **{**fields, **changes})  # type: ignore[arg-type]


def test_a_reflection_replaces_the_earlier_one_of_its_project(catalog: Catalog) -> None:
    old, new = pattern("p1", "shop"), pattern("p2", "shop", effect=2.5, low=0.5, high=4.5, q_value=0.01)
    everywhere = pattern("p3", detail={"sequence": ["a", "b"]}, kind="failure", support=9)
    feed(catalog, PatternsReflected(reflection_id="f1", project="shop", at=AT, patterns=(old,)))
    feed(catalog, PatternsReflected(reflection_id="f2", project="", at=AT, patterns=(everywhere,)))
    feed(catalog, PatternsReflected(reflection_id="f3", project="shop", at=AT, patterns=(new,)))
    assert catalog.patterns() == (new, everywhere)
    assert catalog.patterns(project="shop", limit=1) == (new,)
    assert catalog.patterns(project="other") == (everywhere,)
    assert catalog.patterns(kinds=["failure"], min_support=9) == (everywhere,)
    assert catalog.patterns(min_support=10) == ()


def test_a_memory_is_saved_changed_and_deleted(catalog: Catalog) -> None:
    feed(catalog, remembered("m1", "Ask first"), remembered("m1", "Never ask", importance=0.5))
    [found] = catalog.memories()
    assert (found.text, found.importance, found.updated_seq) == ("Never ask", 0.5, 2)
    feed(catalog, MemoryDeleted(memory_id="m1", at=at(7)))
    assert catalog.memories() == ()
    assert catalog.lexical("memory", "never", 5) == []
    assert catalog.dump()["tombstones"] == [{"kind": "memory", "id": "m1", "at": at(7), "updated_seq": 3}]
    feed(catalog, remembered("m1", "Back again"))
    assert catalog.dump()["tombstones"] == []


def test_model_answers_are_summed(catalog: Catalog) -> None:
    for second, cost in [(1, 0.25), (2, 0.5), (3, 1.0)]:
        call = ModelAnswered(
            call_id=f"c{second}", at=at(second), purpose="word", model="m", input_tokens=2**40, output_tokens=5,
            cost_usd=cost, ok=True,
        )  # fmt: skip
        feed(catalog, call)
    assert catalog.spent(at(2), at(9)) == 1.5
    assert catalog.spent(at(1), at(3)) == 0.75
    assert catalog.spent(at(4), at(9)) == 0.0
    assert catalog.dump()["model_calls"][0]["input_tokens"] == 2**40


def test_statistics_count_what_there_is(catalog: Catalog) -> None:
    assert catalog.stats() == Stats()
    feed(catalog, opened("e1"), opened("e2", project="b"), step(1), step(2), scored("r1", 1.0))
    feed(catalog, saved("k1"), saved("k2", status="draft"), used("u1", True), remembered())
    assert catalog.stats() == Stats(
        episodes=2,
        steps=2,
        rewards=1,
        scored=1,
        memories=1,
        uses=1,
        skills={"active": 1, "draft": 1},
        outcomes={"success": 1, "unknown": 1},
        projects=("", "b", "shop"),
        last_at=AT,
    )


def test_a_project_of_memories_alone_is_one(catalog: Catalog) -> None:
    feed(catalog, remembered(project="shop"))
    assert catalog.stats().projects == ("shop",)


# ---- the cursor


def test_the_cursor_moves_with_the_events(catalog: Catalog) -> None:
    assert catalog.cursor() is None
    feed(catalog, opened(), step(1))
    assert catalog.cursor() == cursor(2)


def test_events_applied_before_are_left_out(catalog: Catalog) -> None:
    batch = envelopes([opened(), saved(), used("u1", True)])
    catalog.apply(batch, cursor(3))
    before = catalog.dump()
    catalog.apply(batch, cursor(3))
    catalog.apply(batch[:2], cursor(2))
    catalog.apply([*batch, envelope(4, used("u2", False))], cursor(4))
    assert (catalog.skill("k1").use_count, catalog.cursor()) == (2, cursor(4))
    assert {**catalog.dump(), "skills": [], "skill_uses": []} == {**before, "skills": [], "skill_uses": []}


@pytest.mark.parametrize("seqs", [[2], [1, 3], [2, 1], [1, 1]])
def test_a_gap_or_disorder_is_refused(catalog: Catalog, seqs: list[int]) -> None:
    batch = [envelope(seq, opened(f"e{i}")) for i, seq in enumerate(seqs)]
    with pytest.raises(StoreDefect, match="do not follow"):
        catalog.apply(batch, cursor(seqs[-1]))
    assert (catalog.cursor(), catalog.stats().episodes) == (None, 0)


@pytest.mark.parametrize("other", [cursor(2, log_id="another"), cursor(2, epoch=2)])
def test_another_log_or_epoch_is_refused_until_reset(catalog: Catalog, other: object) -> None:
    feed(catalog, opened())
    with pytest.raises(StoreDefect, match="another log"):
        catalog.apply([envelope(2, opened("e2"))], other)  # type: ignore[arg-type]
    catalog.reset()
    assert (catalog.cursor(), catalog.stats()) == (None, Stats())
    feed(catalog, opened("e2", task="after the reset"))
    assert [key for key, _ in catalog.lexical("episode", "reset", 5)] == ["e2"]


def later(seq: int, name: str = "skill.praised", version: int = 1, data: dict[str, object] | None = None) -> Envelope:
    return Envelope(seq=seq, type=name, version=version, at=AT, origin=Origin(), data=data)


@pytest.mark.parametrize(
    "unknown",
    [later(2, data={}), later(2), later(2, "skill.saved", version=99, data={}), later(2, "skill.saved", version=99)],
)
def test_an_unknown_event_stops_the_projection(catalog: Catalog, unknown: Envelope) -> None:
    with pytest.raises(StoreNewer) as caught:
        catalog.apply([envelope(1, opened()), unknown, envelope(3, step(1))], cursor(3))
    assert caught.value.hint
    assert (catalog.cursor(), catalog.stats().episodes) == (None, 0)


def test_an_event_that_cannot_be_read_is_damage(catalog: Catalog) -> None:
    with pytest.raises(StoreDamaged, match="event 1"):
        catalog.apply([later(1, "skill.saved", data={"skill": 7})], cursor(1))


def test_an_erased_event_leaves_nothing(catalog: Catalog) -> None:
    catalog.apply([later(1, "skill.saved"), envelope(2, opened())], cursor(2))
    assert (catalog.stats().skills, catalog.stats().episodes, catalog.cursor()) == ({}, 1, cursor(2))


# ---- finding


def test_an_episode_is_found_by_session_before_any_session(catalog: Catalog) -> None:
    feed(catalog, opened("a", session="s1", at=at(1)), opened("b", session="s1", attempt=2, at=at(2)))
    feed(catalog, opened("c", session="s2", at=at(3)), opened("d", session="s3", task_id="other"))

    def found(**where: str) -> str | None:
        episode = catalog.find_episode(Where(**{"task_id": "t1", "project": "shop", **where}))
        return episode.id if episode else None

    assert found(session="s1") == "b"
    assert found(session="s2") == "c"
    assert found(session="s9") == "c"
    assert found(session="s1", project="elsewhere") is None


def test_episodes_are_filtered_newest_first(catalog: Catalog) -> None:
    feed(catalog, opened("a", at=at(1)), opened("b", at=at(2), project="b"), opened("c", at=at(3), task_id="t2"))
    feed(catalog, scored("r1", 5.0, "a"), scored("r2", -5.0, "c"), EpisodeClosed(episode_id="c", at=at(9)))

    def ids(limit: int | None = None, **wanted: object) -> list[str]:
        return [episode.id for episode in catalog.episodes(EpisodeFilter(**wanted), limit)]  # type: ignore[arg-type]

    assert ids() == ["c", "b", "a"]
    assert ids(limit=2) == ["c", "b"]
    assert ids(limit=0) == []
    assert ids(project="shop") == ["c", "a"]
    assert ids(task_id="t1") == ["b", "a"]
    assert ids(since=at(2)) == ["c", "b"]
    assert ids(outcome="failure") == ["c"]
    assert ids(scored=True) == ["c", "a"]
    assert ids(scored=False) == ["b"]
    assert ids(closed=True) == ["c"]
    assert ids(ids=("a", "z", "c"), outcome="success") == ["a"]


def test_unknown_ids_are_typed_errors_with_near_names(catalog: Catalog) -> None:
    feed(catalog, saved("k1", name="cancel-order"))
    with pytest.raises(UnknownEpisode):
        catalog.episode("e9")
    with pytest.raises(UnknownSkill) as caught:
        catalog.skill("cancel-odrer")
    assert caught.value.hint == "did you mean: cancel-order"


def test_a_skill_of_another_project_is_named_with_its_id(catalog: Catalog) -> None:
    feed(catalog, saved("k1", name="cancel-order", project="shop"))
    with pytest.raises(UnknownSkill) as caught:
        catalog.skill("cancel-order", project="garden")
    assert caught.value.hint == "project 'shop' has one, with the id k1: send that"
    assert catalog.skill("k1", project="garden").project == "shop"


def test_a_name_means_the_projects_own_skill_before_a_shared_one(catalog: Catalog) -> None:
    feed(catalog, saved("shared", name="n"), saved("own", name="n", project="shop"), saved("b", name="n", project="b"))
    feed(catalog, saved("old", name="n", project="shop", status="archived"))
    assert catalog.skill("n", project="shop").id == "own"
    assert catalog.skill("n", project="elsewhere").id == "shared"
    assert [found.id for found in catalog.skills(project="shop", statuses=["active"])] == ["own", "shared"]
    assert set(catalog.skills_by_id(["own", "b", "absent"])) == {"own", "b"}
