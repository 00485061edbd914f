"""Which matches are tried in which episodes, and what the catalog keeps of trials and of evidence."""

from __future__ import annotations

from typing import Any

from catalogkit import at, feed, opened, remembered, saved, scored

from prowess.storage.catalog import Catalog
from prowess.storage.events import EpisodeClosed, Event, ExposureMade, SkillTrialEnded
from prowess.storage.models import ExposedSkill, Exposure


def _asked(key: str, second: int, skill_id: str = "k1", *, shown: bool = True, **where: Any) -> ExposureMade:
    skills = (ExposedSkill(skill_id=skill_id, version=1, rank=1, score=0.5, shown=shown),)
    return ExposureMade(
        exposure=Exposure(id=key, at=at(second), query="q", **{"project": "shop", **where}, skills=skills)
    )


def _ended(key: str, reward: float, second: int, **where: Any) -> list[Event]:
    return [opened(key, at=at(second), **where), scored(f"r-{key}", reward, key)]


def test_a_match_is_tried_in_the_episode_that_it_was_asked_for(catalog: Catalog) -> None:
    feed(
        catalog,
        *_ended("before", 5, 1, task_id="t1", session="s1"),
        EpisodeClosed(episode_id="before", at=at(5)),
        _asked("x1", 10, task_id="t1", session="s1", shown=False),  # the attempt before was over
        *_ended("other", -5, 11, task_id="t1", session="s2"),
        *_ended("own", -5, 12, task_id="t1", session="s1"),
        _asked("x2", 13, episode_id="other"),
        _asked("x3", 14, "k2", session="s3"),  # no task named: what its session does next
        *_ended("next", 5, 20, task_id="t2", session="s3"),
        _asked("x4", 21, "k3", session="s3"),  # … or does now
        *_ended("later", 5, 30, task_id="t3", session="s3"),
        _asked("x5", 40, session="s9"),
        *_ended("tomorrow", 5, 50, task_id="t4", session="s9", project="elsewhere"),
    )
    found = [(t.skill_id, t.episode_id, t.shown, t.success, t.reward) for t in catalog.trials(limit=100)]
    assert found == [
        ("k1", "own", False, False, -5.0),
        ("k1", "other", True, False, -5.0),
        ("k2", "next", True, True, 5.0),
        ("k3", "next", True, True, 5.0),
    ]
    assert [trial.episode_id for trial in catalog.trials(project="shop", limit=1)] == []  # the newest has no episode


def test_of_matches_in_one_episode_the_first_counts(catalog: Catalog) -> None:
    feed(
        catalog,
        *_ended("e1", 5, 1),
        _asked("x1", 2, task_id="t1", shown=False),
        _asked("x2", 3, task_id="t1"),
        *_ended("e2", 0, 4, task_id="t2"),  # an unknown outcome
        _asked("x3", 5, task_id="t2"),
    )
    assert [(trial.shown, trial.at) for trial in catalog.trials(limit=100)] == [(False, at(2))]


def test_a_trial_ends_and_the_version_stays(catalog: Catalog) -> None:
    feed(catalog, saved(version=2, trial_of=1))
    assert catalog.skill("k1").trial_of == 1
    feed(catalog, SkillTrialEnded(skill_id="k1", at=at(3), reason="better"))
    assert (catalog.skill("k1").trial_of, catalog.skill("k1").version) == (None, 2)


def test_a_superseded_memory_is_kept_and_found_no_more(catalog: Catalog) -> None:
    feed(catalog, remembered("m1", "apples help", evidence=("+a", "-b"), subject="s", support=1, against=1))
    assert [key for key, _ in catalog.lexical("memory", "apples", 5)] == ["m1"]
    feed(catalog, remembered("m1", "apples help", superseded_by="m2"))
    assert catalog.lexical("memory", "apples", 5) == []
    assert [memory.superseded_by for memory in catalog.memories()] == ["m2"]
