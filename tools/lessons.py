"""What patterns teach, in words: a lesson from each recovery that helps, a warning from each failure that recurs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from prowess.learning.counting import seen_in
from prowess.learning.memories.client_errors import is_of_client, misses_a_file
from prowess.learning.memories.instead import only_files
from prowess.learning.memories.lessons import LESSON_ID, WARNING_ID, stable_id, subject_of
from prowess.learning.synthesis.calls import is_lookup
from prowess.storage.models import Memory, Pattern, Trust

__all__ = ["about", "got_over", "memories_from", "memory_of", "stable_id"]

KEPT = 60  # memories of one reflection: beyond, they are too rare to be worth a line

_KINDS: dict[str, Literal["lesson", "warning"]] = {"recovery": "lesson", "failure": "warning"}


def memories_from(patterns: Sequence[Pattern], *, project: str, at: str, trust: Trust) -> list[Memory]:
    """One memory for each of the first 60 recovery and failure patterns, for ``project``; without one, for the project
    that alone shows it, or else for all.

    None for a command line that worked once files were changed, as most do, nor for what a client says of its tools,
    and no warning of an error that was got over: the way out says more.

    The same pattern in the same project always gives the same id, which is also that of what an episode teaches of it.
    """
    over = got_over(patterns)
    left = (pattern for pattern in patterns if pattern.kind != "failure" or about(pattern) not in over)
    made = (memory_of(pattern, project=project, at=at, trust=trust) for pattern in left)
    return [memory for memory in made if memory is not None][:KEPT]


def got_over(patterns: Sequence[Pattern]) -> set[str]:
    """The subjects of errors that were got over, whatever did it."""
    return {about(pattern) for pattern in patterns if pattern.kind == "recovery"} - {""}


def memory_of(pattern: Pattern, *, project: str, at: str, trust: Trust) -> Memory | None:
    """What one pattern teaches; None where that is nothing to remember."""
    if pattern.kind not in _KINDS or _is_plain(pattern):
        return None
    return _memory(pattern, project, at, trust)


def _is_plain(pattern: Pattern) -> bool:
    verb, error = _told(pattern, "verb"), _told(pattern, "error")
    if is_of_client(error) or misses_a_file(verb, error):
        return True
    tool, _, program = verb.partition(":")
    fix = [str(step) for step in pattern.detail.get("fix") or ()]
    # How a line was called otherwise, and where to was gone, is known to the episodes alone.
    return bool(tool and program) and (not fix or only_files(fix) or fix == [f"{tool}:cd"])


def _memory(pattern: Pattern, project: str, at: str, trust: Trust) -> Memory:
    kind = _KINDS[pattern.kind]
    project = project or str(pattern.detail.get("home") or "")
    return Memory(
        id=_id(pattern, kind, project),
        kind=kind,
        text=_words(pattern),
        at=at,
        project=project,
        episode_id=pattern.examples[0] if pattern.examples else None,
        trust=trust,
        importance=abs(pattern.effect or 0.0) + pattern.support / (pattern.support + 10),
        subject=about(pattern),
        support=pattern.support,
    )


def _id(pattern: Pattern, kind: str, project: str) -> str:
    verb, error = _told(pattern, "verb"), _told(pattern, "error")
    if not (verb and error):
        return stable_id(kind, project, pattern.id)
    if kind == "warning":
        return stable_id(WARNING_ID, project, verb, error)
    fix = [str(step) for step in pattern.detail.get("fix") or ()]
    done = [step for step in fix if not is_lookup(step)] or fix  # as lessons of episodes are known
    return stable_id(LESSON_ID, project, verb, error, *done)


def about(pattern: Pattern) -> str:
    """The subject of memories about the error that a pattern tells of; "" where it tells of none."""
    verb, error = _told(pattern, "verb"), _told(pattern, "error")
    return subject_of(verb, error) if verb and error else ""


def _told(pattern: Pattern, name: str) -> str:
    return str(pattern.detail.get(name) or "")


def _words(pattern: Pattern) -> str:
    """The pattern as something to know before acting; its statistics stand in the pattern itself."""
    seen = seen_in(pattern.support)
    verb, error = pattern.detail.get("verb"), pattern.detail.get("error")
    if not (verb and error):
        return pattern.statement
    if pattern.kind == "failure":
        return f"{verb} fails with “{error}” {seen}"
    return f"When {verb} failed with “{error}”, it worked after {_fix(pattern)} {seen}"


def _fix(pattern: Pattern) -> str:
    changed = [str(name) for name in pattern.detail.get("changed") or ()]
    steps = [str(step) for step in pattern.detail.get("fix") or ()]
    other = f" with another {', '.join(changed)}" if changed else ""
    return f"{' → '.join(steps) or 'calling it again'}{other}"
