"""How often a log may be opened anew for the reason that redb broke off in it.

redb stops in the middle of things where it finds a damaged page, and what it has in memory may then be of no more use,
though the file is whole. Where the page is damaged for good the next one breaks off as well, so each waits longer than
the one before it, and what works goes on meanwhile: to open a large file can take seconds, in which nobody reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["DAY_SECONDS", "FIRST_PAUSE_SECONDS", "LAST_PAUSE_SECONDS", "Renewals"]

DAY_SECONDS = 24 * 3600.0  # after which it is forgotten
FIRST_PAUSE_SECONDS = 60.0  # after the first of a day; doubled after each further one
LAST_PAUSE_SECONDS = 6 * 3600.0
REDB_SAYS = "redb found the file damaged: "


class Renewals:
    """Those of the last day by ``clock``, in seconds that never go back; from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: tuple[float, ...] = ()
        self._reason = ""

    def pause(self) -> float:
        """Seconds until the next one may be; 0 for now."""
        recent = self._recent()
        if not recent:
            return 0.0
        pause = min(FIRST_PAUSE_SECONDS * 2.0 ** (len(recent) - 1), LAST_PAUSE_SECONDS)
        return max(recent[-1] + pause - self._clock(), 0.0)

    def note(self, reason: str) -> None:
        """That there is one now."""
        self._times, self._reason = (*self._recent(), self._clock()), reason

    def next_after(self, damage: str) -> str:
        """What was found, and when the log is opened anew for it."""
        pause = self.pause()
        return f"{_damaged(damage)}; it is opened anew {f'in {pause:.0f} seconds' if pause else 'by the next call'}"

    def told(self) -> str:
        """How often the log was opened anew in the last day, and why the last time; "" for never."""
        count = len(self._recent())
        times = "once" if count == 1 else f"{count} times"
        return f"{_damaged(self._reason)}; it was opened anew {times} in the last day" if count else ""

    def _recent(self) -> tuple[float, ...]:
        now = self._clock()
        return tuple(at for at in self._times if now - at < DAY_SECONDS)


def _damaged(said: str) -> str:
    return f"redb found the log damaged: {said.removeprefix(REDB_SAYS)}"
