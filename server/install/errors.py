"""Why an installation was refused. Whatever raises this has changed nothing."""

from __future__ import annotations

from pathlib import Path

__all__ = ["Refused", "Unreadable"]


class Refused(Exception):
    """The configuration is left as it is. ``hint`` tells what would help."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Unreadable(Exception):
    """A text that is not what its name says: what is wrong, and in which line (from 1)."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line

    def at(self, path: Path) -> Refused:
        return Refused(
            f"{path}, line {self.line}: {self}",
            hint="mend that line (or move the file away) and run the command again; nothing was changed",
        )
