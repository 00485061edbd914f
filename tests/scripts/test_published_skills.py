from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "benchmarks/quality/published_skills.json"


def test_no_published_skill_and_no_owner_is_on_both_sides_of_a_split() -> None:
    found = json.loads(SOURCES.read_text(encoding="utf-8"))
    assert [name for name, often in Counter(one["name"] for one in found).items() if often > 1] == []
    sides: dict[str, set[tuple[int, str]]] = {}
    for one in found:
        sides.setdefault(one["repository"].partition("/")[0].lower(), set()).add((one["collection"], one["part"]))
    assert {owner: side for owner, side in sides.items() if len(side) > 1} == {}


def test_of_each_published_collection_the_prompts_are_counted_as_the_docs_tell() -> None:
    found = json.loads(SOURCES.read_text(encoding="utf-8"))
    counted = Counter[tuple[int, str]]()
    for one in found:
        counted[one["collection"], one["part"]] += one["used"]
    build, report = {1: 144, 2: 185, 3: 346}, {1: 94, 2: 185, 3: 329}
    assert {key: counted[key, "build"] for key in build} == build
    assert {key: counted[key, "report"] for key in report} == report
