"""Carrying out a plan: all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from prowess.server.install.errors import Refused
from prowess.server.install.plan import Change, read
from prowess.server.install.records import Record, Records
from prowess.server.whole_file import write_whole

__all__ = ["carry_out"]

_PRIVATE = 0o600  # of a new file of the user; ~/.claude.json gets keys later
_SHARED = 0o644


def carry_out(changes: Sequence[Change], records: Records) -> None:
    """Write the files, each whole or not at all; where one fails, those before it are put back.

    Raises ``Refused`` where a file or the records changed since the plan was made, OSError where the system refuses.
    """
    records.check()
    for change in changes:
        _check(change)
    earlier = dict(records.files)
    try:
        records.save(_remembered(changes, records))
    except OSError:
        records.tidy()
        raise
    done: list[Change] = []
    made: list[Path] = []
    try:
        for change in changes:
            done.append(change)
            _write(change, made)
    except (OSError, Refused):
        _put_back(done, made)
        records.save(earlier)
        raise
    _finish(changes, records, earlier, made)


def _check(change: Change) -> None:
    """What two changes both want (one file by two names) is there already when the second comes."""
    if read(change.target.path) not in (change.before, change.after):
        raise Refused(
            f"{change.target.path} was changed by another program meanwhile",
            hint="close the client and run the command again; nothing was changed",
        )


def _remembered(changes: Sequence[Change], records: Records) -> dict[str, Record]:
    """The records while files are being written: those of what is new, and still those of what goes."""
    files = dict(records.files)
    for change in changes:
        if change.record and change.state != "unchanged":
            kept = records.keep(change.original) if change.original is not None else None
            files[str(change.target.path)] = msgspec.structs.replace(change.record, before=kept)
    return files


def _write(change: Change, made: list[Path]) -> None:
    if change.before == change.after:
        return
    _check(change)
    path = Path(os.path.realpath(change.target.path))  # a link of the person's stays a link
    if change.after is None:
        path.unlink(missing_ok=True)
        return
    for folder in reversed([folder for folder in path.parents if not folder.exists()]):
        folder.mkdir()
        made.append(folder)
    _put(path, change.after, change.target.scope)


def _put(path: Path, content: bytes, scope: str) -> None:
    new = _PRIVATE if scope == "user" else _SHARED
    mode = path.stat().st_mode & 0o7777 if path.exists() else new
    write_whole(path, content, mode=mode, sync=True)


def _put_back(done: Sequence[Change], made: Sequence[Path]) -> None:
    """Only what holds our text: another program may have written since, or be the reason."""
    for change in reversed(done):
        path = Path(os.path.realpath(change.target.path))
        with suppress(OSError, Refused):  # the disk that refused the change may refuse this too; the backups are there
            if read(path) != change.after:
                continue
            if change.before is None:
                path.unlink(missing_ok=True)
            elif change.before != change.after:
                _put(path, change.before, change.target.scope)
    _remove_empty(made)


def _finish(changes: Sequence[Change], records: Records, earlier: dict[str, Record], made: Sequence[Path]) -> None:
    files = dict(records.files)
    for change in changes:
        name = str(change.target.path)
        if change.record is None:
            files.pop(name, None)
            _remove_empty([Path(folder) for folder in earlier[name].folders] if name in earlier else [])
        elif mine := [str(folder) for folder in made if folder in Path(os.path.realpath(name)).parents]:
            files[name] = msgspec.structs.replace(files[name], folders=mine)
    records.save(files)


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):  # somebody has put something there
            folder.rmdir()
