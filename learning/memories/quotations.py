"""What a lesson or a warning quotes: the error, and how it worked as it was called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prowess.learning.counting import SEEN_IN
from prowess.storage.models import Memory

__all__ = ["each_way_once", "error_in", "example_in", "with_error", "with_example", "without_example"]

_INSTEAD = re.compile(r" with `.{1,200}` (?:instead of `.{1,200}`|before it)")
_HOW = re.compile(rf"(?<=”, it worked) .{{1,800}}?(?=\Z| {SEEN_IN}\Z)", re.DOTALL)
_ERROR = re.compile(r"“(.{0,400}?)”(?=, it (?:worked|failed)|\Z| \(seen in )", re.DOTALL)
_REASON = re.compile(rf"“.{{0,400}}?” ((?:worked|failed): .{{1,800}}?)(?=\Z| {SEEN_IN}\Z)", re.DOTALL)


def error_in(text: str) -> str:
    """The error that a lesson or warning quotes; "" without one."""
    found = _ERROR.search(text)
    return found[1] if found else ""


def with_error(text: str, error: str) -> str:
    """A lesson or warning that quotes ``error`` in place of what it quotes."""
    return _ERROR.sub(lambda _: f"“{error}”", text, count=1)


def example_in(text: str) -> str:
    """How it worked by a lesson's words, where they name a call; "" elsewhere."""
    found = _HOW.search(text)
    return found[0] if found and "`" in found[0] else ""


def with_example(text: str, example: str) -> str:
    """A lesson that tells ``example``, as ``example_in`` finds it, of how it worked; as it is where there is none.

    What it is about is known by its subject.
    """
    return _HOW.sub(lambda _: example, text, count=1) if example else text


def without_example(text: str) -> str:
    """A lesson without what was called instead."""
    told = _INSTEAD.sub("", text)
    return f"{told} after calling it again" if told.endswith("”, it worked") else told


def each_way_once(memories: Iterable[Memory]) -> Iterator[Memory]:
    """Of lessons that tell the same way out of several errors the first, and of those that give several tasks' end the
    same reason.
    """
    ways = set[str]()
    for memory in memories:
        reason = _REASON.match(memory.text)
        way = reason[1] if reason else example_in(memory.text).partition(" instead of ")[0]
        if not way or way not in ways:
            yield memory
        ways.add(way)
