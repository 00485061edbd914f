"""Who has the log open: an advisory lock on a note beside the file, which says the holder's process id.

redb locks its own file too; this lock is held as well while the file is replaced, and can name its holder.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prowess.storage.errors import StoreInUse
from prowess.storage.ordinary import opened

if TYPE_CHECKING:
    from io import FileIO

__all__ = ["HUB", "Lock", "called"]

HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
LONGEST_NOTE = 1000  # bytes
HUB = "a hub"
HINTS = {HUB: "`prowess hub stop` ends it: then try again"}
_HINT_ENDS = "try again when that has ended"
_HINT_UNKNOWN = "if it is a hub, `prowess hub stop` ends it; a command ends by itself: then try again"

_called = ""

if sys.platform == "win32":
    import msvcrt

    # Beyond the note, so that others can read it while this byte is locked.
    _LOCKED_BYTE = 1 << 20

    def _acquire(file: FileIO) -> None:
        file.seek(_LOCKED_BYTE)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
else:
    import fcntl

    def _acquire(file: FileIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def called(name: str) -> Iterator[None]:
    """What others are told of this process while it has a log open: a command's name, and none of its arguments."""
    global _called
    before, _called = _called, name
    try:
        yield
    finally:
        _called = before


class Lock:
    """Held from creation until ``release``; StoreInUse where another holds it, OSError where no note can be written."""

    def __init__(self, guarded: Path) -> None:
        self.path = guarded.with_name(guarded.name + ".lock")
        self._file = os.fdopen(opened(self.path, os.O_RDWR | os.O_CREAT), "r+b", buffering=0)
        try:
            self._take(guarded)
        except BaseException:
            self._file.close()
            raise
        self._write_note()

    def _take(self, guarded: Path) -> None:
        try:
            _acquire(self._file)
        except OSError as error:
            if error.errno not in HELD:
                # A file system that cannot lock, for one.
                raise
            holder, name = self._holder()
            hint = HINTS.get(name, _HINT_ENDS if name else _HINT_UNKNOWN)
            called = f" ({name})" if name else ""
            raise StoreInUse(f"{guarded} is open in {holder}{called}", hint=f"nothing was done: {hint}") from error

    def _write_note(self) -> None:
        """A courtesy: a full disk must not keep the store from being read."""
        words = json.dumps({"pid": os.getpid(), "name": _called}).encode()
        try:
            self._file.seek(0)
            self._file.write(words)  # over what the last one wrote: on a full disk that is the only room
            self._file.truncate(len(words))
        except OSError:
            with suppress(OSError):
                self._file.truncate(0)

    def _holder(self) -> tuple[str, str]:
        """Who has it, and what that program calls itself, "" where it does not."""
        try:
            note = json.loads(self._file.read(LONGEST_NOTE))
            pid, name = int(note["pid"]), str(note.get("name", ""))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return "another process", ""
        return ("this process" if pid == os.getpid() else f"process {pid}"), name

    def release(self) -> None:
        """Let go; the note's file stays, for removing it would race with the next holder."""
        self._file.close()
