"""What was changed and how it was before: ``backups/install`` in the store's folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import msgspec

from prowess.server.install.errors import Refused
from prowess.server.whole_file import write_whole
from prowess.storage.ordinary import read_ordinary

__all__ = ["Record", "Records", "digest"]

FILE = "manifest.json"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One file that we changed. ``before`` names its backup (None: it was not there), ``after`` is the digest of what
    we wrote; ``made`` the containers and ``folders`` the folders that exist only for us."""

    client: str
    scope: str
    before: str | None
    after: str
    made: list[list[str]] = []
    folders: list[str] = []


class _Manifest(msgspec.Struct):
    version: int
    files: dict[str, Record]


class Records:
    """The manifest and the backups beside it. Nothing is made before the first ``save``."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.folder = store / "backups" / "install"
        self.files = self._load()

    def check(self) -> None:
        """Raises ``Refused`` where they were written since they were read: a person may think long about a plan."""
        if self._load() != self.files:
            raise Refused(
                "another prowess install or uninstall was at work meanwhile",
                hint="run the command again; nothing was changed",
            )

    def _load(self) -> dict[str, Record]:
        try:
            return msgspec.json.decode(read_ordinary(self.folder / FILE), type=_Manifest).files
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError, RecursionError) as error:
            raise Refused(
                f"{self.folder / FILE} cannot be read: {getattr(error, 'strerror', None) or error}",
                hint="move it away; uninstalling then takes out entries instead of restoring whole files",
            ) from error

    def backup(self, record: Record) -> bytes | None:
        """How the file was before; None where it was not there. Raises ``Refused`` where the backup is gone."""
        if record.before is None:
            return None
        try:
            return read_ordinary(self.folder / record.before)
        except OSError as error:
            gone = isinstance(error, FileNotFoundError)
            reason = "is gone" if gone else f"cannot be read: {error.strerror}"
            raise Refused(
                f"the backup {self.folder / record.before} {reason}", hint="restore it, or edit by hand"
            ) from error

    def keep(self, content: bytes) -> str:
        """Store one backup; its name."""
        name = f"{uuid4().hex}.bak"
        self._write(name, content)
        return name

    def save(self, files: dict[str, Record]) -> None:
        """Make ``files`` the manifest, and drop the backups that it does not name."""
        stale = {record.before for record in self.files.values()} - {record.before for record in files.values()}
        if files:
            self._write(FILE, msgspec.json.format(msgspec.json.encode(_Manifest(1, files))))
        else:  # needs no room on a full disk
            (self.folder / FILE).unlink(missing_ok=True)
        self.files = dict(files)
        for name in stale - {None}:
            (self.folder / str(name)).unlink(missing_ok=True)
        self._remove_if_empty()

    def tidy(self) -> None:
        """Drop backups that were begun and that no record names."""
        known = {record.before for record in self.files.values()} | {FILE}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name not in known:
                path.unlink(missing_ok=True)
        self._remove_if_empty()

    def _remove_if_empty(self) -> None:
        if not self.files:
            for folder in (self.folder, self.folder.parent):
                with suppress(OSError):  # it holds something else
                    folder.rmdir()

    def _write(self, name: str, content: bytes) -> None:
        # A configuration may hold keys, and so may its backup.
        self.store.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.store, self.folder.parent, self.folder):
            folder.mkdir(mode=0o700, exist_ok=True)
        write_whole(self.folder / name, content)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
