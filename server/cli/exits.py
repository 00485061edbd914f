"""What the exit codes mean, and which error leads to which."""

from __future__ import annotations

import errno
from enum import IntEnum

from prowess.server.settings import BadSetting, UnreadableSettings
from prowess.server.shim.places import PlaceError
from prowess.storage import errors

__all__ = ["MEANINGS", "Exit", "exit_of"]


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    IN_USE = 3
    NOT_FOUND = 4
    DAMAGED = 5
    UNAVAILABLE = 6
    INTERRUPTED = 130


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done",
    Exit.FAILED: "not done, or done in part (an import with broken lines, a doctor's finding)",
    Exit.USAGE: "the command line is off; nothing was done",
    Exit.IN_USE: "another process has the store open",
    Exit.NOT_FOUND: "what is named is not there: an episode, a skill, a token, a file, a backup, a store, a hub, …",
    Exit.DAMAGED: "a file of the store is damaged, not ours, or of a newer version",
    Exit.UNAVAILABLE: "the folder or the disk refuses: missing, read-only or full",
    Exit.INTERRUPTED: "interrupted by the user",
}

_EXITS: tuple[tuple[tuple[type[Exception], ...], Exit], ...] = (
    ((errors.Unknown, FileNotFoundError), Exit.NOT_FOUND),
    ((UnreadableSettings, PlaceError), Exit.UNAVAILABLE),
    ((BadSetting, errors.AmbiguousSkill), Exit.USAGE),
    ((errors.StoreInUse,), Exit.IN_USE),
    ((errors.StoreDamaged, errors.StoreNewer), Exit.DAMAGED),
    ((errors.StoreUnavailable,), Exit.UNAVAILABLE),
)

_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EIO)


def exit_of(error: BaseException) -> Exit:
    """The exit code of a command that ended with ``error`` (or was raised from such an error)."""
    for kinds, code in _EXITS:
        if isinstance(error, kinds):
            return code
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        return Exit.UNAVAILABLE
    return exit_of(error.__cause__) if error.__cause__ else Exit.FAILED
