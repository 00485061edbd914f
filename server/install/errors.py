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
    """A text that cannot be edited: what is wrong, in which line (from 1), and what to do about it."""

    def __init__(self, message: str, line: int, *, mend: str = "mend that line, or move the file away") -> None:
        super().__init__(message)
        self.line = line
        self.mend = mend

    def at(self, path: Path) -> Refused:
        return Refused(
            f"{path}, line {self.line}: {self}",
            hint=f"{self.mend}, and run the command again; nothing was changed",
        )
