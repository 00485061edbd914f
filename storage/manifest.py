"""The manifest of a backup: what is in the copy of the log, and whether that is still what was copied."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from prowess.storage.errors import StoreDamaged, StoreUnavailable, UnknownBackup
from prowess.storage.log.batch import head_of
from prowess.storage.log.file import LogFile, sync_file, sync_folder
from prowess.storage.log.tables import SCHEMA
from prowess.storage.models import format_time
from prowess.storage.ordinary import open_ordinary, read_ordinary

__all__ = [
    "LOG_NAME",
    "MANIFEST_NAME",
    "Manifest",
    "check_is_backup",
    "opened",
    "read_manifest",
    "save_manifest",
    "sha256_of",
    "write_manifest",
]

LOG_NAME = "log.redb"
MANIFEST_NAME = "manifest.json"
CHUNK = 1 << 20


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


def write_manifest(folder: Path, now: datetime) -> None:
    """Make the manifest of the log in ``folder``. Raises StoreError and OSError."""
    log = folder / LOG_NAME
    facts = _facts(log, now)
    save_manifest(folder, Manifest(created=format_time(now), sha256=sha256_of(log), size=log.stat().st_size, **facts))


def _facts(log: Path, now: datetime) -> dict[str, Any]:
    with opened(log, now) as file, file.read() as view:
        facts = {"log_id": file.id, "epoch": file.epoch, "seq": head_of(view).seq, "schema": SCHEMA}
    log.with_name(f"{log.name}.lock").unlink(missing_ok=True)
    return facts


def save_manifest(folder: Path, manifest: Manifest) -> None:
    """Put it on disk, in the place of the one before. Raises OSError."""
    part = folder / f"{MANIFEST_NAME}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    sync_file(part)
    part.replace(folder / MANIFEST_NAME)
    sync_folder(folder)


@contextmanager
def opened(path: Path, now: datetime) -> Iterator[LogFile]:
    """A backup's log, for the length of the block."""
    file = LogFile(path, format_time(now))
    try:
        yield file
    finally:
        file.close()


def sha256_of(path: Path) -> str:
    """Of the file's content, as hex digits. Raises OSError."""
    digest = hashlib.sha256()
    with open_ordinary(path) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def check_is_backup(backup: Path) -> None:
    """Raises UnknownBackup where there is none in the folder ``backup``; whether it is whole, ``restore`` finds out.

    StoreUnavailable where nobody can tell, as on a disk that does not answer.
    """
    try:
        if (backup / MANIFEST_NAME).is_file():
            return
    except OSError as error:
        raise _unread(error) from error
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
        manifest = msgspec.json.decode(read_ordinary(backup / MANIFEST_NAME), type=Manifest)
        same = sha256_of(backup / LOG_NAME) in (manifest.sha256, manifest.before)
    except OSError as error:
        raise _unread(error) from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise StoreDamaged(f"{backup / MANIFEST_NAME}: {error}", hint="use another backup") from error
    if not same:
        raise StoreDamaged(f"{backup / LOG_NAME} was altered after the backup", hint="use another backup")
    return manifest


def _unread(error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"the backup cannot be read: {error}", hint="see that you may, or use another")
