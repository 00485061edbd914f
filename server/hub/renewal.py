"""When a hub gives way to a new one for the reason that redb cannot go on in it, and how often that was.

redb stops in the middle of things where it finds a damaged page, and what it has in memory may then be of no more use,
though the file is whole: a new process has neither. Where the page is damaged for good each new hub fails as well, so
each waits longer than the one before it, and goes on with what works.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from prowess.server.shim import places

__all__ = ["Renewal", "Renewals", "read_renewals"]

DAY_SECONDS = 24 * 3600.0  # after which it is forgotten
FIRST_PAUSE_SECONDS = 60.0  # after the first of a day; doubled after each further one
LAST_PAUSE_SECONDS = 6 * 3600.0
FILE_NAME = "renewals.json"
MOST_SAID = 500  # characters
REDB_SAYS = "redb found the file damaged: "

_log = logging.getLogger(__name__)


class Renewals(msgspec.Struct, frozen=True, kw_only=True):
    """When hubs of a store gave way in the last day, in seconds since 1970, and why the last one did."""

    times: tuple[float, ...] = ()
    reason: str = ""

    def allowed_from(self) -> float:
        """When the next one may."""
        if not self.times:
            return 0.0
        return self.times[-1] + min(FIRST_PAUSE_SECONDS * 2.0 ** (len(self.times) - 1), LAST_PAUSE_SECONDS)


def _path(home: Path) -> Path:
    return Path(places.run_folder(home), FILE_NAME)


def read_renewals(home: Path, now: float) -> Renewals:
    """Those of the day before ``now``; none where nobody can tell."""
    try:
        found = msgspec.json.decode(_path(home).read_bytes(), type=Renewals)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Renewals()
    times = tuple(at for at in found.times if now - DAY_SECONDS < at <= now)
    return Renewals(times=times, reason=found.reason if times else "")


class Renewal:
    """One hub's look at its store. ``trouble`` is what to tell of it, "" for nothing."""

    def __init__(self, home: Path, damage: Callable[[], str], clock: Callable[[], float] = time.time) -> None:
        self._home = home
        self._damage = damage
        self._clock = clock
        self.trouble = ""

    def is_time(self) -> bool:
        """Whether the hub is to leave now, which is noted then."""
        found = self._damage()
        if not found:
            self.trouble = ""
            return False
        damage = f"redb found the log damaged: {found.removeprefix(REDB_SAYS)[:MOST_SAID]}"
        now = self._clock()
        known = read_renewals(self._home, now)
        if not self.trouble:
            _log.error("%s", damage)
        pause = known.allowed_from() - now
        unnoted = "" if pause > 0 else self._note(known, damage, now)
        again = f"in {pause:.0f} seconds" if pause > 0 else unnoted or "now"
        self.trouble = f"{damage}; a new hub opens it anew {again}"
        return pause <= 0 and not unnoted

    def _note(self, known: Renewals, damage: str, now: float) -> str:
        """Let the next hub know, else it would be the first again, and the one after it; what prevents that, if any."""
        noted = Renewals(times=(*known.times, now), reason=damage)
        path = _path(self._home)
        fresh = path.with_name(f"{FILE_NAME}.{os.getpid()}")
        try:
            fresh.write_bytes(msgspec.json.encode(noted))
            fresh.replace(path)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink()
            return f"once {path} can be written: {error.strerror}"
        return ""
