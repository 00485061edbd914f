"""Logs that redb broke off in."""

from __future__ import annotations

from typing import Any

import redb

from prowess.storage.store import Store

__all__ = ["SAID", "break_off"]

SAID = "redb found the file damaged: internal error: entered unreachable code"


class _Broken:
    """A database that redb broke off in."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def begin_read(self) -> Any:
        raise redb.Corrupted(SAID)

    begin_write = begin_read

    def close(self) -> None:
        self._whole.close()


def break_off(store: Store) -> None:
    """Let the store's log be unusable until it is opened anew."""
    file = store._engine.file
    file._database = _Broken(file._database)
