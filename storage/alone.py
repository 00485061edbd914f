"""One store at a time in a folder that several may use, such as one where backups are put.

The folder itself is locked, so that nothing is left in it. Where the system or the file system cannot do that, stores
are not kept apart.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prowess.storage.errors import StoreBusy

__all__ = ["alone_in"]

if sys.platform == "win32":  # there no folder can be locked

    @contextmanager
    def alone_in(folder: Path) -> Iterator[None]:
        """Nothing is locked here."""
        yield
else:
    import fcntl

    @contextmanager
    def alone_in(folder: Path) -> Iterator[None]:
        """Keep ``folder`` from other stores, of this process or another. Raises StoreBusy where one has it, OSError."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            _take(descriptor, folder)
            yield
        finally:
            os.close(descriptor)

    def _take(descriptor: int, folder: Path) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreBusy(f"another store works on a backup in {folder}", hint="try again when it is done") from error
        except OSError:  # as on some network file systems, which lock only what may be written
            return
