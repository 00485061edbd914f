"""Restoring a backup: its log takes the place of the store's, which becomes a backup itself.

A restored log starts a new epoch, so that a catalog which saw the other one is made anew.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from prowess.storage import beside
from prowess.storage.backup import (
    ASIDE,
    building,
    delete,
    erase_past,
    listed,
    log_path,
    remove_fresh,
    restoring,
    stamp_of,
)
from prowess.storage.errors import StoreDamaged, StoreError, StoreNewer
from prowess.storage.events import PrivacySet
from prowess.storage.log.batch import Batch, View, head_of
from prowess.storage.log.failures import translated
from prowess.storage.log.file import LogFile, copy_file, read_meta, sync_folder, write_meta
from prowess.storage.log.forgotten import Past, forgotten_before, remember_forgotten
from prowess.storage.log.lock import Lock
from prowess.storage.log.private import Private, private_in, set_privacy
from prowess.storage.log.targets import Targets
from prowess.storage.manifest import LOG_NAME, Manifest, opened, read_manifest, write_manifest
from prowess.storage.models import ActorKind, Origin
from prowess.storage.owed import owe, owed

__all__ = ["restore"]


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
    fresh = restoring(path)
    aside = path.parent.absolute() / f"{ASIDE}{stamp_of(now)}" if path.exists() else None
    try:
        shutil.copyfile(backup / LOG_NAME, fresh)
        old = _Old() if aside is None else _set_aside(path, aside, now)
        try:
            _adopt(fresh, old, backup, manifest, now)
            fresh.chmod(0o600)
            fresh.replace(path)
        except (StoreError, OSError):
            # The log is still in its place: a second copy would take the room that the next attempt needs.
            if aside is not None:
                delete(aside)
            raise
        sync_folder(path.parent)
    finally:
        remove_fresh(fresh)
    return aside


def _set_aside(path: Path, aside: Path, now: datetime) -> _Old:
    """Copied under another name: a folder that has its own is whole, or holds a log that could not be read."""
    copy = building(aside)
    copy.mkdir(mode=0o700)
    try:
        copy_file(path, copy / LOG_NAME)  # soon the only one
        with opened(copy / LOG_NAME, now) as file, file.read() as view:
            known = (*listed(view), str(aside))
            # The program was killed while it went through them, and nobody will open this log to go on.
            left = known if read_meta(view, "scrub") else owed(view)
            old = _Old(forgotten_before(view), file.epoch, known, left, private_in(view))
        write_manifest(copy, now)
    except (StoreDamaged, StoreNewer):
        # Perhaps the reason to restore: kept as it is, but it is no backup.
        old = _Old()
    except (StoreError, OSError):
        # A full disk, for one. Going on would bring back what was forgotten.
        delete(copy)
        raise
    copy.rename(aside)
    return old


def _adopt(fresh: Path, old: _Old, backup: Path, manifest: Manifest, now: datetime) -> None:
    # Seconds keep the epoch new even where the old log's cannot be read.
    epoch = max(old.epoch, manifest.epoch, int(now.timestamp())) + 1
    with opened(fresh, now) as file:
        with file.write() as transaction:
            view = View(transaction)
            write_meta(view, "epochs", [*file.identity.epochs, (epoch, head_of(view).seq + 1)])
            write_meta(view, "epoch", epoch)
            write_meta(view, "backups", sorted({*listed(view), *old.backups, str(backup)}))
            # It may have been moved before a forgetting, which went by where backups were made.
            missed = {str(backup)} if old.forgotten.targets and str(backup) not in old.backups else set[str]()
            owe(view, {*owed(view), *old.owed, *missed})
        _stay_private(file, old.private, now)
        if old.forgotten.targets:
            erase_past(file, old.forgotten, now)
            _say_forgotten(file, old.forgotten, now)


def _say_forgotten(file: LogFile, past: Past, now: datetime) -> None:
    """Other machines may not know it yet, and the event that said so is not in this log."""
    alone = Targets(memories=set(past.alone))
    targets = past.targets.without(alone)
    for kind, name in past.anew:
        targets = targets.without(_only(kind, name))
    with file.write() as transaction:
        batch = Batch(transaction, now)
        whose: tuple[tuple[Targets, ActorKind], ...] = ((targets, "machine"), (alone, "person"))
        for part, actor in whose:
            if part:
                told = part.forgotten(batch.at, "forgotten before a backup was restored")
                batch.record(told, Origin(actor=actor))
                remember_forgotten(batch, told, actor=actor)
        for (kind, name), at in past.anew.items():  # said again it would go for good, here and elsewhere
            remember_forgotten(batch, _only(kind, name).forgotten(batch.at, ""), at)


def _only(kind: str, name: str) -> Targets:
    targets = Targets()
    getattr(targets, kind).add(name)
    return targets


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
