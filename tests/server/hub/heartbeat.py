"""Tells when the event loop did not come round, and what it was doing meanwhile."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

__all__ = ["LIMIT", "Heartbeat", "beating"]

LIMIT = 0.05
PERIOD = 0.005
_WAITING = ("select", "_run_once")


@dataclass(slots=True)
class Heartbeat:
    """What a thread saw that asks the loop for a sign of life again and again.

    A late answer counts where the process was at work meanwhile, on the loop or holding the interpreter's lock: on a
    machine with more to do than processors, a loop that waits for its turn is late as well.
    """

    worst: float = 0.0
    late: list[str] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._ended.wait(PERIOD):
            self._beat(loop, thread)

    def _beat(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        answered = threading.Event()
        began, worked = time.monotonic(), time.process_time()
        loop.call_soon_threadsafe(answered.set)
        seen = ""
        while not answered.wait(LIMIT) and not self._ended.is_set():
            seen = seen or _at_work(thread)
        took, burnt = time.monotonic() - began, time.process_time() - worked
        if took > LIMIT and (burnt > LIMIT or seen):
            self.worst = max(self.worst, took)
            self.late.append(f"{took * 1000:.0f} ms, of which {burnt * 1000:.0f} ms at work\n{seen or _everyone()}")

    def end(self) -> None:
        self._ended.set()


def _frame(thread: int) -> FrameType | None:
    return sys._current_frames().get(thread)


def _at_work(thread: int) -> str:
    """Where the loop's thread is, unless it waits for something to do."""
    frame = _frame(thread)
    if frame is None or frame.f_code.co_name in _WAITING:
        return ""
    return "".join(traceback.format_stack(frame)[-8:])


def _everyone() -> str:
    return "\n".join("".join(traceback.format_stack(frame)[-4:]) for frame in sys._current_frames().values())


@contextmanager
def beating() -> Iterator[Heartbeat]:
    """Watch the running loop, whose thread this is."""
    heart = Heartbeat()
    arguments = (asyncio.get_running_loop(), threading.get_ident())
    thread = threading.Thread(target=heart.run, args=arguments, daemon=True)
    thread.start()
    try:
        yield heart
    finally:
        heart.end()
        thread.join(10)
