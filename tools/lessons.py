"""What patterns teach, in words: a lesson from each recovery that helps, a warning from each failure that recurs."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal
from uuid import UUID

from prowess.storage.models import Memory, Pattern, Trust

__all__ = ["memories_from", "stable_id"]

KEPT = 60  # memories of one reflection: beyond, they are too rare to be worth a line

_KINDS: dict[str, Literal["lesson", "warning"]] = {"recovery": "lesson", "failure": "warning"}


def memories_from(patterns: Sequence[Pattern], *, project: str, at: str, trust: Trust) -> list[Memory]:
    """One memory for each of the first 60 recovery and failure patterns.

    The same pattern in the same project always gives the same id.
    """
    telling = [pattern for pattern in patterns if pattern.kind in _KINDS][:KEPT]
    return [_memory(pattern, project, at, trust) for pattern in telling]


def _memory(pattern: Pattern, project: str, at: str, trust: Trust) -> Memory:
    kind = _KINDS[pattern.kind]
    return Memory(
        id=stable_id(kind, project, pattern.id),
        kind=kind,
        text=_words(pattern),
        at=at,
        project=project,
        episode_id=pattern.examples[0] if pattern.examples else None,
        trust=trust,
        importance=abs(pattern.effect or 0.0) + pattern.support / (pattern.support + 10),
    )


def _words(pattern: Pattern) -> str:
    """The pattern as something to know before acting; its statistics stand in the pattern itself."""
    seen = f"(seen in {pattern.support} episodes)"
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


def stable_id(*parts: str) -> str:
    """The same id for the same ``parts``, wherever and whenever it is made."""
    digest = blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=16).digest()
    number = int.from_bytes(digest) & ~(0xF << 76) & ~(0x3 << 62)
    # Version 8 of RFC 9562, section 5.8: made of something else than time and chance.
    return str(UUID(int=number | 8 << 76 | 2 << 62))
