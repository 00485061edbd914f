"""Backups: a folder with a copy of the log, a manifest that says what is in it, and the files that the log names.

The catalog is not in it, since it is made from the log. A restored log starts a new epoch, so that a catalog which saw
the other one is made anew; the log that it replaces becomes a backup itself.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from prowess.storage import beside
from prowess.storage.errors import (
    InvalidInput,
    StoreDamaged,
    StoreError,
    StoreNewer,
    StoreUnavailable,
    UnknownBackup,
)
from prowess.storage.events import Forgotten, PrivacySet
from prowess.storage.log.batch import Batch, View, head_of
from prowess.storage.log.erasure import Targets, erase
from prowess.storage.log.failures import translated
from prowess.storage.log.file import LogFile, read_meta, sync_folder, write_meta
from prowess.storage.log.forgotten import Past, forgotten_before, remember_forgotten
from prowess.storage.log.lock import Lock
from prowess.storage.log.private import Private, private_in, set_privacy
from prowess.storage.log.tables import SCHEMA
from prowess.storage.models import Origin, format_time
from prowess.storage.owed import owe, owed

__all__ = [
    "LOG_NAME",
    "MANIFEST_NAME",
    "Manifest",
    "begin",
    "check_is_backup",
    "delete",
    "end",
    "erase_in",
    "listed",
    "listed_in",
    "log_path",
    "place",
    "read_manifest",
    "recover",
    "restore",
    "unreadable_logs",
    "write",
]

LOG_NAME = "log.redb"
MANIFEST_NAME = "manifest.json"
CHUNK = 1 << 20
# A backup's log without what was forgotten, until it takes the log's place.
ERASED = f"{LOG_NAME}.erased"
# In the log: the backup that is being made.
UNFINISHED = "unfinished_backup"
# Folders of logs that were replaced, beside the log.
ASIDE = "replaced-"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``sha256`` and ``size`` of the log's copy; ``schema``, ``log_id``, ``epoch`` and ``seq`` of its content.

    ``before`` is the copy's hash until what was forgotten has left it; either may be found after a crash.
    """

    created: str
    sha256: str
    size: int
    schema: int
    log_id: str
    epoch: int
    seq: int
    format: int = 1
    before: str = ""


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
    with file.read() as transaction:
        known = listed(View(transaction))
    # What restore set aside is listed in the restored log, unless it was killed before that took its place.
    aside = (str(manifest.parent) for manifest in file.path.parent.glob(f"{ASIDE}*/{MANIFEST_NAME}"))
    return tuple(sorted({*known, *aside}))


def unreadable_logs(file: LogFile) -> tuple[str, ...]:
    """Logs that restoring set aside without a manifest: they could not be read, or the program was killed meanwhile."""
    found = file.path.parent.glob(f"{ASIDE}*/{LOG_NAME}")
    return tuple(sorted(str(log.parent) for log in found if not (log.parent / MANIFEST_NAME).exists()))


def place(target: Path, now: datetime) -> Path:
    """Where a new backup goes: ``target``, or a new folder in it where it exists. InvalidInput, StoreUnavailable."""
    with translated(target):
        target = _readable(target.expanduser().absolute())
        final = target / f"prowess-{_stamp(now)}" if target.is_dir() else target
        if final.exists():
            raise InvalidInput(f"{final} exists", hint="name a new folder, or one to put the backup in")
    return final


def write(file: LogFile, final: Path, now: datetime, more: Callable[[Path], None] = lambda _: None) -> None:
    """Copy ``file`` into the new folder ``final``, and let ``more`` put there what belongs to it.

    Reads and writes go on meanwhile. The folder gets its name last: one that exists is whole.
    """
    with translated(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        building = _building(final)
        delete(building)
        building.mkdir(mode=0o700)
        try:
            file.export(building / LOG_NAME, lambda view: write_meta(view, UNFINISHED, ""))
            more(building)
            _write_manifest(building, now)
            building.rename(final)
            sync_folder(final.parent)
        finally:
            delete(building)


def _building(final: Path) -> Path:
    return final.with_name(f".{final.name}.part")


def begin(view: View, final: Path) -> None:
    """Note that a backup is being made, so that what a killed program leaves of it is found."""
    write_meta(view, UNFINISHED, str(final))


def end(view: View) -> None:
    """Put the backup that was being made on the list if it is whole, and remove what is there of it if not."""
    unfinished = read_meta(view, UNFINISHED)
    if not unfinished:
        return
    final = Path(unfinished)
    delete(_building(final))
    if (final / MANIFEST_NAME).exists():
        write_meta(view, "backups", sorted({*listed(view), unfinished}))
    write_meta(view, UNFINISHED, "")


def recover(file: LogFile) -> None:
    """Tidy up after a program that was killed while it made or restored a backup. The log must be ours alone."""
    with translated(file.path):
        _remove_fresh(_restored(file.path))
    with file.read() as transaction:
        unfinished = read_meta(View(transaction), UNFINISHED)
    if unfinished:
        with file.write() as transaction:
            end(View(transaction))


def _write_manifest(folder: Path, now: datetime) -> None:
    log = folder / LOG_NAME
    facts = _facts(log, now)
    _save_manifest(folder, Manifest(created=format_time(now), sha256=_hash(log), size=log.stat().st_size, **facts))


def _facts(log: Path, now: datetime) -> dict[str, Any]:
    with _opened(log, now) as file, file.read() as transaction:
        facts = {"log_id": file.id, "epoch": file.epoch, "seq": head_of(View(transaction)).seq, "schema": SCHEMA}
    log.with_name(f"{log.name}.lock").unlink(missing_ok=True)
    return facts


def _save_manifest(folder: Path, manifest: Manifest) -> None:
    part = folder / f"{MANIFEST_NAME}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    part.replace(folder / MANIFEST_NAME)
    sync_folder(folder)


@contextmanager
def _opened(path: Path, now: datetime) -> Iterator[LogFile]:
    file = LogFile(path, format_time(now))
    try:
        yield file
    finally:
        file.close()


def _stamp(now: datetime) -> str:
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%fZ}"


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def check_is_backup(backup: Path) -> None:
    """Raises UnknownBackup where there is none in the folder ``backup``; whether it is whole, ``restore`` finds out."""
    if (backup / MANIFEST_NAME).is_file():
        return
    inside = sorted(backup.glob(f"*/{MANIFEST_NAME}"))
    meant = f"; the newest in this folder is {inside[-1].parent}" if inside else ""
    raise UnknownBackup(
        f"{backup} is no backup: there is no {MANIFEST_NAME} in it",
        hint=f"name a folder that `prowess backup` made, with {LOG_NAME} and {MANIFEST_NAME}{meant}",
    )


def read_manifest(backup: Path) -> Manifest:
    """The manifest, once the copy was found to be what it says. UnknownBackup, StoreUnavailable, StoreDamaged."""
    check_is_backup(backup)
    try:
        manifest = msgspec.json.decode((backup / MANIFEST_NAME).read_bytes(), type=Manifest)
        same = _hash(backup / LOG_NAME) in (manifest.sha256, manifest.before)
    except OSError as error:
        raise StoreUnavailable(
            f"the backup cannot be read: {error}", hint="see that you may, or use another"
        ) from error
    except msgspec.MsgspecError as error:
        raise StoreDamaged(f"{backup / MANIFEST_NAME}: {error}", hint="use another backup") from error
    if not same:
        raise StoreDamaged(f"{backup / LOG_NAME} was altered after the backup", hint="use another backup")
    return manifest


def erase_in(backup: Path, past: Past, now: datetime) -> None:
    """Take forgotten payloads out of a backup as well. StoreError where it cannot be reached.

    Done in a copy, which the manifest allows before it takes the log's place: a crash leaves a backup that is valid.
    """
    manifest = read_manifest(backup)
    log, fresh = backup / LOG_NAME, backup / ERASED
    with translated(backup):
        try:
            shutil.copyfile(log, fresh)
            with _opened(fresh, now) as file:
                changed = _erase(file, past, now)
            if changed:
                _exchange(log, fresh, manifest)
        finally:
            _remove_fresh(fresh)


def _exchange(log: Path, fresh: Path, manifest: Manifest) -> None:
    fresh.chmod(0o600)
    changed = msgspec.structs.replace(manifest, sha256=_hash(fresh), size=fresh.stat().st_size, before=_hash(log))
    _save_manifest(log.parent, changed)
    fresh.replace(log)
    _save_manifest(log.parent, msgspec.structs.replace(changed, before=""))


def _erase(file: LogFile, past: Past, now: datetime) -> bool:
    """Whether there was anything in the log that was forgotten; now there is not."""
    with file.write() as transaction:
        batch = Batch(transaction, now)
        erase(batch, past.targets, kept=past.kept)
    if batch.writes:
        file.rewrite(lambda view: write_meta(view, "scrub", False))
    return bool(batch.writes)


def _say_forgotten(file: LogFile, past: Past, now: datetime) -> None:
    """Other machines may not know it yet, and the event that said so is not in this log."""
    targets = past.targets.without(Targets(skills=set(past.anew)))
    with file.write() as transaction:
        batch = Batch(transaction, now)
        told = targets.forgotten(batch.at, "forgotten before a backup was restored")
        batch.record(told, Origin(actor="machine"))
        remember_forgotten(batch, told)
        for name, at in past.anew.items():  # said again it would go for good, here and elsewhere
            remember_forgotten(batch, Forgotten(at=batch.at, skill_ids=(name,)), at)


def _stay_private(file: LogFile, private: Private, now: datetime) -> None:
    """What was marked since the backup stays so: else it would leave the machine now."""
    with file.write() as transaction:
        batch = Batch(transaction, now)
        known = private_in(batch)
        more = {name: getattr(private, name) - getattr(known, name) for name in private.__struct_fields__}
        if any(more.values()):
            named = {name: tuple(sorted(ids)) for name, ids in more.items()}
            told = PrivacySet(at=batch.at, private=True, **named)
            batch.record(told, Origin(actor="machine"))
            set_privacy(batch, told)


def _remove_fresh(path: Path) -> None:
    """A file that did not get its name, with what stands beside it while it is open."""
    for name in (path.name, f"{path.name}.lock", f"{path.name}.new"):
        path.with_name(name).unlink(missing_ok=True)


def delete(backup: Path) -> None:
    """Delete the files of a backup, and its folder unless something else is in it. StoreUnavailable."""
    with translated(backup):
        _remove_fresh(backup / LOG_NAME)
        _remove_fresh(backup / ERASED)
        for name in (MANIFEST_NAME, f"{MANIFEST_NAME}.part"):
            (backup / name).unlink(missing_ok=True)
        beside.remove(backup)
        if backup.is_dir() and not any(backup.iterdir()):
            backup.rmdir()


def restore(folder: Path, backup: Path, *, redb_path: Path | None = None, now: datetime | None = None) -> Path | None:
    """Put the backup's log in place of the store's, which must be closed; where the old log is kept now, if any.

    What was forgotten since the backup stays forgotten. Raises UnknownBackup, StoreInUse, StoreDamaged, StoreNewer and
    StoreUnavailable.
    """
    now = now or datetime.now(UTC)
    manifest = read_manifest(backup)
    path = log_path(folder, redb_path)
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Held until the new log is in place: nobody can open the old one while it moves.
        lock = Lock(path)
        try:
            beside.put_back(backup.expanduser(), folder.expanduser())
            return _replace(path, backup.expanduser().absolute(), manifest, now)
        finally:
            lock.release()


class _Old(NamedTuple):
    """What the new log must know of the one that it replaces."""

    forgotten: Past = Past()
    epoch: int = 0
    backups: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    private: Private = Private()


def _replace(path: Path, backup: Path, manifest: Manifest, now: datetime) -> Path | None:
    fresh = _restored(path)
    aside = path.parent.absolute() / f"{ASIDE}{_stamp(now)}" if path.exists() else None
    try:
        shutil.copyfile(backup / LOG_NAME, fresh)
        old = _Old() if aside is None else _set_aside(path, aside, now)
        _adopt(fresh, old, backup, manifest, now)
        fresh.chmod(0o600)
        fresh.replace(path)
        sync_folder(path.parent)
    finally:
        _remove_fresh(fresh)
    return aside


def _restored(path: Path) -> Path:
    return path.with_name(f"{path.name}.restored")


def _set_aside(path: Path, aside: Path, now: datetime) -> _Old:
    aside.mkdir(mode=0o700)
    try:
        shutil.copyfile(path, aside / LOG_NAME)
        with _opened(aside / LOG_NAME, now) as file, file.read() as transaction:
            view = View(transaction)
            known = (*listed(view), str(aside))
            old = _Old(forgotten_before(view), file.epoch, known, owed(view), private_in(view))
        _write_manifest(aside, now)
    except (StoreDamaged, StoreNewer):
        # Perhaps the reason to restore: kept as it is, but it is no backup.
        return _Old()
    except (StoreError, OSError):
        # A full disk, for one. Going on would bring back what was forgotten.
        delete(aside)
        raise
    return old


def _adopt(fresh: Path, old: _Old, backup: Path, manifest: Manifest, now: datetime) -> None:
    # Seconds keep the epoch new even where the old log's cannot be read.
    epoch = max(old.epoch, manifest.epoch, int(now.timestamp())) + 1
    with _opened(fresh, now) as file:
        with file.write() as transaction:
            view = View(transaction)
            write_meta(view, "epochs", [*file.identity.epochs, (epoch, head_of(view).seq + 1)])
            write_meta(view, "epoch", epoch)
            write_meta(view, "backups", sorted({*listed(view), *old.backups, str(backup)}))
            owe(view, {*owed(view), *old.owed})
        _stay_private(file, old.private, now)
        if old.forgotten.targets:
            _erase(file, old.forgotten, now)
            _say_forgotten(file, old.forgotten, now)
