"""A lock that many may share and one may have alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prowess.storage.errors import StoreBusy

__all__ = ["Gate"]

# Exclusive holders reopen or rewrite the file: seconds at gigabytes.
PATIENCE_S = 120.0


class Gate:
    """Shared by transactions; held alone while the file beneath them is exchanged."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._inside = 0
        self._closed = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._condition:
            self._await(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._condition:
                self._inside -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps newcomers out and waits for those inside to leave."""
        with self._condition:
            self._await(lambda: not self._closed)
            self._closed = True
        try:
            with self._condition:
                self._await(lambda: self._inside == 0)
            yield
        finally:
            with self._condition:
                self._closed = False
                self._condition.notify_all()

    def _await(self, ready: Callable[[], bool]) -> None:
        if not self._condition.wait_for(ready, timeout=PATIENCE_S):
            raise StoreBusy("the log was busy for too long", hint="try again")
