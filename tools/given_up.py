"""Tools that a project gave up, by a person's word: what would call them again misleads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prowess.learning.memories.interchangeable import given_up_by
from prowess.learning.memories.lessons import RULE, SAID, TASK
from prowess.learning.memories.quotations import example_in
from prowess.learning.memories.recorded import begun_at
from prowess.learning.synthesis.calls import key_of
from prowess.learning.synthesis.commands import programs_in
from prowess.storage.models import EpisodeFilter
from prowess.tools.skills import flat_steps, known_parts

if TYPE_CHECKING:
    from prowess.storage.models import Memory, Skill
    from prowess.storage.store import Store
    from prowess.tools.precedents import Match

__all__ = ["GivenUp", "begun", "calls_given_up", "given_up", "in_use", "is_given_up"]

_QUOTED = re.compile(r"`([^`]{1,200})`")

_NONE: Mapping[str, str] = {}

GivenUp = Mapping[str, str]  # each tool with the time of the rule


def given_up(memories: Iterable[Memory]) -> dict[str, str]:
    """Each tool that a rule among ``memories`` gives up, with the time of that rule.

    Who is not trusted takes nothing from the agents here.
    """
    rules = [one for one in memories if one.subject.startswith(RULE) and one.superseded_by is None]
    rules = [one for one in rules if one.trust != "untrusted"]
    found: dict[str, str] = {}
    for rule in rules:
        for tool in given_up_by(rule.text.removeprefix(SAID)):
            found[tool] = max(found.get(tool, ""), rule.at)
    return found


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


async def begun(ids: Iterable[str], tools: GivenUp, store: Store) -> dict[str, str]:
    """When the work of those episodes began, by id; empty where it does not matter, since no tool was given up."""
    keys = sorted(set(ids)) if tools else []
    if not keys:
        return {}
    found = await store.near_episodes(None, also=keys, limit=0, wanted=EpisodeFilter(trusted=True))
    return {one.episode.id: begun_at(one) for one, _ in await store.outlines(found.episodes)}


async def in_use(matches: Sequence[Match], tools: GivenUp, store: Store) -> list[Match]:
    """Without the skills that call one of ``tools``, unless they were used or drawn from a task since, or pinned."""
    if not tools:
        return list(matches)
    parts = await known_parts([skill for _, skill in matches], store)
    old = {skill.id: skill for _, skill in matches if not skill.pinned and _calls_old(skill, parts, tools)}
    began = await begun((key for skill in old.values() for key in skill.episodes), tools, store)
    return [
        match
        for match in matches
        if (skill := old.get(match[1].id)) is None or not _calls_old(skill, parts, tools, began)
    ]


def _calls_old(skill: Skill, parts: Mapping[str, Skill], tools: GivenUp, began: Mapping[str, str] = _NONE) -> bool:
    steps = ({"tool": step.tool, "args": step.args_template} for step in flat_steps(skill, parts))
    written = skill.created_at if skill.author == "person" else ""
    times = [skill.last_used_at or "", written, *(began.get(key, "") for key in skill.episodes)]
    return calls_given_up(steps, tools, since=max(times))


def _calls(programs: Iterable[str], tools: GivenUp, *, since: str) -> bool:
    return any(since <= tools[name] for program in programs if (name := program.split(" ")[0]) in tools)
