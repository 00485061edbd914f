"""What the catalog remembers between questions is what it would read anew, whatever happened in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalogkit import AT, cursor, envelopes, feed, opened, remembered, saved, scored, skill, step, used

from prowess.storage.catalog import Catalog
from prowess.storage.events import (
    Event,
    ExposureMade,
    Forgotten,
    MemoryDeleted,
    SkillPinned,
    SkillStatusSet,
)
from prowess.storage.models import ExposedSkill, Exposure

WORDS = ["order", "cancel", "refund", "look", "ask", "lamp"]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = Catalog(tmp_path / "catalog.db")
    yield made
    made.close()


def known(catalog: Catalog) -> list[Any]:
    """All that is remembered: skills by id, and how frequent words are."""
    counts = [catalog.frequencies(kind, WORDS) for kind in ("skill", "episode", "memory")]  # type: ignore[arg-type]
    return [catalog.skills_by_id(["k1", "k2", "k3"]), *counts]


def exposure() -> ExposureMade:
    shown = (ExposedSkill(skill_id="k1", version=1, rank=1, score=0.5),)
    return ExposureMade(exposure=Exposure(id="x1", at=AT, query="refund", project="shop", skills=shown))


HISTORY: list[Event] = [
    opened(task="refund the order"),
    saved("k1"),
    saved("k2", name="Refund", description="Refund an order"),
    step(action="look for the order"),
    opened("e2", session="s2", task="refund another"),
    step(1, "e2", action="look for it"),
    exposure(),
    used("u1", True),
    scored("r1", 8.0),
    remembered("m1", "Ask before a refund"),
    SkillPinned(skill_id="k1", pinned=True, at=AT),
    remembered("m2", "Ask twice"),
    saved("k1", "adjusted", version=2, description="Cancel the order of a lamp"),
    MemoryDeleted(memory_id="m1", at=AT),
    SkillStatusSet(skill_id="k2", status="archived", at=AT),
    step(2, action="cancel it"),
    Forgotten(episode_ids=("e1",), skill_ids=("k2",), at=AT),
    saved("k3", name="Lamp", description="Look for a lamp"),
]


def test_every_event_leaves_remembered_what_would_be_read_anew(catalog: Catalog) -> None:
    for event in HISTORY:
        known(catalog)
        feed(catalog, event)
        anew = Catalog(catalog.path)
        assert known(catalog) == known(anew), event
        anew.close()


def test_nothing_is_remembered_of_a_catalog_that_was_emptied(catalog: Catalog) -> None:
    feed(catalog, saved("k1"))
    assert set(catalog.skills_by_id(["k1"])) == {"k1"}
    catalog.reset()
    assert catalog.skills_by_id(["k1"]) == {}
    catalog.apply(envelopes([saved("k1", description="Sell a lamp")]), cursor(1))
    assert catalog.skills_by_id(["k1"])["k1"].description == "Sell a lamp"
    assert catalog.frequencies("skill", ["lamp", "order"])[0] == {"lamp": 1, "order": 1}  # its tool cancels orders


def test_more_skills_than_are_remembered_are_all_read(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.storage.catalog.reads.REMEMBERED", 2)
    keys = [f"k{number}" for number in range(5)]
    feed(catalog, *(saved(key, name=key) for key in keys))
    for _ in range(2):
        assert list(catalog.skills_by_id(keys[:0:-1])) == keys[1:]
        assert catalog.skills_by_id(keys)["k0"].name == skill("k0", name="k0").name
