"""Tool calls as skills see them: what was called, which calls carry the outcome, what repeats.

A call's *key* is what sequences of calls are made of: the tool's name and, where the tool runs a command line, the
programs that the command names (``Bash:git commit``, ``bash:find|sort``), since one shell tool does everything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from prowess.learning.remembered import remembered
from prowess.storage.models import Step, Trajectory

__all__ = ["COMMAND_ARGUMENTS", "Call", "Run", "calls_of", "is_lookup", "key_of", "runs_of", "succeeded", "words_of"]

COMMAND_ARGUMENTS = ("command", "cmd", "script")
LONGEST_LINE = 2_000  # characters of a command line that are read; what follows is mostly a file that it writes
MAX_RUNS = 60  # alignment is quadratic in the length; longer episodes keep their end, where the outcome is made

# First words of names that only look: they lead up to an outcome and seldom make it.
_LOOKUPS = """
calculate cat cd check count describe df diff display du echo fetch file find get glob grep head help inspect is less
list locate look lookup ls more ps pwd query read retrieve search show sort stat status tail think tree uniq verify view
wc web which who whoami
"""
LOOKUPS = frozenset(_LOOKUPS.split())
_MULTIPLEXERS = "apt apt-get brew cargo conda docker gh git go kubectl make npm npx pip pnpm poetry uv yarn"
MULTIPLEXERS = frozenset(_MULTIPLEXERS.split())
WRAPPERS = frozenset({"sudo", "env", "time", "nohup", "command", "exec"})

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATOR = re.compile(r"[\W_]+")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
_ASSIGNED = re.compile(r"^\w+=(?:(?=\$\(|`)|.*)")  # X=1 is no program, in X=$(date it is date
_JOINTS = re.compile(r"\|\|?|&&|;|\n")


class Call(msgspec.Struct, frozen=True):
    """One tool call that worked; ``position`` is its step's index in the trajectory."""

    tool: str
    key: str
    args: dict[str, Any]
    position: int


class Run(msgspec.Struct, frozen=True):
    """Neighbouring calls with one key: a repeat over several things counts as one move."""

    key: str
    calls: tuple[Call, ...]


def words_of(name: str) -> list[str]:
    """The lower-case words of an identifier: ``mcp__shop__getOrder`` → mcp, shop, get, order."""
    return [word.lower() for word in _SEPARATOR.split(_CAMEL.sub("_", name)) if word]


@remembered(20_000)
def is_lookup(key: str) -> bool:
    """Whether the call only reads, judged by the first word of its name or by all the programs of its command."""
    tool, _, command = key.partition(":")
    if command:
        return all(program.split(" ")[0] in LOOKUPS for program in command.split("|"))
    name = tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1]
    words = words_of(name)
    return bool(words) and words[0] in LOOKUPS


def key_of(tool: str, args: dict[str, Any]) -> str:
    """The tool and, for a command line, its programs."""
    for argument in COMMAND_ARGUMENTS:
        line = args.get(argument)
        if isinstance(line, str) and line.strip():
            programs = _programs(line[:LONGEST_LINE])
            return f"{tool}:{'|'.join(programs)}" if programs else tool
    return tool


@remembered(20_000)
def _programs(line: str) -> tuple[str, ...]:
    parts = _JOINTS.split(_QUOTED.sub("''", line))
    found = [program for part in parts if (program := _program(part.split()))]
    moved = [program for program in found if program != "cd"]
    return tuple((moved or found)[:4])


def _program(words: list[str]) -> str:
    rest = [plain for word in words if (plain := _ASSIGNED.sub("", word)) and plain not in WRAPPERS]
    if not rest:
        return ""
    name = rest[0].rsplit("/", 1)[-1].strip("()`$'\"")
    second = rest[1] if len(rest) > 1 else ""
    if name in MULTIPLEXERS and second.replace("-", "").isalpha() and not second.startswith("-"):
        return f"{name} {second}"
    return name


def succeeded(step: Step) -> bool:
    """Whether a step may be part of a skill: it called a tool and nothing says that it failed."""
    return step.tool is not None and not step.error and step.outcome != "failure"


def calls_of(trajectory: Trajectory) -> list[Call]:
    """The tool calls that worked, in order; none of an episode that is not whole: their arguments are not known."""
    if not trajectory.whole:
        return []
    return [
        Call(step.tool, key_of(step.tool, step.args or {}), step.args or {}, index)
        for index, step in enumerate(trajectory.steps)
        if step.tool is not None and succeeded(step)
    ]


def runs_of(calls: Sequence[Call]) -> tuple[Run, ...]:
    """Calls with neighbours of the same key put together."""
    runs: list[list[Call]] = []
    for call in calls:
        if runs and runs[-1][0].key == call.key:
            runs[-1].append(call)
        else:
            runs.append([call])
    return tuple(Run(run[0].key, tuple(run)) for run in runs[-MAX_RUNS:])
