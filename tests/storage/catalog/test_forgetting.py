"""Forgetting takes rows, words, vectors and bytes, and leaves tombstones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from catalogkit import AT, at, envelopes, feed, opened, project, remembered, saved, scored, step, used

from prowess.storage.catalog import Catalog
from prowess.storage.catalog.adapter import Backend, Connection
from prowess.storage.errors import UnknownEpisode, UnknownSkill
from prowess.storage.events import Event, ExposureMade, Forgotten, PatternsReflected
from prowess.storage.models import ExposedSkill, Exposure, Pattern

SECRET = "zanzibarquux"


def exposure(key: str, episode: str | None, skill: str = "k1") -> ExposureMade:
    skills = (ExposedSkill(skill_id=skill, version=1, rank=1, score=1.0),)
    return ExposureMade(exposure=Exposure(id=key, at=AT, query=f"{SECRET} how", episode_id=episode, skills=skills))


def patterns(reflection: str, *examples: str) -> PatternsReflected:
    found = Pattern(id="p1", kind="sequence", statement="a then b", support=2, examples=examples)
    return PatternsReflected(reflection_id=reflection, project="", at=AT, patterns=(found,))


HISTORY: list[Event] = [
    opened("e1", task=f"the task of {SECRET}"),
    opened("e2", task="another task"),
    step(1, "e1", action=f"say {SECRET}", error=SECRET, context=SECRET),
    step(1, "e2", action="say hello"),
    scored("r1", 5.0, "e1", reason=SECRET),
    saved("k1"),
    saved("k2", name=SECRET, description=SECRET),
    used("u1", True, "k1", "e1"),
    used("u2", True, "k2", "e2"),
    exposure("x1", "e1"),
    exposure("x2", None, "k2"),
    patterns("f1", "e1", "e2"),
    remembered("m1", f"remember {SECRET}", episode_id="e1"),
    remembered("m2", f"also {SECRET}"),
]
FORGET = Forgotten(
    at=at(9), episode_ids=("e1",), skill_ids=("k2",), memory_ids=("m1", "m2"), exposure_ids=("x2",), reason="asked"
)


def test_forgotten_rows_are_gone_and_buried(catalog: Catalog) -> None:
    feed(catalog, *HISTORY, FORGET)
    with pytest.raises(UnknownEpisode):
        catalog.episode("e1")
    with pytest.raises(UnknownSkill):
        catalog.skill("k2")
    assert (catalog.summaries("e1"), catalog.rewards("e1"), catalog.versions("k2"), catalog.memories()) == ((),) * 4
    dump = catalog.dump()
    assert SECRET not in json.dumps(dump)
    assert [(row["kind"], row["id"], row["at"], row["updated_seq"]) for row in dump["tombstones"]] == [
        (kind, key, at(9), len(HISTORY) + 1)
        for kind, key in [("episode", "e1"), ("exposure", "x2"), ("memory", "m1"), ("memory", "m2"), ("skill", "k2")]
    ]


def test_what_is_left_does_not_name_the_forgotten(catalog: Catalog) -> None:
    feed(catalog, *HISTORY, FORGET)
    [use] = catalog.uses()
    assert (use.id, use.skill_id, use.episode_id) == ("u1", "k1", "")
    assert catalog.skill("k1").use_count == 1
    [shown] = catalog.exposures()
    assert (shown.id, shown.query, shown.episode_id, len(shown.skills)) == ("x1", "", None, 1)
    [found] = catalog.patterns()
    assert found.examples == ("e2",)
    assert [episode.id for episode in catalog.episodes()] == ["e2"]


def test_memories_drawn_from_an_episode_go_with_it(catalog: Catalog) -> None:
    feed(catalog, *HISTORY)
    feed(catalog, Forgotten(at=AT, episode_ids=("e1",)))
    assert [memory.id for memory in catalog.memories()] == ["m2"]


def test_a_forgotten_reflection_takes_its_patterns(catalog: Catalog) -> None:
    feed(catalog, *HISTORY, Forgotten(at=AT, reflection_ids=("f1",)))
    assert catalog.patterns() == ()


def test_forgotten_words_and_vectors_are_not_found(catalog: Catalog) -> None:
    feed(catalog, *HISTORY)
    for kind, key in (("skill", "k2"), ("episode", "e1"), ("memory", "m1")):
        catalog.save_embeddings(kind, "model", [key], np.ones((1, 4), dtype=np.float32))  # type: ignore[arg-type]
        assert catalog.lexical(kind, SECRET, 9)  # type: ignore[arg-type]
    feed(catalog, FORGET)
    for kind in ("skill", "episode", "memory"):
        assert catalog.lexical(kind, SECRET, 9) == []  # type: ignore[arg-type]
        assert catalog.load_index(kind, "model") is None  # type: ignore[arg-type]


def test_no_byte_of_the_forgotten_stays_in_any_file(catalog: Catalog) -> None:
    feed(
        catalog,
        *[opened(f"f{i}", task=f"filler {i} {SECRET}") for i in range(200)],
        *[step(1, f"f{i}") for i in range(9)],
    )
    copy = catalog.path.with_name("catalog.db.before-0001")
    catalog._db.execute("VACUUM INTO ?", (str(copy),))
    assert SECRET.encode() in copy.read_bytes()
    feed(catalog, Forgotten(at=AT, episode_ids=tuple(f"f{i}" for i in range(200))))
    for file in catalog.path.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name
    assert not copy.exists()


def holding(catalog: Catalog) -> list[str]:
    return [file.name for file in catalog.path.parent.iterdir() if SECRET.encode() in file.read_bytes()]


def test_bytes_go_at_the_next_opening_if_the_process_ended_before(
    catalog: Catalog, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(catalog, *HISTORY)
    with monkeypatch.context() as patched:
        patched.setattr("prowess.storage.catalog.catalog.scrub", lambda db: None)
        feed(catalog, FORGET)
    assert holding(catalog)
    catalog.close()
    Catalog(catalog.path, backend=backend).close()
    assert holding(catalog) == []


def test_bytes_that_a_reader_holds_go_with_the_next_batch(catalog: Catalog, backend: Backend) -> None:
    feed(catalog, *HISTORY)
    reader = Connection(catalog.path, backend=backend, read_only=True)
    with reader.snapshot():
        reader.execute("SELECT count(*) FROM episodes")
        feed(catalog, FORGET)
        assert holding(catalog)
    reader.close()
    feed(catalog, opened("e9"))
    assert holding(catalog) == []


def test_a_rebuild_from_erased_events_gives_the_same_rows(tmp_path: Path) -> None:
    history = envelopes([*HISTORY, FORGET])
    live = project(tmp_path / "live.db", [[one] for one in history])
    gone = {"e1", "k2", "m1", "m2", "x2"}
    subjects = {1: "e1", 3: "e1", 5: "e1", 7: "k2", 9: "k2", 11: "x2", 13: "m1", 14: "m2"}
    erased = [
        type(one)(**{**{f: getattr(one, f) for f in one.__struct_fields__}, "data": None})
        if subjects.get(one.seq) in gone
        else one
        for one in history
    ]
    assert project(tmp_path / "rebuilt.db", [erased]) == live
