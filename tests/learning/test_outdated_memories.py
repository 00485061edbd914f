"""Which memories a rule made that was given up since."""

from __future__ import annotations

import pytest

from prowess.learning.memories import subject_of
from prowess.learning.outdated import is_outdated
from prowess.learning.templates import template
from prowess.storage.models import Memory

AT = "2026-11-29T13:50:01.000Z"
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
STOPS = (
    REJECTED,
    "[Request interrupted by user for tool use]",
    "exec command rejected by user",
    "aborted by user after 3.2s",
    "Error: The user rejected permission to use this specific tool call.",
)


def memory(**about: object) -> Memory:
    return Memory(**{"id": "m", "kind": "lesson", "text": "When Bash failed", "at": AT, **about})  # type: ignore[arg-type]


@pytest.mark.parametrize("said", STOPS)
def test_a_lesson_about_what_the_person_stopped_is(said: str) -> None:
    assert is_outdated(memory(subject=subject_of("Bash", template(said))))
    assert is_outdated(memory(made_by=("insert",), text=f"Bash git push error: {said}"))
    assert is_outdated(memory(made_by=("insert",), text=f"Bash git push -> {said}"))


def test_nothing_else_is() -> None:
    assert not is_outdated(memory(subject=subject_of("make", "Error: linker ld not found")))
    assert not is_outdated(memory(subject=f"task | {REJECTED.lower()}"))
    assert not is_outdated(memory(text=f"“ask first” failed: {REJECTED}", subject="task | ask first"))
    assert not is_outdated(memory(made_by=("insert",), text=f"task: {REJECTED}"))
    assert not is_outdated(memory(made_by=("insert",), text="Bash make error: ld not found; the user doesn't want to"))
