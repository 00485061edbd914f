"""Reading what the catalog has where the disk refuses it the rest.

A disk that is full keeps the catalog from following the journal. Who decides something, or writes, has to know
everything, and is told what the disk said. Who only looks is better served by what was known before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Behind", "as_far_as_known", "looking"]


class Behind:
    """What kept the newest events out of reads; ``reason`` is None where nothing did."""

    def __init__(self) -> None:
        self.reason: Exception | None = None

    def notes(self) -> list[str]:
        """What to tell whoever reads the answer."""
        return [] if self.reason is None else [f"without the newest events: {self.reason}"]


_looking: ContextVar[Behind | None] = ContextVar("looking", default=None)


@contextmanager
def as_far_as_known() -> Iterator[Behind]:
    """Within it, reads tell what the catalog has where the disk keeps it from the newest events; for who only looks."""
    behind = Behind()
    token = _looking.set(behind)
    try:
        yield behind
    finally:
        _looking.reset(token)


def looking() -> Behind | None:
    """Where to note that a read lacks the newest events; None where it must not."""
    return _looking.get()
