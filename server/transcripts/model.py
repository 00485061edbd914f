"""What the readers of all clients make of a transcript."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["MAX_TOLD", "Broken", "Call", "Event", "Notes", "Prompt", "Said", "Session", "Source", "Task"]

_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\r?\n)+")
MAX_TOLD = 100  # broken lines that are told with their reason; all are counted


@dataclass(slots=True)
class Call:
    """One tool call. ``ended`` is None while no result is known; ``children`` are ids of subagents that it started.

    One that ``goes_on`` has a part of its result. ``commit`` is the hash of one that it made, where the client says so.
    """

    id: str
    tool: str
    args: dict[str, Any]
    at: str | None
    cwd: str = ""
    context: str = ""
    observation: str | None = None
    is_error: bool | None = None
    exit_code: int | None = None
    ended: str | None = None
    duration_ms: float | None = None
    children: tuple[str, ...] = ()
    commit: str = ""
    goes_on: bool = False


@dataclass(slots=True)
class Prompt:
    """What the user said.

    ``command`` marks a slash command, which may start no work at all; ``amid`` what was typed while the agent worked.
    """

    id: str
    text: str
    at: str | None
    cwd: str = ""
    command: bool = False
    amid: bool = False


@dataclass(slots=True)
class Said:
    """What the agent said."""

    text: str
    at: str | None


Event = Call | Prompt | Said


@dataclass(slots=True)
class Session:
    """One session of a client, in the order of its transcript."""

    client: str
    id: str
    version: str = ""
    events: list[Event] = field(default_factory=list)

    def calls(self) -> Iterator[Call]:
        return (event for event in self.events if isinstance(event, Call))


@dataclass(slots=True)
class Task:
    """One task of a session: the prompt that started it, those that steered it, and the work on it.

    Prompts that were ``judged`` to say what became of it only are no part of its ``text``.
    """

    id: str
    cwd: str = ""
    prompts: list[Prompt] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)
    reactions: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    last: bool = False

    @property
    def text(self) -> str:
        """The prompts, parted by empty lines; none has such of its own, so that each is told from the others."""
        told = [prompt.text for prompt in self.prompts if prompt.text not in self.judged]
        return "\n\n".join(_EMPTY_LINES.sub("\n", text) for text in told)


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one session: its own (None where only those of its subagents are left) and its subagents'."""

    main: Path | None
    subagents: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        return (*([self.main] if self.main else ()), *self.subagents)

    @property
    def size(self) -> int:
        """In bytes; a client may remove a file at any time."""
        return sum(file.stat().st_size for file in self.files if file.exists())


@dataclass(frozen=True, slots=True)
class Broken:
    """A line (from 1; 0 for the file) that was left out, and why."""

    file: str
    line: int
    reason: str


@dataclass(slots=True)
class Notes:
    """What a reader could not use: broken lines, and records of types that it does not know, by type."""

    broken_lines: int = 0
    broken: list[Broken] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    def leave_out(self, file: Path, line: int, reason: str) -> None:
        self.broken_lines += 1
        if len(self.broken) < MAX_TOLD:
            self.broken.append(Broken(str(file), line, reason))
