"""Every failure of redb and of the operating system, told in the store's words."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redb

from prowess.storage.errors import StoreClosed, StoreDamaged, StoreError, StoreInUse, StoreReadOnly, StoreUnavailable
from prowess.storage.ordinary import NotOrdinaryError

__all__ = ["is_read_only", "translated"]

# As Unix, a quota and Windows put it; redb has no number of it.
FULL = ("No space left on device", "Disk quota exceeded", "not enough space on the disk")
_SAYS_READ_ONLY = ("Read-only file system", "Operation not permitted", "Permission denied")
_HINT_DISK = "check that the folder exists, is writable and that the disk is not full; prowess doctor tells more"
_HINT_DAMAGED = "restore a backup (prowess restore), or move the file away to start with an empty store"


def _translate(error: Exception, path: Path) -> StoreError:
    if isinstance(error, redb.DatabaseAlreadyOpen):
        return StoreInUse(f"{path} is open in another process", hint="end that process and try again")
    if isinstance(error, redb.DatabaseClosed):
        return StoreClosed("the store is closed", hint="open it again")
    if isinstance(error, (OSError, redb.StorageError)) and any(said in str(error) for said in FULL):
        return StoreUnavailable(f"the disk is full: {path}: {error}", hint="free some space and try again")
    if isinstance(error, NotOrdinaryError):
        return StoreUnavailable(f"{error.filename} is in the way: {error.strerror}", hint="move it away and try again")
    if isinstance(error, OSError) and is_read_only(error, path):
        return StoreReadOnly(f"the store is read-only: {error.filename or path}: {error.strerror}")
    if isinstance(error, redb.StorageError) and any(said in str(error) for said in _SAYS_READ_ONLY):
        return StoreReadOnly(f"the store is read-only: {path}: {error}")
    if isinstance(error, OSError) and error.strerror:
        return StoreUnavailable(f"{error.filename or path}: {error.strerror}", hint=_HINT_DISK)
    if isinstance(error, (OSError, redb.StorageError)):
        return StoreUnavailable(f"{path}: {error}", hint=_HINT_DISK)
    return StoreDamaged(f"{path} cannot be read: {error}", hint=_HINT_DAMAGED)


def is_read_only(error: OSError, path: Path) -> bool:
    """Whether ``path``, which was refused, could be read, as far as it is there."""
    if error.errno == errno.EROFS:
        return True
    found = path if os.path.exists(path) else path.parent  # noqa: PTH110 - that of Path may raise
    return error.errno in (errno.EACCES, errno.EPERM) and os.access(found, os.R_OK)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise what redb or the system raises inside as a StoreError; our own errors pass."""
    try:
        yield
    except StoreError:
        raise
    except (OSError, redb.RedbError) as error:
        raise _translate(error, path) from error
