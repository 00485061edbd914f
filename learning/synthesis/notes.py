"""What the notes of steps say, in words, and what is left of it where other steps stand before."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from prowess.learning.synthesis.calls import key_of
from prowess.learning.synthesis.clients import is_change
from prowess.learning.synthesis.grammar import listed, programs_of
from prowess.storage.models import SkillStep

__all__ = ["CHANGE_FILES", "EACH", "IF_IT_FAILS_WITH", "JOINT", "before_in_words", "behind", "in_words", "renamed"]

CHANGE_FILES = "change the files"  # of moves: what a client's own tools for it do
EACH = "repeat for each "
JOINT = "; "  # between what a note says
IF_IT_FAILS_WITH = "if it fails with "  # begins what to do about an error

_FIRST = re.compile(r"(?P<share>(?:some|most) )?(?P<moves>(?:use|run|change) .*) first")
_BETWEEN = re.compile(r",? (?:and|or) |, ")


def in_words(moves: Sequence[str], joint: str, commands: Mapping[str, str] | None = None) -> str:
    """Moves by their keys: ``use Read and run docker compose up``. ``commands`` are lines that are told in full."""
    apart = [(move, *move.partition(":")[::2]) for move in moves if move != CHANGE_FILES]
    tools = [tool for _, tool, programs in apart if not programs]
    runs = [_run(programs, (commands or {}).get(move, "")) for move, _, programs in apart if programs]
    told = [
        CHANGE_FILES if CHANGE_FILES in moves else "",
        f"use {listed(tools, joint)}" if tools else "",
        f"run {_listed_runs(runs, joint)}" if runs else "",
    ]
    return f" {joint} ".join(filter(None, told))


def _run(programs: str, line: str) -> str:
    return f"`{line}`" if line else " and ".join(programs_of(f":{programs}") or dict.fromkeys(programs.split("|")))


def _listed_runs(runs: Sequence[str], joint: str) -> str:
    several = len(runs) > 1 and any(" and " in run for run in runs if not run.startswith("`"))
    return f"{', '.join(runs[:-1])}, {joint} {runs[-1]}" if several else listed(runs, joint)


def before_in_words(every: Sequence[str], some: Sequence[str], share: str) -> list[str]:
    """What all did before a step, and what ``share`` of them did."""
    told = [f"{in_words(every, 'and')} first" if every else ""]
    told += [" ".join(filter(None, (share, in_words(some, "or"), "first"))) if some else ""]
    return list(filter(None, told))


def behind(earlier: Sequence[SkillStep], step: SkillStep) -> SkillStep:
    """``step`` with nothing in its note that ``earlier`` steps of the same procedure do or ask for already."""
    if " first" not in step.note:
        return step
    done = {name for one in earlier for name in (*_names(one), *_asked_for(one))}
    return replace(step, note=JOINT.join(filter(None, (_left(part, done) for part in step.note.split(JOINT)))))


def _left(part: str, done: Collection[str]) -> str:
    """What is left of a part of a note without what is ``done``."""
    found = _FIRST.fullmatch(part)
    if found is None:
        return part
    moves = _BETWEEN.split(found["moves"])
    left = [move for move in moves if move.removeprefix("use ").removeprefix("run ") not in done]
    if len(left) == len(moves) or "run " in found["moves"]:
        return part if left else ""
    joint = "or" if " or " in part else "and"
    words = in_words([move.removeprefix("use ") for move in left], joint)
    return f"{found['share'] or ''}{words} first" if words else ""


def _asked_for(step: SkillStep) -> list[str]:
    """What its note says that all do first."""
    parts = [found for part in step.note.split(JOINT) if (found := _FIRST.fullmatch(part)) and not found["share"]]
    moves = [move for found in parts if " or " not in found["moves"] for move in _BETWEEN.split(found["moves"])]
    return [move.removeprefix("use ").removeprefix("run ") for move in moves]


def _names(step: SkillStep) -> set[str]:
    """What a note calls a step: its tool, the programs that it runs, or that files are changed."""
    if is_change(step.tool or "", step.args_template or {}):
        return {CHANGE_FILES}
    tool, _, programs = key_of(step.tool or "", step.args_template or {}).partition(":")
    return set(programs.split("|")) if programs else {tool}


def renamed(note: str, given: Mapping[str, object]) -> str:
    """``note`` where placeholders have other names: ``given`` are templates by their names before."""

    def one(found: re.Match[str]) -> str:
        new = given.get(found[1])
        return f"{EACH}{new[1:-1]}" if isinstance(new, str) and re.fullmatch(r"\{\w+\}", new) else found[0]

    return re.sub(rf"{EACH}(\w+)", one, note)
