"""Which memories a rule made that was given up since."""

from __future__ import annotations

import pytest

from prowess.learning.memories.lessons import subject_of
from prowess.learning.memories.outdated import is_outdated
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


def test_what_a_client_says_of_its_own_tools_is_outdated_unless_it_tells_where_a_file_lies() -> None:
    unread, missing = subject_of("Edit", "File has not been read yet."), subject_of("Read", "File does not exist.")
    assert is_outdated(memory(subject=unread))
    assert is_outdated(
        memory(subject=missing, text="When Read failed with “File does not exist.”, it worked after Glob")
    )
    there = "When Read failed with “File does not exist.”, it worked after Glob with `a/x.py` instead of `b/x.py`"
    assert not is_outdated(memory(subject=missing, text=there))
    assert not is_outdated(memory(subject=subject_of("Edit", "Error: x.py is generated")))
    assert not is_outdated(memory(subject=subject_of("Bash:cat", "No such file or directory")))
    assert not is_outdated(memory(subject="task | file has not been read yet"))
