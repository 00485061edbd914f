"""What ``prowess doctor`` says of the events that hooks left: whether they are taken in, and what was refused."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from prowess.learning.counting import counted
from prowess.server.doctor.finding import Finding
from prowess.server.hooks import losses, spool
from prowess.server.hub import client as hub
from prowess.storage.models import format_time, parse_time

__all__ = ["look_at_spool"]

LATE_SECONDS = 300.0  # a hub takes events within seconds, unless it starts or rewrites the log
LOOKED_AT = 20  # of the oldest, for what a newer version left: nobody waits for thousands to be read
ERROR_SECONDS = 24 * 3600.0  # for which what kept a hook from its work is worth a word
_CHECK = "spool"
_IMPORT = "`prowess import CLIENT` adds the tool calls that are missing"


@dataclass(frozen=True, slots=True)
class _Waiting:
    events: int
    since: float | None  # seconds since 1970, of the oldest
    full: bool
    newer: bool  # the oldest were left by a newer version
    aside: int


def look_at_spool(home: Path, now: float | None = None) -> Finding:
    """What waits in the spool of the store in ``home``, and since when."""
    now = time.time() if now is None else now
    try:
        waiting = _look(str(home))
    except OSError as error:
        mend = f"chmod u+rwx {quote(spool.folder(str(home)))}"
        return Finding(_CHECK, "fail", f"it cannot be read: {error.strerror}", mend)
    if waiting.full or (waiting.events and now - (waiting.since or 0.0) > LATE_SECONDS):
        return _stuck(home, waiting, now)
    if (told := _lost(home, now) or _newest_error(home, now)) is not None:
        return told
    said = f"{_events(waiting)} for the hub" if waiting.events else "nothing waits"
    return Finding(_CHECK, "ok", f"{said}{_aside(waiting)}")


def _look(home: str) -> _Waiting:
    names = spool.names(home)
    times = [at for name in names[:LOOKED_AT] if (at := spool.left_at(name)) is not None]
    return _Waiting(
        len(names), min(times, default=None), spool.is_full(home), _is_newer(home, names[:LOOKED_AT]), spool.aside(home)
    )


def _is_newer(home: str, names: list[str]) -> bool:
    """Whether a newer version left some of these, and none is for this version's hub."""
    newer = False
    for name in names:
        with suppress(OSError, spool.UnreadableError):
            if spool.read(home, name) is not None:
                return False
            newer = True
    return newer


def _stuck(home: Path, waiting: _Waiting, now: float) -> Finding:
    said, mend = _waits_since(waiting), "prowess hub logs" if hub.is_running(home) else "prowess hub start"
    if waiting.newer:
        said, mend = f"{said}; a newer version of Prowess left them", "upgrade Prowess, and restart the agents"
    elif not waiting.events:
        mend = f"remove the files that end in .bad from {spool.folder(str(home))}"
    lost = _lost_words(home, now)
    said = f"{said}; {lost}" if lost else said
    if waiting.full:
        return Finding(_CHECK, "fail", f"{said}; it is full, so hooks keep nothing more", f"{mend}; then {_IMPORT}")
    return Finding(_CHECK, "warn", said, mend)


def _waits_since(waiting: _Waiting) -> str:
    if not waiting.events:
        return f"nothing waits{_aside(waiting)}"
    since = "" if waiting.since is None else f" since {_time(waiting.since)}"
    return f"{_events(waiting)}{since} and no hub takes {'it' if waiting.events == 1 else 'them'}{_aside(waiting)}"


def _events(waiting: _Waiting) -> str:
    return counted(waiting.events, "event waits", "events wait")


def _aside(waiting: _Waiting) -> str:
    return f"; {counted(waiting.aside, 'file was', 'files were')} set aside as .bad" if waiting.aside else ""


def _lost_words(home: Path, now: float) -> str:
    """How many events could not be left of late, and since when; "" for none."""
    told = losses.told(str(home), now)
    if told is None:
        return ""
    events, since, last = told
    when = f"since {_time(since)}, the last at {_time(last)}" if events > 1 else f"at {_time(since)}"
    return f"{counted(events, 'event')} of hooks could not be kept, {when}"


def _time(seconds: float) -> str:
    return format_time(datetime.fromtimestamp(seconds, UTC))


def _lost(home: Path, now: float) -> Finding | None:
    if not (said := _lost_words(home, now)):
        return None
    _, _, reason = spool.newest_error(str(home)).partition(" ")
    why = f": {reason}" if reason else ""
    return Finding(_CHECK, "warn", f"{said}{why}", f"where that lasts, free some space; {_IMPORT}")


def _newest_error(home: Path, now: float) -> Finding | None:
    """A hook that could not leave its event has no other trace: the disk is full, the folder is not to be written."""
    at, _, reason = spool.newest_error(str(home)).partition(" ")
    with suppress(ValueError):
        if reason and now - parse_time(at).timestamp() < ERROR_SECONDS:
            said = f"a hook could not do its work at {at}: {reason}"
            return Finding(_CHECK, "warn", said, f"where that lasts, mend what it names; {_IMPORT}")
    return None
