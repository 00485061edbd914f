"""Numbers that tasks of ours keep with the journal, such as the event up to which one is done; each has a name."""

from __future__ import annotations

from prowess.storage.log.batch import Batch, View
from prowess.storage.log.file import read_meta, write_meta

__all__ = ["mark_of", "put_mark", "raise_mark"]


def mark_of(view: View, name: str) -> int:
    """The number kept under ``name``; 0 where there is none."""
    return int(read_meta(view, _key(name)) or 0)


def put_mark(view: View, name: str, number: int) -> None:
    """Keep ``number`` in the log, so that it goes where the journal goes: into backups, and back with them."""
    write_meta(view, _key(name), number)


def raise_mark(batch: Batch, name: str, number: int) -> None:
    """``put_mark``, unless a number as high is there."""
    if number > mark_of(batch, name):
        batch.writes += 1
        put_mark(batch, name, number)


def _key(name: str) -> str:
    return f"mark:{name}"
