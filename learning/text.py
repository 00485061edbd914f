"""Small things about text that several parts of learning need."""

from __future__ import annotations

import re

__all__ = ["clip", "ends", "plain", "words"]

_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[()][A-Z0-9])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def plain(text: str) -> str:
    """``text`` without terminal colours and control characters, with ``\\n`` between lines."""
    return _CONTROL.sub("", _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def words(text: str) -> list[str]:
    """Lower-case words in order; ``snake_case`` and ``camelCase`` are taken apart."""
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", text))]


def clip(text: str, size: int) -> str:
    """At most ``size`` characters of ``text``, cut between words where that costs little, with an ellipsis."""
    if len(text) <= size:
        return text
    head = text[: size - 1]
    space = head.rfind(" ")
    return (head[:space] if space > size * 0.7 else head).rstrip() + "…"


def ends(text: str, size: int) -> str:
    """The first and last ``size`` characters: where a program says what went wrong."""
    return text if len(text) <= 2 * size else f"{text[:size]}\n{text[-size:]}"
