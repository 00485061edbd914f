"""Fills placeholders from what was said and seen: simple, deterministic, and the same for every method."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from _shared import Step

from prowess.learning.synthesis.calls import words_of
from prowess.learning.synthesis.templates import fill, placeholders
from prowess.learning.text import terms

__all__ = ["filled", "opened"]

_QUOTED = re.compile(r"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)|\"([^\"\n]+)\"|(?<!\w)‘([^’\n]+)’|“([^”\n]+)”")  # noqa: RUF001
_NUMBER = re.compile(r"(?<![\w.,/-])\$?(-?\d[\d,]*(?:\.\d+)?)(?![\w/-])")
_MARKED = re.compile(r"[#@]?\b[\w-]*(?:\d|_|\.\w)[\w.@/-]*\b")
_NAMES = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][\w-]+(?: [A-Z][\w-]+)*")
AROUND = 60  # characters in which a placeholder's words speak for a value


def filled(
    steps: Sequence[Step], parameters: Mapping[str, Mapping[str, Any]], said: str, seen: str
) -> list[tuple[str, dict[str, Any]]]:
    """The calls with a value for each placeholder, in order of the steps; no value is used twice for one type.

    A value comes from ``said``, else from ``seen`` (the newest first), else it is the placeholder's example. Optional
    placeholders without a value that their name speaks for are left out.
    """
    values: dict[str, Any] = {}
    taken: set[str] = set()
    for step in steps:
        for name in placeholders(step.args):
            if name not in values:
                values[name] = _value(name, parameters.get(name, {}), said, seen, taken)
                taken.add(_plain(values[name]))
    calls = []
    for step in steps:
        whole = {key: fill(value, values) for key, value in step.args.items()}
        calls.append((step.tool, {key: value for key, value in whole.items() if value is not None}))
    return calls


def opened(steps: Sequence[Step], task: str) -> tuple[tuple[Step, ...], dict[str, dict[str, Any]]]:
    """A raw episode's steps with what its task and earlier observations said as placeholders: what one can know."""
    parameters: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    told, changed = task, []
    for step in steps:
        args = {key: _opened(key, value, told, names, parameters) for key, value in step.args.items()}
        changed.append(Step(step.tool, args))
        told += "\n" + step.observation
    return tuple(changed), parameters


def _opened(key: str, value: Any, told: str, names: dict[str, str], parameters: dict[str, dict[str, Any]]) -> Any:
    text = str(value)
    if isinstance(value, bool | list | dict) or len(text) < 2 or text.casefold() not in told.casefold():
        return value
    if text not in names:
        names[text] = key if key not in parameters else f"{key}_{len(parameters)}"
        kind = {int: "integer", float: "number"}.get(type(value), "string")
        parameters[names[text]] = {"type": kind, "example": value}
    return "{" + names[text] + "}"


def _value(name: str, about: Mapping[str, Any], said: str, seen: str, taken: set[str]) -> Any:
    kind, example = about.get("type", "string"), about.get("example")
    for text, least in ((said, 0.0), (seen[-4_000:], 1.0)):
        found = _best(name, kind, example, text, taken, least)
        if found is not None:
            return found
    return example if about.get("required", True) else None


def _best(name: str, kind: str, example: Any, text: str, taken: set[str], least: float) -> Any:
    if kind in ("array", "object", "boolean"):
        return _list(name, example, text) if kind == "array" else None
    wanted = set(terms(" ".join(words_of(name))))
    options = [
        (_fits(value, example, rank) + _spoken(wanted, text, start, end), -start, value)
        for value, start, end, rank in _candidates(kind, text)
        if _plain(value) not in taken
    ]
    if not options:
        return None
    score, _, value = max(options, key=lambda one: (one[0], one[1]))
    return value if score > least else None


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _list(name: str, example: Any, text: str) -> Any:
    first = str(example[0])[:1] if isinstance(example, list) and example else ""
    if first in ("#", "@"):
        found = re.findall(rf"{first}\w+", text)
        return found or None
    return None


def _candidates(kind: str, text: str) -> list[tuple[Any, int, int, float]]:
    """(value, start, end, rank): quotations first, then what looks like an identifier, then names."""
    if kind in ("integer", "number"):
        cast = int if kind == "integer" else float
        found = [(one[1].replace(",", ""), one.start(), one.end()) for one in _NUMBER.finditer(text)]
        return [(cast(float(value)), start, end, 1.0) for value, start, end in found]
    quoted = [(next(filter(None, one.groups())), one.start(), one.end(), 1.0) for one in _QUOTED.finditer(text)]
    marked = [(one[0].rstrip("."), one.start(), one.end(), 0.6) for one in _MARKED.finditer(text)]
    names = [(one[0], one.start(), one.end(), 0.2) for one in _NAMES.finditer(text)]
    return [*quoted, *marked, *names]


def _fits(value: Any, example: Any, rank: float) -> float:
    """How much a value looks like the example: ending, first sign, digits, capitals, number of words."""
    if example is None or not isinstance(value, str):
        return rank
    mine, other = _shape(value), _shape(str(example))
    return rank + sum(0.4 if left == right else -0.25 for left, right in zip(mine, other, strict=True))


def _shape(text: str) -> tuple[Any, ...]:
    words = len(text.split())
    ending = bool(re.search(r"\.\w{1,5}$", text))
    first = text[:1] if text[:1] in "#@/" else ""
    return ending, first, any(map(str.isdigit, text)), text.isupper(), min(words, 3), "_" in text


def _spoken(wanted: set[str], text: str, start: int, end: int) -> float:
    """How much of the placeholder's name stands near the value, before it rather than behind."""
    if not wanted:
        return 0.0
    before, after = set(terms(text[max(0, start - AROUND) : start])), set(terms(text[end : end + AROUND // 2]))
    return sum(1.0 if word in before else 0.5 if word in after else 0.0 for word in wanted) / len(wanted)
