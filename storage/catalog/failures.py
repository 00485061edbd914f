"""What the database client's messages mean: the only place that reads them.

libSQL's client raises ``ValueError`` for everything and sqlite3 a class too coarse to act on, but both pass on SQLite's
own words, which are stable.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from prowess.storage.errors import (
    ConstraintViolated,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreDefect,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)

__all__ = ["translate"]

# Bytes. With less than what a page and the readers' file take, SQLite tells of a full disk as of a broken one.
NO_ROOM = 256 * 1024
FULL = ("the disk is full", "free some space and try again")
# What SQLite says as well where a disk has no room, or none for another file.
PERHAPS_FULL = ("disk I/O error", "unable to open")
# What it says where it may not write.
REFUSED = ("unable to open", "readonly database", "access permission denied")
REBUILD = "the catalog can be made anew from the log: prowess rebuild"

# In order: the first phrase that occurs in the message decides, whatever its case. The first of them is
# the only one whose message also quotes the path, which may hold any words.
MEANINGS: tuple[tuple[str, type[StoreError], str, str], ...] = (
    ("unable to open", StoreUnavailable, "the catalog cannot be opened", "check that the folder exists and is yours"),
    ("Too many open files", StoreUnavailable, "the catalog cannot be opened", "see `ulimit -n`, and try again"),
    ("constraint failed", ConstraintViolated, "a row breaks a rule", "this is a bug: please report it"),
    ("cannot store", ConstraintViolated, "a value has the wrong type", "this is a bug: please report it"),
    ("database is locked", StoreBusy, "the catalog is locked", "another connection is writing: try again"),
    ("table is locked", StoreBusy, "the catalog is locked", "another statement is running: try again"),
    ("schema is locked", StoreBusy, "the catalog is locked", "another connection is writing: try again"),
    ("disk is full", StoreUnavailable, *FULL),
    ("readonly database", StoreUnavailable, "the catalog cannot be written", "check the permissions of the folder"),
    ("disk I/O error", StoreUnavailable, "the disk failed", "check the disk and its free space"),
    (
        "access permission denied",
        StoreUnavailable,
        "the catalog cannot be opened",
        "check the permissions of the folder",
    ),
    ("not a database", StoreDamaged, "the file is not a database", f"move it away; {REBUILD}"),
    ("Utf8Error", StoreDamaged, "the catalog is corrupted", REBUILD),
    ("not decode to UTF-8", StoreDamaged, "the catalog is corrupted", REBUILD),
    ("malformed", StoreDamaged, "the catalog is corrupted", REBUILD),
    ("unsupported file format", StoreDamaged, "the file is not a database", f"move it away; {REBUILD}"),
    ("vtable constructor failed", StoreDamaged, "the catalog is corrupted", REBUILD),
    ("no such table", StoreDamaged, "the catalog is incomplete", REBUILD),
    ("no such column", StoreDamaged, "the catalog is incomplete", REBUILD),
    ("no such index", StoreDamaged, "the catalog is incomplete", REBUILD),
    ("closed database", StoreClosed, "the catalog is closed", "open the store again"),
)


def translate(error: BaseException, path: Path) -> StoreError:
    """The typed error that ``error``, raised by a client on ``path``, stands for."""
    message = str(error)
    for phrase, kind, what, hint in MEANINGS:
        if phrase.casefold() in message.casefold():
            if phrase in PERHAPS_FULL and _is_full(path):
                what, hint = FULL
            elif phrase in REFUSED and _is_read_only(path):
                return StoreReadOnly(f"the store is read-only: {path}: {message}")
            return kind(f"{what}: {path}: {message}", hint=hint)
    return StoreDefect(f"unexpected database error: {path}: {message}", hint="this is a bug: please report it")


def _is_read_only(path: Path) -> bool:
    """Whether it can be read, and its folder, or one of the files that SQLite has there, cannot be written."""
    places = [path.parent, *(path.with_name(path.name + end) for end in ("", "-wal", "-shm"))]
    found = [place for place in places if os.path.exists(place)]  # noqa: PTH110 - that of Path may raise
    return all(os.access(place, os.R_OK) for place in found) and not all(os.access(place, os.W_OK) for place in found)


def _is_full(path: Path) -> bool:
    """Whether its disk, where it may be written at all, has no room or takes no further file of whatever size."""
    try:
        if sys.platform == "win32":
            return shutil.disk_usage(path.parent).free < NO_ROOM
        found = os.statvfs(path.parent)
    except OSError:
        return False
    if found.f_flag & os.ST_RDONLY:
        return False
    return found.f_bavail * found.f_frsize < NO_ROOM or found.f_favail == 0 < found.f_files  # some count no files
