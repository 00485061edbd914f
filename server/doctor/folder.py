"""What ``prowess doctor`` says of the places of a store: whether they are there, or could be made, and written to."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from shlex import quote

from prowess.server.doctor.finding import Finding
from prowess.server.shim.places import UNKNOWN_HOME
from prowess.storage.backup import log_path
from prowess.storage.errors import StoreError

__all__ = ["look_at_places"]

_CHOOSE = "choose another folder with --store or PROWESS_HOME"
_CATALOG = "catalog.db"
_FULL = (errno.ENOSPC, errno.EDQUOT)

_Wrong = tuple[str, str]  # what is wrong, and what mends it


def look_at_places(home: Path, redb_path: Path | None) -> Finding:
    """Whether the store's folder can be used, and that of the log.

    Makes nothing: a file that has no name tells whether one may write.
    """
    found = _folder(home)
    return found if found.state == "fail" else _log(home, redb_path) or found


def _folder(home: Path) -> Finding:
    if not home.is_absolute():
        return Finding("folder", "fail", UNKNOWN_HOME, "set HOME, or name the store's folder with --store")
    if wrong := _wrong(home, _CHOOSE):
        return Finding("folder", "fail", *wrong)
    if not home.exists():
        return Finding("folder", "ok", "not there yet; the first write makes it")
    if os.name == "posix" and (other := _of_another(home)):
        return other
    mode = stat.S_IMODE(home.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        return Finding("folder", "warn", f"others may look into it (mode {mode:o})", f"chmod 700 {quote(str(home))}")
    return Finding("folder", "ok", f"mode {mode:o}")


def _of_another(home: Path) -> Finding | None:
    """What one ``sudo prowess`` leaves: files that are closed to the store's owner, or a store that is not root's."""
    me = os.geteuid()
    for folder, folders, files in os.walk(home):
        for path in (Path(folder, name) for name in (*folders, *files)):
            with suppress(OSError):  # gone by now
                if path.lstat().st_uid != me and not os.access(path, os.R_OK | os.W_OK):
                    said = f"{path} is of another user and closed to this one, as after sudo"
                    return Finding("folder", "fail", said, f'sudo chown -R "$(id -un)" {quote(str(home))}')
    if home.stat().st_uid != me:
        said = "it is of another user, who may not read what this one writes there"
        return Finding("folder", "warn", said, "run prowess as its owner, without sudo")
    return None


def _log(home: Path, redb_path: Path | None) -> Finding | None:
    """What keeps the log from being where it should; None where nothing does."""
    try:
        log = log_path(home, redb_path)
    except StoreError as error:
        return Finding("log", "fail", str(error), error.hint)
    if wrong := _wrong(log.parent, "write another path as redb_path or REDB_PATH"):
        return Finding("log", "fail", *wrong)
    if not log.exists() and (home / _CATALOG).exists():
        said = f"{log} is not there, and {home / _CATALOG} was made from it"
        mend = "see whether its disk is mounted, and where redb_path points; else `prowess restore` a backup"
        return Finding("log", "fail", said, mend)
    return None


def _wrong(folder: Path, choose: str) -> _Wrong | None:
    """What keeps ``folder`` from being used, or made."""
    there = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
    try:
        is_folder = stat.S_ISDIR(there.stat().st_mode)
    except OSError as error:
        return _astray(there, error, choose)
    if not is_folder:
        return f"{there} is no folder", f"move it away, or {choose}"
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return _refused(there, error, choose)
    if not os.access(there, os.R_OK | os.X_OK):
        return _refused(there, PermissionError(errno.EACCES, ""), choose)
    return None


def _astray(link: Path, error: OSError, choose: str) -> _Wrong:
    if not link.is_symlink():
        return f"{link} cannot be looked at: {error.strerror}", choose
    if error.errno == errno.ENOENT:
        target = link.readlink()
        return (
            f"{link} is a link to {target}, which is not there",
            f"see whether its disk is mounted, make that folder, or {choose}",
        )
    return f"{link} is a link that leads nowhere: {error.strerror}", f"remove it, or {choose}"


def _refused(folder: Path, error: OSError, choose: str) -> _Wrong:
    if error.errno == errno.EROFS:
        return f"{folder} is on a disk that is mounted read-only", f"mount it for writing, or {choose}"
    if error.errno in _FULL:
        return f"nothing more fits beside {folder}: {error.strerror}", "free some space"
    if isinstance(error, PermissionError):
        mine = os.name != "posix" or folder.stat().st_uid == os.geteuid()
        mend = f"chmod u+rwx {quote(str(folder))}" if mine else f"have its owner let you in, or {choose}"
        return f"this user may not write to {folder}", mend
    return f"{folder} cannot be written to: {error.strerror}", choose
