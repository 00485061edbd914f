"""Threads kept for one kind of work, so that it is begun at once.

A thread out of the pool that everything shares is another one each time, and to get it takes two rounds of the event
loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio

from prowess.storage.errors import StoreClosed

__all__ = ["Turns"]

T = TypeVar("T")


class Turns:
    """Carries out blocking work, ``most`` pieces at a time, in the order in which they were asked for."""

    def __init__(self, name: str, most: int = 1) -> None:
        self._free = anyio.Semaphore(most, fast_acquire=True)
        self._threads = ThreadPoolExecutor(most, name)  # which starts no second one while the first has nothing to do
        self._ended = False

    async def run(self, work: Callable[[], T]) -> T:
        """What ``work`` returns or raises. A caller that is cancelled leaves the queue, but not what has begun.

        Raises StoreClosed after ``end``.
        """
        async with self._free:
            if self._ended:
                raise StoreClosed("the store is closed", hint="open it again")
            with anyio.CancelScope(shield=True):
                answer = await asyncio.get_running_loop().run_in_executor(self._threads, work)
        return answer

    def end(self) -> None:
        """No more work; the threads end with what they do now."""
        self._ended = True
        self._threads.shutdown(wait=False)
