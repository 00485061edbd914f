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
from pathlib import Path

__all__ = ["LIMIT", "Heartbeat", "beating"]

LIMIT = 0.05
PERIOD = 0.005
_TASKS = Path("/proc/self/task")


def _queued() -> dict[str, float]:
    """By thread of this process, the seconds for which it was ready and had no processor; empty where nobody counts."""
    found = {}
    for task in _TASKS.glob("*/schedstat"):
        try:
            found[task.parent.name] = int(task.read_text().split()[1]) / 1e9
        except (OSError, IndexError):
            continue  # the thread ended
    return found


def _more(before: dict[str, float], now: dict[str, float]) -> float:
    """What was lost to others, at most: by the loop, and before it by the thread that had the interpreter's lock."""
    lost = sorted(seconds - before.get(thread, 0.0) for thread, seconds in now.items())
    return sum(lost[-2:])


@dataclass(slots=True)
class Heartbeat:
    """What a thread saw that asks the loop for a sign of life again and again.

    The loop is late when the time between two answers, without what the machine's other processes took, is beyond the
    limit: because it ran something long itself, waited for something but its clients, or because a thread kept the
    interpreter's lock, which keeps the asking thread waiting as well.
    """

    worst: float = 0.0
    late: list[str] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        answered_at, queued = time.monotonic(), _queued()
        while not self._ended.wait(PERIOD):
            doing = self._ask(loop, thread)
            now, queued_now = time.monotonic(), _queued()
            self._judge(now - answered_at - PERIOD, _more(queued, queued_now), doing)
            answered_at, queued = time.monotonic(), queued_now

    def _ask(self, loop: asyncio.AbstractEventLoop, thread: int) -> str:
        """Wait for the loop's answer; where it is late, what the loop does."""
        answered = threading.Event()
        loop.call_soon_threadsafe(answered.set)
        doing = ""
        while not answered.wait(LIMIT) and not self._ended.is_set():
            doing = doing or "".join(traceback.format_stack(sys._current_frames().get(thread))[-8:])
        return doing

    def _judge(self, took: float, queued: float, doing: str) -> None:
        if took - queued > LIMIT:
            self.worst = max(self.worst, took - queued)
            doing = doing or "a thread had the interpreter's lock; by now they are at\n" + _everyone()
            self.late.append(f"{took * 1000:.0f} ms, and {queued * 1000:.0f} ms without a processor\n{doing}")

    def end(self) -> None:
        self._ended.set()


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
