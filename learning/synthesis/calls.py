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
from prowess.learning.synthesis.clients import is_shell, plain_args
from prowess.learning.synthesis.commands import (
    COMMAND_ARGUMENTS,
    LONGEST_LINE,
    line_of,
    plain_line,
    programs_in,
    project_program,
)
from prowess.learning.text import entries
from prowess.storage.models import Step, Trajectory

__all__ = [
    "OPEN_COMMAND", "Call", "Run", "calls_of", "is_lookup", "is_of_project", "key_of", "runs_of", "succeeded",
    "words_of",
]  # fmt: skip

OPEN_COMMAND = "a command of "  # begins the note of a step whose template leaves open what is run; its programs follow
MAX_RUNS = 60  # alignment is quadratic in the length; longer episodes keep their end, where the outcome is made

# First words of names that only look: they lead up to an outcome and seldom make it.
_LOOKUPS = """
calculate cat cd check count describe df diff display du echo fetch file find get glob grep head help inspect is less
list locate look lookup ls more ps pwd query read retrieve search show sort stat status tail think tree uniq verify view
wc web which who whoami
"""
LOOKUPS = frozenset(_LOOKUPS.split())
_LOOKUPS_OF_TWO = """
alembic current; alembic heads; alembic history; dbt debug; dbt list; dbt ls; helm history; helm list; helm status
terraform output; terraform show; terraform validate
apt list; aws s3 ls; brew info; brew list; cargo metadata; cargo tree
docker images; docker inspect; docker logs; docker ps
gh issue list; gh issue view; gh pr checks; gh pr diff; gh pr list; gh pr view; gh release list; gh release view
gh repo view; gh run list; gh run view; gh search; git blame; git branch; git describe; git diff; git grep; git log
git ls-files; git ls-tree; git merge-base; git rev-list; git rev-parse; git shortlog; git show; git stash list
git status; git worktree list; go doc; go env; go list; go mod graph; go mod why; go version; kubectl describe
kubectl get; kubectl logs; npm list; npm ls; npm outdated; npm view; pip freeze; pip list; pip show; uv pip list
"""
LOOKUPS_OF_TWO = frozenset(entries(_LOOKUPS_OF_TWO)) | {
    f"{database} {statement}"
    for database in ("duckdb", "mysql", "psql", "sqlite3")
    for statement in ("describe", "explain")  # what is asked for with a query may be the outcome
}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATOR = re.compile(r"[\W_]+")


class Call(msgspec.Struct, frozen=True):
    """One tool call that worked, with its plain arguments; ``position`` is its step's index in the trajectory."""

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
        return all(program.split(" ")[0] in LOOKUPS or program in LOOKUPS_OF_TWO for program in command.split("|"))
    name = tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1]
    words = words_of(name)
    return bool(words) and words[0] in LOOKUPS


def is_of_project(key: str) -> bool:
    """Whether the call runs a usual tool of software projects."""
    return any(map(project_program, key.partition(":")[2].split("|")))


def key_of(tool: str, args: dict[str, Any]) -> str:
    """The tool and, for a command line, its programs."""
    for argument in COMMAND_ARGUMENTS:
        value = args.get(argument)
        if (isinstance(value, str) or is_shell(tool)) and (line := line_of(value)).strip():
            if "\n" in line and not is_shell(tool) and line.split(maxsplit=1)[0] == tool:
                line = line.strip().partition("\n")[0]  # an agent's own command: what follows is a text that it is told
            programs = programs_in(plain_line(line)[:LONGEST_LINE])
            return f"{tool}:{'|'.join(programs)}" if programs else tool
    return tool


def succeeded(step: Step) -> bool:
    """Whether a step may be part of a skill: it called a tool and nothing says that it failed."""
    return step.tool is not None and not step.error and step.outcome != "failure"


def calls_of(trajectory: Trajectory) -> list[Call]:
    """The tool calls that worked, in order; none of an episode that is not whole: their arguments are not known."""
    if not trajectory.whole:
        return []
    return [
        Call(step.tool, key_of(step.tool, step.args or {}), plain_args(step.tool, step.args or {}), index)
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
