"""Tools that a project gave up, by a person's word: what would call them again misleads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prowess.learning.memories.interchangeable import forbidden_by, role_of
from prowess.learning.memories.lessons import RULE, SAID, TASK
from prowess.learning.memories.quotations import example_in
from prowess.learning.synthesis.calls import key_of
from prowess.learning.synthesis.commands import programs_in
from prowess.learning.text import words
from prowess.tools.skills import flat_steps, known_parts

if TYPE_CHECKING:
    from prowess.storage.models import Memory, Skill
    from prowess.storage.store import Store
    from prowess.tools.precedents import Match

__all__ = ["GivenUp", "calls_given_up", "given_up", "in_use", "is_given_up"]

_MOVED = re.compile(r"\b(?:chang|migrat|mov|switch)(?:e|ed|es|ing) (?:(?:back|over) )?to (\w+)", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`]{1,200})`")

GivenUp = Mapping[str, str]  # each tool with the time of the rule


def given_up(memories: Iterable[Memory]) -> dict[str, str]:
    """Each tool that a rule among ``memories`` forbids, or another took the place of, with the time of that rule."""
    rules = [one for one in memories if one.subject.startswith(RULE) and one.superseded_by is None]
    found: dict[str, str] = {}
    for rule in rules:
        for tool in _against(rule.text.removeprefix(SAID)):
            found[tool] = max(found.get(tool, ""), rule.at)
    return found


def _against(rule: str) -> frozenset[str]:
    """npm and the like of "we use pnpm here, not npm", and of "we moved to pnpm"."""
    tools = {word for moved in _MOVED.finditer(rule) for word in words(moved[1]) if role_of(word)}
    others = frozenset[str]().union(*(role_of(tool) for tool in tools))
    return (others | forbidden_by(rule)) - tools


def is_given_up(lesson: Memory, tools: GivenUp) -> bool:
    """Whether the way out that ``lesson`` tells calls one of ``tools``, and it was not borne out since."""
    if not tools or lesson.kind != "lesson" or lesson.subject.startswith((TASK, RULE)):
        return False
    way = example_in(lesson.text).partition(" instead of ")[0]
    return _calls(programs_in("; ".join(_QUOTED.findall(way))), tools, since=lesson.at)


def calls_given_up(steps: Iterable[Mapping[str, Any]], tools: GivenUp, *, since: str) -> bool:
    """Whether one of ``steps`` calls one of ``tools``, by a rule that is not older than ``since``."""
    keys = [key_of(step["tool"], step.get("args") or {}) for step in steps if step.get("tool")] if tools else []
    return any(_calls(key.partition(":")[2].split("|"), tools, since=since) for key in keys)


async def in_use(matches: Sequence[Match], tools: GivenUp, store: Store) -> list[Match]:
    """Without the skills that call one of ``tools``, unless they were used since."""
    if not tools:
        return list(matches)
    parts = await known_parts([skill for _, skill in matches], store)
    return [match for match in matches if not _is_old(match[1], parts, tools)]


def _is_old(skill: Skill, parts: Mapping[str, Skill], tools: GivenUp) -> bool:
    steps = ({"tool": step.tool, "args": step.args_template} for step in flat_steps(skill, parts))
    return calls_given_up(steps, tools, since=skill.last_used_at or "")


def _calls(programs: Iterable[str], tools: GivenUp, *, since: str) -> bool:
    return any(since <= tools[name] for program in programs if (name := program.split(" ")[0]) in tools)
