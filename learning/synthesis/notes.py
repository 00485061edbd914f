"""What the notes of steps say, in words, and what is left of it where other steps stand before."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from prowess.learning.synthesis.calls import key_of
from prowess.learning.synthesis.grammar import listed
from prowess.storage.models import SkillStep

__all__ = ["CHANGE_FILES", "EACH", "JOINT", "before_in_words", "behind", "in_words", "renamed"]

CHANGE_FILES = "change the files"  # of moves: what a client's own tools for it do
EACH = "repeat for each "
JOINT = "; "  # between what a note says

_FIRST = re.compile(r"(?:(?:some|most) )?((?:use|run) .*) first")
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
    return f"`{line}`" if line else " and ".join(dict.fromkeys(programs.split("|")))


def _listed_runs(runs: Sequence[str], joint: str) -> str:
    several = len(runs) > 1 and any(" and " in run for run in runs if not run.startswith("`"))
    return f"{', '.join(runs[:-1])}, {joint} {runs[-1]}" if several else listed(runs, joint)


def before_in_words(every: Sequence[str], some: Sequence[str], share: str) -> list[str]:
    """What all did before a step, and what ``share`` of them did."""
    told = [f"{in_words(every, 'and')} first" if every else ""]
    told += [" ".join(filter(None, (share, in_words(some, "or"), "first"))) if some else ""]
    return list(filter(None, told))


def behind(earlier: Sequence[SkillStep], step: SkillStep) -> SkillStep:
    """``step`` with nothing in its note that ``earlier`` steps of the same procedure do already."""
    if " first" not in step.note:
        return step
    done = {name for one in earlier for name in _names(one)}
    parts = [part for part in step.note.split(JOINT) if not _is_done(part, done)]
    return replace(step, note=JOINT.join(parts))


def _is_done(part: str, done: Collection[str]) -> bool:
    found = _FIRST.fullmatch(part)
    return found is not None and all(
        move.removeprefix("use ").removeprefix("run ") in done for move in _BETWEEN.split(found[1])
    )


def _names(step: SkillStep) -> set[str]:
    """What a note calls a step: its tool, or the programs that it runs."""
    tool, _, programs = key_of(step.tool or "", step.args_template or {}).partition(":")
    return set(programs.split("|")) if programs else {tool}


def renamed(note: str, given: Mapping[str, object]) -> str:
    """``note`` where placeholders have other names: ``given`` are templates by their names before."""

    def one(found: re.Match[str]) -> str:
        new = given.get(found[1])
        return f"{EACH}{new[1:-1]}" if isinstance(new, str) and re.fullmatch(r"\{\w+\}", new) else found[0]

    return re.sub(rf"{EACH}(\w+)", one, note)
