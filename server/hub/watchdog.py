"""Ends a hub whose event loop hangs: its clients would wait for ever, and no other hub can have its lock.

Nothing acknowledged is lost by that. The shims miss their connections, start the next hub and send again what was not
answered, under the same keys.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["watched"]

LOOK_SECONDS = 2.0
LOOKS = 60  # in a row without an answer; not a time, so that a machine that slept is no reason
TELL_SECONDS = 5.0  # the log may be what the loop hangs in

_log = logging.getLogger(__name__)


def _leave() -> None:
    os._exit(1)


@contextmanager
def watched(leave: Callable[[], None] = _leave) -> Iterator[None]:
    """Call ``leave`` when the running loop, whose thread this is, answers nothing for two minutes."""
    ended = threading.Event()
    arguments = (asyncio.get_running_loop(), threading.get_ident(), ended, leave)
    threading.Thread(target=_watch, args=arguments, name="watchdog", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(loop: asyncio.AbstractEventLoop, thread: int, ended: threading.Event, leave: Callable[[], None]) -> None:
    answered, silent = threading.Event(), 0
    answered.set()
    with suppress(RuntimeError):  # the loop is closed
        while not ended.wait(LOOK_SECONDS):
            if answered.is_set():
                silent = 0
                answered.clear()
                loop.call_soon_threadsafe(answered.set)
                continue
            silent += 1
            if silent >= LOOKS:
                _tell(thread)
                leave()
                return


def _tell(thread: int) -> None:
    where = "".join(traceback.format_stack(sys._current_frames().get(thread)))
    words = ("the hub hangs and is ended, at\n%s", where)
    teller = threading.Thread(target=_log.error, args=words, daemon=True)
    teller.start()
    teller.join(TELL_SECONDS)
