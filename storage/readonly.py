"""The catalog of a store that cannot be written: a copy, which follows the log as the catalog itself would.

SQLite needs files of its own beside a catalog, and one that was left behind has to catch up.
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from prowess.storage.catalog import CATALOG_NAME
from prowess.storage.errors import StoreUnavailable
from prowess.storage.log.failures import translated
from prowess.storage.ordinary import NotOrdinaryError, open_ordinary

__all__ = ["copied_catalog", "drop_copy"]

PREFIX = "prowess-catalog-"
LEFT_BEHIND_S = 86_400.0  # commands that only look take seconds


def copied_catalog(folder: Path) -> Path:
    """A private temporary folder with the catalog of ``folder``, as far as there is one. Raises StoreUnavailable.

    The log must be open, so that nobody writes.
    """
    try:
        _drop_left_behind(Path(gettempdir()))
        copy = Path(mkdtemp(prefix=PREFIX))
    except OSError as error:
        raise StoreUnavailable(
            f"the store is read-only, and there is no room for a copy of its catalog: {error.strerror}",
            hint="set TMPDIR to a folder that this user may write",
        ) from error
    try:
        with translated(copy):
            for name in (CATALOG_NAME, f"{CATALOG_NAME}-wal"):
                _copy(folder / name, copy / name)
    except BaseException:
        drop_copy(copy)
        raise
    return copy


def _copy(source: Path, target: Path) -> None:
    """What is not there, or no file, is made anew from the log."""
    with suppress(FileNotFoundError, NotOrdinaryError), open_ordinary(source) as found, target.open("wb") as made:
        shutil.copyfileobj(found, made)


def _drop_left_behind(folder: Path) -> None:
    """Remove old copies of programs that were killed: they hold what may have been forgotten since."""
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if time.time() - left.lstat().st_mtime > LEFT_BEHIND_S:
                drop_copy(left)


def drop_copy(copy: Path) -> None:
    """Remove it."""
    shutil.rmtree(copy, ignore_errors=True)
