"""Which file was the remote when it was there last, so that one whose disk is away is not taken for a new one.

The folder that a disk is mounted at is there without it: a file that is made in it would be filled, and read by nobody.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from prowess.server.sync.address import Address
from prowess.storage.ordinary import read_ordinary

__all__ = ["forget_known", "is_known", "note_known"]

FILE_NAME = "sync-file"  # in the store's folder

_log = logging.getLogger(__name__)


def is_known(home: Path, address: Address) -> bool:
    """Whether the file at ``address`` was there once."""
    try:
        return address.path is not None and read_ordinary(home / FILE_NAME) == os.fsencode(address.path)
    except OSError:
        return False


def note_known(home: Path, address: Address) -> None:
    """It is there."""
    if address.path is None or is_known(home, address):
        return
    try:
        (home / FILE_NAME).write_bytes(os.fsencode(address.path))
    except OSError as error:  # it is noted the next time
        _log.warning("%s is not written: %s", FILE_NAME, error.strerror)


def forget_known(home: Path) -> None:
    """Whatever is set as the remote may be made where it is not there."""
    (home / FILE_NAME).unlink(missing_ok=True)
