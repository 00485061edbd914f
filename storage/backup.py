"""Backups: a folder with a copy of the log, a manifest that says what is in it, and the files that the log names.

The catalog is not in it, since it is made from the log.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from prowess.storage import beside
from prowess.storage.alone import alone_in
from prowess.storage.errors import InvalidInput
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.erasure import erase
from prowess.storage.log.failures import translated
from prowess.storage.log.file import LogFile, identity_of, read_meta, sync_folder, write_meta
from prowess.storage.log.forgotten import Past
from prowess.storage.manifest import (
    LOG_NAME,
    MANIFEST_NAME,
    Manifest,
    opened,
    read_manifest,
    save_manifest,
    sha256_of,
    write_manifest,
)
from prowess.storage.ordinary import read_ordinary

__all__ = [
    "ASIDE",
    "begin",
    "building",
    "delete",
    "end",
    "erase_in",
    "erase_past",
    "listed",
    "listed_in",
    "log_path",
    "place",
    "recover",
    "remove_fresh",
    "restoring",
    "stamp_of",
    "undeleted",
    "unreadable_logs",
    "write",
]

# A backup's log without what was forgotten, until it takes the log's place.
ERASED = f"{LOG_NAME}.erased"
# In the log: the backup that is being made.
UNFINISHED = "unfinished_backup"
# Folders of logs that were replaced, beside the log.
ASIDE = "replaced-"


def log_path(folder: Path, redb_path: Path | None) -> Path:
    """Where the log lies: in the store's folder, or where REDB_PATH says (relative: to that folder).

    Links are followed, so that one log has one lock, and so that rewriting replaces the file and not the link.
    """
    return _readable((folder.expanduser() / (LOG_NAME if redb_path is None else redb_path.expanduser())).resolve())


def _readable(path: Path) -> Path:
    """``path``, which the catalog and the list of backups can only hold as text."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the path {str(path)!a} is no valid Unicode here", hint="choose another folder, or use a UTF-8 locale"
        ) from error
    return path


def listed(view: View) -> tuple[str, ...]:
    """The backups made of this log, wherever they are now."""
    return tuple(read_meta(view, "backups") or ())


def listed_in(file: LogFile) -> tuple[str, ...]:
    """The backups of an open log, and the logs that restoring set aside."""
    with file.read() as view:
        known = listed(view)
    # What restore set aside is listed in the restored log, unless it was killed before that took its place.
    aside = (str(manifest.parent) for manifest in file.path.parent.glob(f"{ASIDE}*/{MANIFEST_NAME}"))
    return tuple(sorted({*known, *aside}))


def undeleted(file: LogFile, paths: Iterable[str]) -> tuple[str, ...]:
    """Those that are there or may be away. The log's own folder never is: what is not in it was deleted or moved."""

    def is_deleted(path: Path) -> bool:
        return path.is_relative_to(file.path.parent) and path.parent.exists() and not path.exists()

    return tuple(path for path in paths if not is_deleted(Path(path)))


def unreadable_logs(file: LogFile) -> tuple[str, ...]:
    """Logs that restoring set aside without a manifest: they could not be read, or the program was killed meanwhile."""
    found = file.path.parent.glob(f"{ASIDE}*/{LOG_NAME}")
    return tuple(sorted(str(log.parent) for log in found if not (log.parent / MANIFEST_NAME).exists()))


def place(target: Path, now: datetime) -> Path:
    """Where a new backup goes: ``target``, or a new folder in it where it exists. InvalidInput, StoreUnavailable.

    The folder that it goes into is made: one that is gone later was there, and may hold a backup.
    """
    with translated(target):
        target = _readable(target.expanduser().absolute())
        final = target / f"prowess-{stamp_of(now)}" if target.is_dir() else target
        _check_new(final)
        final.parent.mkdir(parents=True, exist_ok=True)
    return final


def _check_new(final: Path) -> None:
    if final.exists():
        raise InvalidInput(f"{final} exists", hint="name a new folder, or one to put the backup in")


def write(file: LogFile, final: Path, now: datetime, more: Callable[[Path], None] = lambda _: None) -> None:
    """Copy ``file`` into the new folder ``final``, and let ``more`` put there what belongs to it.

    Reads and writes go on meanwhile. The folder gets its name last: one that exists is whole. StoreBusy where another
    store makes one beside it.
    """
    with translated(final), alone_in(final.parent):
        _check_new(final)  # another store may have made it since
        part = building(final, file.id)
        delete(part)
        part.mkdir(mode=0o700)
        try:
            file.export(part / LOG_NAME, lambda view: write_meta(view, UNFINISHED, ""))
            more(part)
            write_manifest(part, now)
            part.rename(final)
            sync_folder(final.parent)
        finally:
            delete(part)


def building(final: Path, log_id: str = "") -> Path:
    """The folder that is to be ``final`` once it is whole; of this log, where others may make one of that name."""
    return final.with_name(f".{final.name}{log_id[-8:]}.part")


def begin(view: View, final: Path) -> None:
    """Note that a backup is being made, so that what a killed program leaves of it is found."""
    write_meta(view, UNFINISHED, str(final))


def end(view: View) -> None:
    """Put the backup that was being made on the list if it is whole, and remove what is there of it if not.

    Where its place is away it may be whole: then it is listed too, so that forgetting tells that it was not reached.
    """
    unfinished = read_meta(view, UNFINISHED)
    if not unfinished:
        return
    final = Path(unfinished)
    delete(building(final, identity_of(view).log))
    if _may_be_of(view, final) or not final.parent.exists():
        write_meta(view, "backups", sorted({*listed(view), unfinished}))
    write_meta(view, UNFINISHED, "")


def _may_be_of(view: View, final: Path) -> bool:
    """Whether there is a backup of this log in the folder, as far as its manifest can be read."""
    try:
        manifest = msgspec.json.decode(read_ordinary(final / MANIFEST_NAME), type=Manifest)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return (final / MANIFEST_NAME).exists()
    return manifest.log_id == identity_of(view).log


def recover(file: LogFile) -> None:
    """Tidy up after a program that was killed while it made or restored a backup. The log must be ours alone."""
    with translated(file.path):
        remove_fresh(restoring(file.path))
    for part in file.path.parent.glob(f".{ASIDE}*.part"):
        delete(part)
    with file.read() as view:
        unfinished = read_meta(view, UNFINISHED)
    if unfinished:
        with file.write() as transaction:
            end(View(transaction))


def stamp_of(now: datetime) -> str:
    """``now`` as part of a folder's name."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%fZ}"


def erase_in(backup: Path, past: Past, now: datetime) -> None:
    """Take forgotten payloads out of a backup as well. StoreError where it cannot be reached.

    Done in a copy, which the manifest allows before it takes the log's place: a crash leaves a backup that is valid.
    """
    with translated(backup), alone_in(backup):
        manifest = read_manifest(backup)
        log, fresh = backup / LOG_NAME, backup / ERASED
        try:
            shutil.copyfile(log, fresh)
            with opened(fresh, now) as file:
                changed = erase_past(file, past, now)
            if changed:
                _exchange(log, fresh, manifest)
        finally:
            remove_fresh(fresh)


def _exchange(log: Path, fresh: Path, manifest: Manifest) -> None:
    fresh.chmod(0o600)
    changed = msgspec.structs.replace(
        manifest, sha256=sha256_of(fresh), size=fresh.stat().st_size, before=sha256_of(log)
    )
    save_manifest(log.parent, changed)
    fresh.replace(log)
    save_manifest(log.parent, msgspec.structs.replace(changed, before=""))


def erase_past(file: LogFile, past: Past, now: datetime) -> bool:
    """Whether there was anything in the log's file that was forgotten; now there is not."""
    with file.write() as transaction:
        batch = Batch(transaction, now)
        erase(batch, past.targets, kept=past.kept)
        # Erased before, and the program was killed before it rewrote the file.
        changed = bool(batch.writes or read_meta(batch, "scrub"))
    if changed:
        file.rewrite(lambda view: write_meta(view, "scrub", False))
    return changed


def remove_fresh(path: Path) -> None:
    """A file that did not get its name, with what stands beside it while it is open."""
    for name in (path.name, f"{path.name}.lock", f"{path.name}.new"):
        path.with_name(name).unlink(missing_ok=True)


def delete(backup: Path) -> None:
    """Delete the files of a backup, and its folder unless something else is in it. StoreUnavailable."""
    with translated(backup):
        remove_fresh(backup / LOG_NAME)
        remove_fresh(backup / ERASED)
        for name in (MANIFEST_NAME, f"{MANIFEST_NAME}.part"):
            (backup / name).unlink(missing_ok=True)
        beside.remove(backup)
        if backup.is_dir() and not any(backup.iterdir()):
            backup.rmdir()


def restoring(path: Path) -> Path:
    """Where the log that takes the place of that at ``path`` is made."""
    return path.with_name(f"{path.name}.restored")
