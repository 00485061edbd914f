"""Bring a catalog file to the newest schema, or refuse it and leave it as it is."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from prowess.storage.catalog.adapter import Connection
from prowess.storage.errors import StoreDamaged, StoreNewer
from prowess.version import __version__

__all__ = ["APPLICATION_ID", "Migration", "backups", "migrate", "migrations"]

APPLICATION_ID = 0x50525753
"""``PRWS`` in the header of the file tells a catalog from any other SQLite file."""


class Migration(NamedTuple):
    """One numbered step of the schema."""

    version: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """All migrations of this program, oldest first."""
    found = [
        Migration(int(file.name[:4]), file.name[5:-4], file.read_text(encoding="utf-8"))
        for file in (files("prowess.storage") / "migrations").iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found)


def backups(path: Path) -> list[Path]:
    """Copies that earlier migrations of the catalog at ``path`` left beside it."""
    return sorted(path.parent.glob(f"{path.name}.before-*"))


def migrate(connection: Connection, known: list[Migration] | None = None) -> int:
    """Apply what is missing of ``known`` (all migrations by default); the schema's version is returned.

    Each migration and its record are one transaction. A file with content is copied first, to ``<name>.before-<n>``.
    Raises StoreNewer and StoreDamaged, having changed nothing.
    """
    known = migrations() if known is None else known
    version = _version(connection)
    newest = known[-1].version
    if version > newest:
        raise _newer(connection, version)
    if 0 < version < newest:
        _copy(connection, newest)
    for migration in known:
        if migration.version > version:
            _apply(connection, migration)
    return newest


def _version(connection: Connection) -> int:
    """The file's schema version, 0 for an empty file."""
    [[application]] = connection.execute("PRAGMA application_id")
    [[objects]] = connection.execute("SELECT count(*) FROM sqlite_master")
    if application == 0 and objects == 0:
        return 0
    if application != APPLICATION_ID:
        raise StoreDamaged(
            f"{connection.path} is a SQLite file of another program",
            hint="nothing was changed: move the file away, or choose another folder for the store",
        )
    [[version]] = connection.execute("SELECT max(version) FROM migrations")
    return int(version)


def _newer(connection: Connection, version: int) -> StoreNewer:
    [[program]] = connection.execute("SELECT program FROM migrations WHERE version = ?", (version,))
    return StoreNewer(
        f"the catalog {connection.path} has schema {version}, written by Prowess {program}; this is {__version__}",
        hint=f"nothing was changed: install Prowess {program} or newer",
    )


def _copy(connection: Connection, newest: int) -> None:
    target = connection.path.with_name(f"{connection.path.name}.before-{newest:04d}")
    target.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(target),))


def _apply(connection: Connection, migration: Migration) -> None:
    with connection.transaction():
        connection.script(migration.sql)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(
            "INSERT INTO migrations (version, name, program) VALUES (?, ?, ?)",
            (migration.version, migration.name, __version__),
        )
