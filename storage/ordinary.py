"""Reading files of a store's folder, where something else may have got the name: a pipe, a device, a folder.

Opening a pipe, or reading an endless device, would keep a command and every agent waiting.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["MOST_BYTES", "NotOrdinaryError", "open_ordinary", "opened", "read_ordinary"]

MOST_BYTES = 64_000_000  # of one file that is read whole: the ids of a million episodes take 40 MB
# Of a folder that is to be written, a socket, and a device that is away.
_NO_FILE = (errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP)


class NotOrdinaryError(OSError):
    """What has the name is no ordinary file, or one too large to be what it should be; ``strerror`` says which."""


def open_ordinary(path: Path) -> BinaryIO:
    """The ordinary file at ``path``, to be read; never waits. Raises OSError, also for what is no ordinary file."""
    return os.fdopen(opened(path, os.O_RDONLY), "rb")


def opened(path: Path, flags: int) -> int:
    """A descriptor of the ordinary file at ``path``, made for its owner alone; raises as ``open_ordinary``."""
    for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_CLOEXEC"):  # of which no system has all
        flags |= getattr(os, name, 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _no_file(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(path)
    return descriptor


def _no_file(path: Path) -> NotOrdinaryError:
    return NotOrdinaryError(errno.EINVAL, "it is no ordinary file", str(path))


def read_ordinary(path: Path, most: int = MOST_BYTES) -> bytes:
    """All of the ordinary file at ``path``. Raises OSError as ``open_ordinary``, and for one of over ``most`` bytes."""
    with open_ordinary(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise NotOrdinaryError(errno.EFBIG, f"it has more than {most // 1_000_000} MB", str(path))
    return content
