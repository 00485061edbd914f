"""Every failure of the store, as one tree.

StoreError
├── InvalidInput            the caller's words are off; nothing was written
│   ├── Unknown             what is named is not there
│   │   ├── UnknownEpisode  no episode has this task or id
│   │   └── UnknownSkill    no skill has this name or id
│   ├── AmbiguousSkill      several skills have this name
│   └── StepConflict        this step number is taken by other content
├── StoreInUse              another process has the store open
├── StoreNewer              the store was written by a newer Prowess
├── StoreDamaged            a file is not ours, truncated or corrupted
├── StoreUnavailable        the folder or the disk refuses: missing, read-only, full
│   ├── StoreReadOnly       nothing can be written, and perhaps all can be read
│   └── WriteUncertain      the write may or may not be on disk; safe to repeat with the same key
├── StoreBusy               a bounded wait ran out
├── StoreClosed             the store was used after close
└── StoreDefect             the program asked for something impossible: a bug
    └── ConstraintViolated  a row breaks a rule of its table

Each carries a ``hint``: what the reader can do about it; a traceback shows it too. A layer that catches an error of the
layer below raises one of these from it, so that nothing of libsql, redb or the operating system escapes.
"""

from __future__ import annotations

__all__ = [
    "AmbiguousSkill",
    "ConstraintViolated",
    "Hinted",
    "InvalidInput",
    "StepConflict",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreDefect",
    "StoreError",
    "StoreInUse",
    "StoreNewer",
    "StoreReadOnly",
    "StoreUnavailable",
    "Unknown",
    "UnknownBackup",
    "UnknownEpisode",
    "UnknownSkill",
    "WriteUncertain",
]


class Hinted(Exception):
    """What happened (``str``) and what to do about it (``hint``, by default the kind's ``usual_hint``)."""

    usual_hint = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint or self.usual_hint
        if self.hint:
            self.add_note(f"hint: {self.hint}")  # who calls from Python and catches nothing reads it as well

    def explain(self) -> str:
        """Message and hint as the lines a person is shown."""
        return f"{self}\nhint: {self.hint}" if self.hint else str(self)


class StoreError(Hinted):
    """Base of the store's errors."""


class InvalidInput(StoreError):
    """The caller's words are off; nothing was written."""


class Unknown(InvalidInput):
    """What is named is not there."""


class UnknownBackup(Unknown):
    """What is named is no backup."""


class UnknownEpisode(Unknown):
    """No episode has this task or id."""


class UnknownSkill(Unknown):
    """No skill has this name or id."""


class AmbiguousSkill(InvalidInput):
    """Several skills have this name."""


class StepConflict(InvalidInput):
    """The step number is taken by a step with other content."""


class StoreInUse(StoreError):
    """Another process has the store open."""


class StoreNewer(StoreError):
    """The store was written by a newer version of the program."""


class StoreDamaged(StoreError):
    """A file at the store's path is not ours, truncated or corrupted."""


class StoreUnavailable(StoreError):
    """The folder or the disk refuses: missing, read-only or full."""


class StoreReadOnly(StoreUnavailable):
    """Nothing can be written: the disk, or the folder for this user. What is stored may be looked at all the same."""

    usual_hint = "commands that only look work; for others see that this user may write the folder and its disk"


class WriteUncertain(StoreUnavailable):
    """The write may or may not be on disk; repeat it with the same key."""


class StoreBusy(StoreError):
    """A bounded wait ran out."""


class StoreClosed(StoreError):
    """The store was used after it was closed."""

    usual_hint = "open it again"


class StoreDefect(StoreError):
    """The program asked the database for something impossible: a bug, never the caller's fault."""

    usual_hint = "this is a bug of prowess: please report it; nothing acknowledged is lost"


class ConstraintViolated(StoreDefect):
    """A row breaks a rule of its table."""
