"""The catalog of a store that cannot be written: a copy, which follows the log as the catalog itself would.

SQLite needs files of its own beside a catalog, and one that was left behind has to catch up.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from prowess.storage.catalog import CATALOG_NAME
from prowess.storage.errors import StoreUnavailable
from prowess.storage.log.failures import translated
from prowess.storage.ordinary import NotOrdinaryError, open_ordinary

__all__ = ["copied_catalog", "drop_copy"]


def copied_catalog(folder: Path) -> Path:
    """A private temporary folder with the catalog of ``folder``, as far as there is one. Raises StoreUnavailable.

    The log must be open, so that nobody writes.
    """
    try:
        copy = Path(mkdtemp(prefix="prowess-"))
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


def drop_copy(copy: Path) -> None:
    """Remove it."""
    shutil.rmtree(copy, ignore_errors=True)
