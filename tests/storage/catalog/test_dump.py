"""How the journal is cut into batches, and how often it is applied, makes no difference to the rows."""

from __future__ import annotations

import json
import tempfile
from itertools import pairwise
from pathlib import Path

from catalogkit import AT, at, envelopes, feed, opened, project, remembered, saved, scored, step, used
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.storage.catalog import Catalog
from prowess.storage.events import (
    ControllerAdopted,
    EpisodeClosed,
    EpisodeDescribed,
    Event,
    ExposureMade,
    Forgotten,
    MemoryDeleted,
    ModelAnswered,
    PatternsReflected,
    SkillPinned,
    SkillStatusSet,
    SkillTrialEnded,
)
from prowess.storage.models import ExposedSkill, Exposure, Pattern

EPISODES = st.sampled_from(["e1", "e2", "e3"])
SKILLS = st.sampled_from(["k1", "k2"])
MEMORIES = st.sampled_from(["m1", "m2"])
KEYS = st.uuids().map(str)
WORDS = st.text(st.sampled_from("ab \0é日'\"*"), max_size=8)


def exposure(key: str, skill: str, episode: str) -> ExposureMade:
    skills = (ExposedSkill(skill_id=skill, version=1, rank=1, score=0.5),)
    return ExposureMade(exposure=Exposure(id=key, at=AT, query="q", episode_id=episode, skills=skills))


def reflected(key: str, project_name: str, episode: str) -> PatternsReflected:
    pattern = Pattern(id=key, kind="sequence", statement="s", support=2, examples=(episode,), project=project_name)
    return PatternsReflected(reflection_id=key, project=project_name, at=AT, patterns=(pattern,))


EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(lambda e, t: opened(e, task=t), EPISODES, WORDS),
    st.builds(lambda e, t: EpisodeDescribed(episode_id=e, task=t), EPISODES, WORDS),
    st.builds(lambda e: EpisodeClosed(episode_id=e, at=at(1)), EPISODES),
    st.builds(lambda e, n, a: step(n, e, action=a), EPISODES, st.integers(1, 70), WORDS),
    st.builds(lambda k, v, e: scored(k, v, e), KEYS, st.none() | st.floats(-10, 10), EPISODES),
    st.builds(lambda k, n, v: saved(k, name=n, version=v), SKILLS, WORDS, st.integers(1, 3)),
    st.builds(lambda k: SkillStatusSet(skill_id=k, status="archived", at=AT), SKILLS),
    st.builds(lambda k: SkillTrialEnded(skill_id=k, at=AT), SKILLS),
    st.builds(lambda k, p: SkillPinned(skill_id=k, pinned=p, at=AT), SKILLS, st.booleans()),
    st.builds(lambda u, ok, k, e: used(u, ok, k, e), KEYS, st.booleans(), SKILLS, EPISODES),
    st.builds(exposure, KEYS, SKILLS, EPISODES),
    st.builds(reflected, KEYS, st.sampled_from(["", "shop"]), EPISODES),
    st.builds(lambda m, t, e: remembered(m, t, episode_id=e), MEMORIES, WORDS, EPISODES | st.none()),
    st.builds(lambda m: MemoryDeleted(memory_id=m, at=AT), MEMORIES),
    st.builds(lambda p, b: ControllerAdopted(project=p, at=AT, bank=b), st.sampled_from(["", "shop"]), KEYS),
    st.builds(
        lambda k: ModelAnswered(
            call_id=k, at=AT, purpose="p", model="m", input_tokens=1, output_tokens=1, cost_usd=0.1, ok=True
        ),
        KEYS,
    ),
    st.builds(
        lambda e, k, m: Forgotten(at=AT, episode_ids=(e,), skill_ids=(k,), memory_ids=(m,)), EPISODES, SKILLS, MEMORIES
    ),
)


def found_words(path: Path) -> list[object]:
    catalog = Catalog(path)
    try:
        return [catalog.lexical(kind, "a b aa ab ba é 日", 50) for kind in ("skill", "episode", "memory")]
    finally:
        catalog.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=40), st.sets(st.integers(1, 39)))
def test_any_batches_give_the_same_dump_and_the_same_search(events: list[Event], cuts: set[int]) -> None:
    journal = envelopes(events)
    edges = [0, *sorted(cut for cut in cuts if cut < len(journal)), len(journal)]
    batches = [journal[start:end] for start, end in pairwise(edges)]
    with tempfile.TemporaryDirectory() as folder:
        whole, cut, singly = (Path(folder) / name for name in ("whole.db", "cut.db", "singly.db"))
        expected = project(whole, [journal])
        assert project(cut, batches) == expected
        assert project(singly, [[one] for one in journal]) == expected
        assert found_words(cut) == found_words(whole) == found_words(singly)


def test_a_rebuild_in_the_same_file_gives_the_same_dump(catalog: Catalog) -> None:
    events = [opened(task="a"), step(1), scored("r1", 2.0), saved(), used("u1", False), remembered()]
    feed(catalog, *events)
    before = catalog.dump()
    catalog.reset()
    assert catalog.dump() == {**{table: [] for table in before}, "migrations": before["migrations"]}
    feed(catalog, *events)
    assert catalog.dump() == before


def test_a_dump_is_json_and_names_every_projected_table(catalog: Catalog) -> None:
    feed(catalog, opened(task="nul \0"), saved())
    dump = catalog.dump()
    assert json.loads(json.dumps(dump)) == dump
    assert list(dump) == [
        "controllers", "episodes", "exposed_skills", "exposures", "history", "lamport", "memories", "migrations",
        "model_calls", "patterns", "rewards",
        "skill_uses", "skill_versions", "skills", "steps", "tombstones",
    ]  # fmt: skip
    assert dump["episodes"][0]["task"] == "nul \0"
    assert "num" not in dump["episodes"][0]
