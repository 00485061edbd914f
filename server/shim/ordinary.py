"""Files of a store's folder, where something else may have got the name: a pipe would keep an agent waiting for ever.

As ``prowess.storage.ordinary``, of which the standard library's part is all that the shim may load.
"""

# pathlib takes longer to import than all of this package

from __future__ import annotations

import errno
import os
import stat

__all__ = ["MOST_BYTES", "NotOrdinaryError", "content", "opened"]

MOST_BYTES = 1_000_000  # to read more as TOML takes seconds
# Of a folder, a socket, a device that is away, and a link where none is followed.
_NO_FILE = (errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP, errno.ELOOP)


class NotOrdinaryError(OSError):
    """What has the name is no ordinary file."""


def opened(path: str, flags: int) -> int:
    """A descriptor of the ordinary file at ``path``, which is its owner's alone where it is made; never waits.

    Raises OSError, also for what is no ordinary file.
    """
    wanted = flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, wanted, 0o600)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _no_file(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(path)
    return descriptor


def _no_file(path: str) -> NotOrdinaryError:
    return NotOrdinaryError(errno.EINVAL, "it is no ordinary file", path)


def content(path: str, most: int = MOST_BYTES, *, end: bool = False, link: bool = True) -> bytes:
    """The first ``most`` bytes of the ordinary file at ``path``, or the last at its ``end``. Raises OSError.

    Where it is not to be a ``link``, one is no ordinary file.
    """
    with open(opened(path, os.O_RDONLY | (0 if link else getattr(os, "O_NOFOLLOW", 0))), "rb") as file:
        if end:
            file.seek(max(0, file.seek(0, os.SEEK_END) - most))
        return file.read(most)
