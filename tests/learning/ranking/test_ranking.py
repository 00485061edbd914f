from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.ranking import order as ordering
from prowess.learning.ranking.evidence import parts_of, rarity
from prowess.learning.ranking.order import Asked, Ranked, fuse, prepare, rank
from prowess.learning.text import terms
from prowess.storage.models import Skill, SkillStep

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def skill(key: str, **fields: Any) -> Skill:
    told = {"name": key, "description": "deploy the service", "status": "active", "steps": (), **fields}
    return Skill(id=key, **told)


def asked(query: str, pool: int = 100) -> Asked:
    """Every word of the question is in 3 of the pool's skills."""
    parts = parts_of(query)
    counts = dict.fromkeys(terms(query), 3)
    return Asked(parts, rarity(counts, pool), pool)


def ranked(query: str, skills: list[Skill], cosine: float | list[float] | None = 0.6, **fields: Any) -> list[Ranked]:
    """``cosine`` of every skill, or each's, for all parts of the question; None: no vectors."""
    question = asked(query)
    row = np.broadcast_to(np.array(0.0 if cosine is None else cosine), (len(question.parts), len(skills)))
    return rank(question, skills, cosines=None if cosine is None else row, now=NOW, **fields)


def order(skills: list[Skill], *, query: str = "deploy the service", **fields: Any) -> list[str]:
    return [item.id for item in ranked(query, skills, **fields)]


def test_both_lists_are_scaled_by_their_best_and_weighed() -> None:
    # lexical: a 1, b .5; dense: b 1, c .5. What a list lacks counts as its last: .5.
    fused = dict(fuse("q", [("a", 8.0), ("b", 4.0)], [("b", 0.6), ("c", 0.3)]))
    assert fused == pytest.approx({"a": 0.4 + 0.3, "b": 0.2 + 0.6, "c": 0.2 + 0.3})


def test_a_clear_lexical_winner_beats_a_flat_dense_list() -> None:
    dense = [("b", 0.42), ("c", 0.41), ("a", 0.40)]
    assert fuse("q", [("a", 20.0), ("b", 5.0), ("c", 4.0)], dense)[0][0] == "a"


def test_a_clear_dense_winner_beats_a_flat_lexical_list() -> None:
    lexical = [("b", 5.1), ("c", 5.0), ("a", 4.9)]
    assert fuse("q", lexical, [("a", 0.8), ("b", 0.4), ("c", 0.3)])[0][0] == "a"


@pytest.mark.parametrize("missing", [None, []])
def test_one_list_alone_keeps_its_order(missing: list[tuple[str, float]] | None) -> None:
    assert fuse("q", [("a", 4.0), ("b", 1.0)], missing) == [("a", 1.0), ("b", 0.25)]
    assert fuse("q", missing or [], [("a", 0.5), ("b", -0.1)]) == [("a", 1.0), ("b", 0.0)]


def test_nothing_found_is_nothing_fused() -> None:
    assert fuse("q", [], []) == []


LISTS = st.dictionaries(st.sampled_from("abcdef"), st.floats(-1, 100)).map(
    lambda found: sorted(found.items(), key=lambda pair: -pair[1])
)


@given(LISTS, LISTS)
def test_fused_scores_are_ordered_and_between_0_and_1(
    lexical: list[tuple[str, float]], dense: list[tuple[str, float]]
) -> None:
    fused = fuse("q", lexical, dense)
    assert {key for key, _ in fused} == {key for key, _ in [*lexical, *dense]}
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    assert all(0 <= score <= 1.000001 for _, score in fused)


def test_what_succeeded_more_often_goes_first() -> None:
    worse, better = skill("a", use_count=20, success_rate=0.3), skill("b", use_count=20, success_rate=0.9)
    assert order([worse, better]) == ["b", "a"]


def test_one_success_does_not_beat_a_long_good_record() -> None:
    # Pool: (1 + 38 + 1) / (1 + 40 + 2) = .930; once: (1 + 3.72) / 5 = .944; proven: (38 + 3.72) / 44 = .948.
    once, proven = skill("a", use_count=1, success_rate=1.0), skill("b", use_count=40, success_rate=0.95)
    assert order([once, proven]) == ["b", "a"]


def test_half_of_the_score_is_the_record_shrunk_to_that_of_all() -> None:
    # Pool: (4 + 1) / (4 + 2) = 5/6, so new counts 1/2 + 5/12 = 22/24; used: (4 + 4 * 5/6) / 8 = 11/12, so 23/24.
    used, new = ranked("deploy the service", [skill("used", use_count=4, success_rate=1.0), skill("new")])
    assert (used.id, used.score / new.score) == ("used", pytest.approx(23 / 22))


def test_what_was_drawn_from_more_episodes_goes_first() -> None:
    assert order([skill("a", support=2), skill("b", support=9)]) == ["b", "a"]


def test_an_active_skill_goes_before_a_draft() -> None:
    assert order([skill("a", status="draft"), skill("b")]) == ["b", "a"]


def test_this_project_goes_before_all_projects_and_those_before_another() -> None:
    skills = [skill("a", project="other"), skill("b", project=""), skill("c", project="mine")]
    assert order(skills, project="mine") == ["c", "b", "a"]


def test_what_was_used_lately_goes_before_what_was_not() -> None:
    skills = [skill("a", last_used_at="2025-01-01T00:00:00.000Z"), skill("b", last_used_at="2026-05-30T00:00:00.000Z")]
    assert order(skills) == ["b", "a"]


def test_a_time_in_the_future_counts_as_now() -> None:
    later, today = "2030-01-01T00:00:00.000Z", "2026-06-01T00:00:00.000Z"
    skills = [skill("b", last_used_at=later), skill("a", last_used_at=today)]
    assert order(skills) == ["a", "b"]  # equal scores, so by id


def test_the_context_breaks_a_tie() -> None:
    skills = [skill("a", keywords=("kubernetes",)), skill("b", keywords=("terraform",))]
    assert order(skills, context="we use terraform here") == ["b", "a"]


def test_an_unrelated_query_finds_nothing() -> None:
    assert ranked("birthday present", [skill("a")], 0.18) == []
    assert ranked("birthday present", [skill("a")], None) == []


def test_among_more_skills_a_match_must_be_nearer() -> None:
    cosines = np.array([[0.45]])
    for pool, found in ((100, 1), (100_000, 0)):
        assert len(rank(asked("fix it soon", pool), [skill("a")], cosines=cosines, now=NOW)) == found


def test_a_small_cosine_is_made_up_for_by_shared_words() -> None:
    assert [item.id for item in ranked("deploy service", [skill("a")], 0.1)] == ["a"]
    assert ranked("deploy a teapot collection", [skill("a")], 0.1) == []


def test_a_skill_without_a_vector_yet_fits_by_its_words() -> None:
    skills = [skill("a"), skill("b", description="bake a cake")]
    assert [item.id for item in ranked("deploy the service", skills, [float("nan"), 0.1])] == ["a"]
    assert ranked("birthday present", skills, [float("nan"), 0.1]) == []


def test_a_skill_of_the_project_that_asks_needs_one_shared_word_only() -> None:
    story = "a customer received the wrong teapot and wonders whether the service could send another one by Friday"
    assert [item.id for item in ranked(story, [skill("a", project="mine")], 0.15, project="mine")] == ["a"]
    assert ranked(story, [skill("a", project="")], 0.15, project="mine") == []
    for cosine in (0.15, None):
        assert ranked("birthday present", [skill("a", project="mine")], cosine, project="mine") == []


STORY = "someone received the wrong teapot and wonders whether another one could be sent by Friday"


def drawn(key: str, *episodes: str, **fields: Any) -> Skill:
    return skill(key, episodes=episodes, **fields)


def scores(skills: list[Skill], cosine: float | list[float] | None = 0.6, **fields: Any) -> dict[str, float]:
    """As shares of the score of a skill that fits best and was drawn from nothing."""
    query = "deploy the service"
    (plain,) = ranked(query, [skill("z")], None if cosine is None else 0.6)
    return {item.id: item.score / plain.score for item in ranked(query, skills, cosine, **fields)}


def test_the_skill_that_worked_for_a_task_like_this_goes_first() -> None:
    # Nearest past task .9, so precedents are 0.3 of the score; a: .7 + .3 * .45 / .9 = .85; b: .7 + .3 = 1.
    skills, precedents = [drawn("a", "e1"), drawn("b", "e2", "e3")], [("e3", 0.9), ("e1", 0.45), ("e2", 0.4)]
    assert scores(skills, precedents=precedents) == pytest.approx({"b": 1.0, "a": 0.85})


def test_precedents_count_by_how_near_the_nearest_of_all_is() -> None:
    # Nearest .75, half-way from .6 to .9: a share of .15; a: .85 + .15 * .3 / .75 = .91. At .6 they do not count.
    skills = [drawn("a", "e1"), drawn("b", "e2")]
    half = scores(skills, precedents=[("e2", 0.75), ("e1", 0.3)])
    assert half == pytest.approx({"b": 1.0, "a": 0.91})
    none = scores(skills, precedents=[("e2", 0.6), ("e1", 0.1)])
    assert none == pytest.approx({"a": 1.0, "b": 1.0})


def test_an_episode_that_was_not_found_counts_as_the_last() -> None:
    skills = [drawn("a", "far"), drawn("b", "e2")]
    told = scores(skills, precedents=[("e2", 0.9), ("other", 0.45)])
    assert told == pytest.approx({"b": 1.0, "a": 0.7 + 0.3 * 0.5})


def test_without_vectors_precedents_are_a_fifth_of_the_score() -> None:
    skills = [drawn("a", "e1"), drawn("b", "e2"), drawn("c", "shares no word")]
    told = scores(skills, None, precedents=[("e2", 8.0), ("e1", 2.0)])
    assert told == pytest.approx({"b": 1.0, "a": 0.8 + 0.2 * 0.25, "c": 0.8})


def test_a_skill_drawn_from_no_episode_keeps_its_score() -> None:
    told = scores([skill("a"), drawn("b", "e1")], precedents=[("e1", 0.9)])
    assert told == pytest.approx({"a": 1.0, "b": 1.0})


def test_a_near_precedent_makes_a_skill_fit_whatever_its_words() -> None:
    (found,) = ranked(STORY, [drawn("a", "e1")], 0.1, precedents=[("e1", 0.62)])
    assert found.why == "worked for a task like this (0.62)"
    assert ranked(STORY, [drawn("a", "e1")], 0.1, precedents=[("e1", 0.39)]) == []
    assert ranked(STORY, [drawn("a", "e1")], 0.1, precedents=[("other", 0.62)]) == []


def test_a_lexical_score_is_no_cosine() -> None:
    assert ranked(STORY, [drawn("a", "e1")], None, precedents=[("e1", 9.0)]) == []


def test_far_from_all_past_tasks_a_skill_of_the_project_must_fit_like_any() -> None:
    story = f"{STORY}, or the service cancelled"
    mine = [drawn("a", "e1", project="mine")]
    assert [item.id for item in ranked(story, mine, 0.15, project="mine", precedents=[("e9", 0.25)])] == ["a"]
    assert ranked(story, mine, 0.15, project="mine", precedents=[("e9", 0.24)]) == []


def test_without_projects_what_was_drawn_from_the_episodes_here_is_at_home() -> None:
    story = f"{STORY}, or the service cancelled"
    fields: dict[str, Any] = {"cosine": 0.15, "precedents": [("e9", 0.3)]}
    assert [item.id for item in ranked(story, [drawn("a", "e1")], **fields)] == ["a"]
    assert ranked(story, [skill("a")], **fields) == []
    assert ranked(story, [drawn("a", "e1", project="other")], **fields) == []


def test_no_skill_is_no_answer() -> None:
    assert ranked("deploy service", []) == []


def test_a_skill_that_was_rewritten_is_read_anew() -> None:
    assert [item.id for item in ranked("deploy the service", [skill("a")], None)] == ["a"]
    assert ranked("deploy the service", [skill("a", description="cook a meal")], None) == []
    assert [item.id for item in ranked("cook a meal", [skill("a", description="cook a meal")], None)] == ["a"]


def test_skills_beyond_those_that_are_remembered_rank_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [skill(f"s{number}", description=f"deploy the service {'now ' * number}") for number in range(9)]
    once = ranked("deploy the service now", many)
    monkeypatch.setattr(ordering, "REMEMBERED", 4)
    prepare(many)
    assert ranked("deploy the service now", many) == once
    assert len(once) == 9


TOOLS = (SkillStep(tool="build"), SkillStep(tool="push"))


def test_what_is_all_but_the_same_goes_behind_what_is_not() -> None:
    words = "deploy the service to staging after every test"
    same = [skill(key, description=words, steps=TOOLS, support=9) for key in ("a", "b")]
    other = skill("c", description="restart the service", steps=TOOLS)
    assert order([*same, other]) == ["a", "c", "b"]


def test_other_steps_for_the_same_words_are_another_skill() -> None:
    first, second = skill("a", steps=TOOLS, support=9), skill("b", steps=TOOLS[:1], support=9)
    assert order([first, second, skill("c", description="restart the service", steps=TOOLS)]) == ["a", "b", "c"]


def test_the_reason_is_told_in_words() -> None:
    one = skill("a", use_count=4, success_rate=0.75, project="mine", status="draft", steps=(SkillStep(tool="kubectl"),))
    (found,) = ranked("deploying with kubectl", [one], 0.5, project="mine")
    assert found.why == (
        "shares deploying, kubectl; close in meaning (0.50); 75% success in 4 uses; from this project; "
        "a draft, not proven yet"
    )


def test_unasked_a_precedent_has_to_be_nearer() -> None:
    def fit(cosine: float, **fields: Any) -> bool:
        return bool(ranked(STORY, [drawn("a", "e1")], 0.1, precedents=[("e1", cosine)], **fields))

    assert fit(0.41)
    assert not fit(0.49, unasked={})
    assert fit(0.51, unasked={})


def test_unasked_what_was_learned_here_needs_two_signs() -> None:
    mine = [drawn("a", "e1", project="mine", keywords=("zebra",))]
    tasks = {"e1": "feed the zebra", "e2": "paint the fence", "e3": "paint the door"}

    def fit(query: str, cosine: float | None, near: float, told: dict[str, str] | None) -> bool:
        return bool(ranked(query, mine, cosine, project="mine", precedents=[("e1", near), ("e2", 0.3)], unasked=told))

    one_word = "count every zebra near lakes, rivers, hills and mountains at dawn, dusk and noon"
    no_word = "count every lion near lakes, rivers, hills and mountains at dawn, dusk and noon"
    assert fit(one_word, 0.1, 0.3, None)
    assert not fit(one_word, 0.1, 0.3, {})
    assert fit(one_word, 0.1, 0.41, {})  # its word, and a task that is somewhat near
    assert fit(one_word, 0.1, 0.3, tasks)  # its word, which tells its tasks from others
    assert not fit(one_word, 0.1, 0.3, {**tasks, "e4": "wash the zebra"})  # as often said of others
    assert not fit(no_word, 0.1, 0.41, {})
    assert fit(one_word, None, 0.3, None)
    assert not fit(one_word, None, 0.3, {})
    assert fit(one_word, None, 0.3, tasks)


def test_unasked_no_score_is_another() -> None:
    skills = [drawn("a", "e1"), skill("b", keywords=("zebra",))]
    fields: dict[str, Any] = {"precedents": [("e1", 0.7)]}
    assert ranked("deploy the service", skills, **fields, unasked={}) == ranked("deploy the service", skills, **fields)
