"""Backups that may hold what was forgotten, because they were not reached when it was erased everywhere else."""

from __future__ import annotations

from collections.abc import Collection

from prowess.storage.backup import undeleted
from prowess.storage.log.batch import View
from prowess.storage.log.file import LogFile, read_meta, write_meta

__all__ = ["owe", "owed", "owed_in", "settle"]

OWED = "owed"


def owed(view: View) -> tuple[str, ...]:
    """The folders of those backups."""
    return tuple(read_meta(view, OWED) or ())


def owed_in(file: LogFile) -> tuple[str, ...]:
    """Those of an open log, without such as somebody deleted."""
    with file.read() as view:
        return undeleted(file, owed(view))


def owe(view: View, missed: Collection[str]) -> None:
    """Every backup was gone through, and these were not reached."""
    write_meta(view, OWED, sorted(missed))


def settle(view: View, done: Collection[str]) -> None:
    """In these nothing is left to be erased, or nobody is to look into them any more."""
    if known := owed(view):
        owe(view, {*known}.difference(done))
