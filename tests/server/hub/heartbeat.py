"""Tells when the event loop did not come round, and what it was doing meanwhile."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LIMIT", "Heartbeat", "Look", "beating", "lost", "never_late"]

LIMIT = 0.05
PERIOD = 0.005
ATTEMPTS = 5  # a slow minute of the machine holds up two or three in a row
_TASKS = Path("/proc/self/task")
_MACHINE = Path("/proc/stat")
_KEPT = 1000  # looks; a watch that gets no processor has old ones only, which excuse more


@dataclass(frozen=True, slots=True)
class Look:
    """What this process and others had had of the machine at one moment, in seconds.

    ``queued`` is by thread of this process: for how long it was ready and had no processor; empty where nobody counts.
    ``stolen`` is what the machine's own host took, ``worked`` what this process used.
    """

    at: float
    queued: dict[int, float]
    stolen: float
    worked: float


def look() -> Look:
    return Look(time.monotonic(), _queued(), _stolen(), time.process_time())


def _queued() -> dict[int, float]:
    found = {}
    for task in _TASKS.glob("*/schedstat"):
        try:
            found[int(task.parent.name)] = int(task.read_text().split()[1]) / 1e9
        except (OSError, IndexError):
            continue  # the thread ended
    return found


def _stolen() -> float:
    try:
        with _MACHINE.open() as file:
            return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def lost(before: Look, now: Look, loop: int) -> float:
    """What others took of the time between two looks, at most, in seconds.

    They took it of the loop's thread, of the one that had the interpreter's lock before, or of the whole machine. Where
    nobody counts that, all is excused in which this process did not work.
    """
    if not now.queued:
        return max(0.0, now.at - before.at - (now.worked - before.worked))
    more = {thread: seconds - before.queued.get(thread, 0.0) for thread, seconds in now.queued.items()}
    return more.pop(loop, 0.0) + max(more.values(), default=0.0) + now.stolen - before.stolen


class Heartbeat:
    """A beat of the loop, and a thread that looks on.

    The loop is late when the time between two beats, without what others took, is beyond the limit: because it ran
    something long itself, waited for something but its clients, or because a thread kept the interpreter's lock.
    ``excuse`` is False where a test makes it late on purpose and others must not be taken to be the reason.
    """

    def __init__(self, *, excuse: bool = True) -> None:
        self.worst = 0.0
        self.late: list[str] = []
        self.doing = ""
        """What the loop does since the last beat, once that is too long ago."""
        self._excuse = excuse
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._native = threading.get_native_id()
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look_on, name="watch", daemon=True)
        self._looks = deque([self._look()], _KEPT)
        self._beat_at = time.monotonic()
        self._next = self._loop.call_later(PERIOD, self._beat)
        self._watch.start()

    def _beat(self) -> None:
        now = time.monotonic()
        if (took := now - self._beat_at - PERIOD) > LIMIT:
            self._judge(took, self._lost())
        self._beat_at, self.doing = now, ""
        self._next = self._loop.call_later(PERIOD, self._beat)

    def _lost(self) -> float:
        before = next((seen for seen in reversed([*self._looks]) if seen.at <= self._beat_at), self._looks[0])
        return lost(before, self._look(), self._native) if self._excuse else 0.0

    def _look(self) -> Look:
        seen = look()
        seen.queued.pop(self._watch.native_id or 0, None)  # nobody waits for the watch
        return seen

    def _judge(self, took: float, excused: float) -> None:
        if took - excused > LIMIT:
            self.worst = max(self.worst, took - excused)
            doing = self.doing or "a thread had the interpreter's lock; by now they are at\n" + _everyone()
            self.late.append(f"{took * 1000:.0f} ms, of which others took {excused * 1000:.0f} ms\n{doing}")

    def _look_on(self) -> None:
        while not self._ended.wait(PERIOD):
            self._looks.append(self._look())
            beat_at = self._beat_at
            if not self.doing and time.monotonic() - beat_at > LIMIT:
                doing = "".join(traceback.format_stack(sys._current_frames().get(self._thread))[-8:])
                if beat_at == self._beat_at:
                    self.doing = doing

    def end(self) -> None:
        self._next.cancel()
        self._ended.set()
        self._watch.join(10)


def _everyone() -> str:
    return "\n".join("".join(traceback.format_stack(frame)[-4:]) for frame in sys._current_frames().values())


@contextmanager
def beating(*, excuse: bool = True) -> Iterator[Heartbeat]:
    """Watch the running loop, whose thread this is."""
    heart = Heartbeat(excuse=excuse)
    try:
        yield heart
    finally:
        heart.end()


async def never_late(work: Callable[[], Awaitable[object]]) -> None:
    """Fails where ``work`` holds up the loop, each time of several: what a busy machine did is not done again."""
    for _ in range(ATTEMPTS):
        with beating() as heart:
            await work()
        if not heart.late:
            return
    raise AssertionError("the event loop was blocked:\n" + "\n".join(heart.late))
