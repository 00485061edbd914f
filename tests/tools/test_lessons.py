"""What patterns teach, in words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from prowess.storage.models import Pattern, PatternKind
from prowess.tools.lessons import memories_from, stable_id

AT = "2026-11-29T13:50:01.000Z"


def _pattern(kind: PatternKind, **detail: Any) -> Pattern:
    return Pattern(id=f"p-{kind}", kind=kind, statement="as it was found", support=3, examples=("e1",), detail=detail)


@pytest.mark.parametrize(
    ("pattern", "kind", "text"),
    [
        (
            _pattern("failure", verb="Bash", error="ld not found"),
            "warning",
            "Bash fails with “ld not found” (seen in 3 episodes)",
        ),
        (
            _pattern("recovery", verb="Bash", error="ld not found", fix=["Install", "Check"], changed=[]),
            "lesson",
            "When Bash failed with “ld not found”, it worked after Install → Check (seen in 3 episodes)",
        ),
        (
            _pattern("recovery", verb="Bash", error="ld not found", fix=[], changed=["command"]),
            "lesson",
            "When Bash failed with “ld not found”, it worked after calling it again with another command"
            " (seen in 3 episodes)",
        ),
        (_pattern("failure"), "warning", "as it was found"),
    ],
)
def test_a_pattern_is_worded_as_something_to_know_before_acting(pattern: Pattern, kind: str, text: str) -> None:
    (memory,) = memories_from([pattern], project="shop", at=AT, trust="own")
    assert (memory.kind, memory.text, memory.project, memory.episode_id) == (kind, text, "shop", "e1")


def test_other_patterns_teach_nothing() -> None:
    found = [_pattern("sequence"), _pattern("decision"), _pattern("context")]
    assert memories_from(found, project="", at=AT, trust="own") == []


def test_that_a_command_works_once_files_are_changed_teaches_nothing() -> None:
    made = _pattern("recovery", verb="Bash:make test", error="assert", fix=["Read", "Edit"])
    assert memories_from([made], project="", at=AT, trust="own") == []
    other = _pattern("recovery", verb="Bash:make test", error="assert", fix=["Bash:npm install", "Edit"])
    assert len(memories_from([other], project="", at=AT, trust="own")) == 1


def test_an_error_that_was_got_over_is_not_warned_of() -> None:
    failed, other = _pattern("failure", verb="make", error="no ld"), _pattern("failure", verb="make", error="no cc")
    fix = _pattern("recovery", verb="make", error="no ld", fix=["install"])
    texts = [memory.text for memory in memories_from([failed, fix, other], project="", at=AT, trust="own")]
    assert [text.split(" (seen")[0] for text in texts] == [
        "When make failed with “no ld”, it worked after install",
        "make fails with “no cc”",
    ]
    asserts, edited = (
        _pattern(kind, verb="Bash:make test", error="assert", fix=["Edit"]) for kind in ("failure", "recovery")
    )
    assert memories_from([asserts, edited], project="", at=AT, trust="own") == []


def test_that_a_folder_was_gone_to_is_left_to_the_episodes() -> None:
    made = _pattern("recovery", verb="Bash:cargo test", error="no Cargo.toml", fix=["Bash:cd"])
    assert memories_from([made], project="", at=AT, trust="own") == []


def test_the_same_pattern_has_the_same_id_in_its_project_only() -> None:
    ids = [
        memories_from([_pattern("failure")], project=project, at=AT, trust="own")[0].id
        for project in ("shop", "shop", "bank")
    ]
    assert ids[0] == ids[1] != ids[2]


def test_a_stable_id_is_a_uuid_that_tells_its_parts_apart() -> None:
    assert UUID(stable_id("a", "b")).version == 8
    assert stable_id("a", "b") != stable_id("ab")
