"""The folder in which hooks leave events for the hub: one private file each, whole or not there.

A file's name begins with the time of its event, so names sort as events happened. The hub deletes a file once its
event is committed. Where no hub does, the folder is full at some time and refuses what comes then: what waits is the
beginning of its sessions, and an import of the client's transcripts adds the rest.
"""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH103, PTH104, PTH108, PTH112, PTH118, PTH123, PTH208, SIM105

from __future__ import annotations

import errno
import os
import time

from prowess.server.shim.ordinary import NotOrdinaryError, content, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "FORMAT",
    "MAX_BYTES",
    "MAX_WAITING",
    "FullError",
    "UnreadableError",
    "aside",
    "folder",
    "is_full",
    "left_at",
    "names",
    "newest_error",
    "note_error",
    "read",
    "remove",
    "remove_aside",
    "set_aside",
    "tidy",
    "write",
]

FORMAT = 1  # of an event's file; one that is higher is left for a newer hub
MAX_FILE = 8_000_000  # bytes; a hook writes a tenth of that
MAX_WAITING = 10_000  # files; a hook looks through all their names
MAX_BYTES = 256_000_000  # of all of them, about
SURELY_FIT = 100  # files that are no more than that whatever their size, so that none of them is looked at
NAME_DIGITS = 20  # of the nanoseconds since 1970 with which a name begins
BEGUN_SECONDS = 3600.0
ASIDE_SECONDS = 7 * 24 * 3600.0
_ENDING = ".json"
_ASIDE = ".bad"


class UnreadableError(Exception):
    """A file of the spool that holds no event."""


class FullError(OSError):
    """So much waits that no more is taken."""

    def __init__(self) -> None:
        super().__init__(errno.EDQUOT, "the spool is full: no hub takes what waits in it")


def folder(home: str) -> str:
    """The spool (0700) of the store in ``home``."""
    return os.path.join(home, "spool")


def write(home: str, event: dict[str, Any]) -> str:
    """Leave ``event``; its name. Raises OSError, ``FullError`` where too much waits already."""
    import json

    place = folder(home)
    if not os.path.isdir(place):
        _begin(home, place)
    if is_full(home):
        raise FullError
    name = f"{time.time_ns():0{NAME_DIGITS}d}-{os.getpid():07d}-{os.urandom(3).hex()}"
    fresh = os.path.join(place, f".{name}")
    data = json.dumps({"format": FORMAT, **event}).encode()
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.rename(fresh, os.path.join(place, name + _ENDING))
    except OSError:
        os.unlink(fresh)
        raise
    return name


def _begin(home: str, place: str) -> None:
    from prowess.server.hooks import losses

    os.makedirs(home, mode=0o700, exist_ok=True)
    os.makedirs(place, mode=0o700, exist_ok=True)
    try:
        losses.prepare(home)
    except OSError:
        pass  # the event itself may be kept


def is_full(home: str) -> bool:
    """Whether it takes no more, whatever the files in it are. Raises OSError for a folder that cannot be read.

    Hooks that look at the same moment may all find room: a few files more do no harm.
    """
    files = _listed(home)
    return len(files) >= MAX_WAITING or (len(files) > SURELY_FIT and _size(home, files) >= MAX_BYTES)


def _size(home: str, files: list[str]) -> float:
    """About how many bytes they have, by some of them: to look at thousands would take longer than all else."""
    some, total = files[:: len(files) // SURELY_FIT], 0
    for name in some:
        try:
            total += os.lstat(os.path.join(folder(home), name)).st_size
        except OSError:
            pass  # the hub has just taken it
    return total / len(some) * len(files)


def left_at(name: str) -> float | None:
    """When the event of that name was left, in seconds since 1970; None for a name that no hook gives."""
    digits = name.partition("-")[0]
    return int(digits) / 1e9 if len(digits) == NAME_DIGITS and digits.isascii() and digits.isdigit() else None


def names(home: str) -> list[str]:
    """The events that wait, the oldest first. Raises OSError for a folder that cannot be read."""
    found = (name for name in _listed(home) if name.endswith(_ENDING) and not name.startswith("."))
    return sorted(name.removesuffix(_ENDING) for name in found)


def _listed(home: str) -> list[str]:
    try:
        return os.listdir(folder(home))
    except FileNotFoundError:
        return []


def read(home: str, name: str) -> dict[str, Any] | None:
    """The event; None where it is gone, or a newer hub's. Raises ``UnreadableError`` and OSError."""
    import json

    try:
        event = json.loads(content(os.path.join(folder(home), name + _ENDING), MAX_FILE, link=False))
    except FileNotFoundError:
        return None
    except (NotOrdinaryError, ValueError, RecursionError) as error:
        raise UnreadableError(name) from error
    if not isinstance(event, dict) or not isinstance(event.get("format"), int):
        raise UnreadableError(name)
    return event if event["format"] <= FORMAT else None


def set_aside(home: str, name: str) -> str:
    """Keep what is no event for a person to look at, where no hub reads it again; its name then. Raises OSError."""
    kept = os.path.join(folder(home), name + _ASIDE)
    try:
        os.rename(os.path.join(folder(home), name + _ENDING), kept)
        os.utime(kept, follow_symlinks=False)  # it lies there from now on
    except FileNotFoundError:
        pass
    return name + _ASIDE


def aside(home: str) -> int:
    """How many files were set aside. Raises OSError for a folder that cannot be read."""
    return sum(name.endswith(_ASIDE) for name in _listed(home))


def remove(home: str, name: str) -> None:
    """The event is committed."""
    try:
        os.unlink(os.path.join(folder(home), name + _ENDING))
    except FileNotFoundError:
        pass


def tidy(home: str, now: float) -> None:
    """Remove what hooks that were killed had begun to write an hour before ``now``, and what lay aside for a week."""
    _sweep(home, ".", "", now - BEGUN_SECONDS)
    _sweep(home, "", _ASIDE, now - ASIDE_SECONDS)


def remove_aside(home: str) -> None:
    """Remove all that was set aside. Raises OSError."""
    _sweep(home, "", _ASIDE, None)


def _sweep(home: str, beginning: str, ending: str, before: float | None) -> None:
    """Remove files of that name which were last changed ``before``. A folder is nothing of ours."""
    import stat

    place = folder(home)
    for name in os.listdir(place) if os.path.isdir(place) else []:
        path = os.path.join(place, name)
        try:
            found = os.lstat(path)
            old = before is None or found.st_mtime < before
            if name.startswith(beginning) and name.endswith(ending) and old and not stat.S_ISDIR(found.st_mode):
                os.unlink(path)
        except FileNotFoundError:
            pass


def _error_file(home: str) -> str:
    return os.path.join(home, "logs", "hook.err")


def note_error(home: str, words: str) -> None:
    """Keep why a hook could not do its work, for ``prowess doctor``; nothing that an agent sent is in ``words``."""
    try:
        os.makedirs(os.path.join(home, "logs"), mode=0o700, exist_ok=True)
        # Written over what is there: on a full disk that has the only room for it.
        with open(opened(_error_file(home), os.O_WRONLY | os.O_CREAT), "wb") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {words}\n".encode())
            file.truncate()
    except OSError:
        pass  # nowhere to say it, and the agent is not to be bothered


def newest_error(home: str) -> str:
    """What ``note_error`` kept last; "" for nothing."""
    try:
        return content(_error_file(home), 4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""
