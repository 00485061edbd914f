from __future__ import annotations

import re
import sqlite3
from importlib.resources import files
from pathlib import Path

import pytest
from catalogkit import feed, opened, remembered

from prowess import __version__
from prowess.storage.catalog import Catalog
from prowess.storage.catalog.adapter import Backend, Connection
from prowess.storage.catalog.migrate import APPLICATION_ID, Migration, backups, migrate, migrations
from prowess.storage.errors import StoreBusy, StoreDamaged, StoreDefect, StoreNewer

NEXT = Migration(len(migrations()) + 1, "more", "CREATE TABLE more (a TEXT) STRICT;\nINSERT INTO more VALUES ('x');")
BROKEN = Migration(NEXT.version, "broken", "CREATE TABLE more (a TEXT) STRICT;\nINSERT INTO episodes VALUES (1);")


def schema(connection: Connection) -> list[tuple[str, str, str]]:
    """Each object with its statement, however that is laid out: an added column is appended to the text as it was."""
    found = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
    return [(kind, name, re.sub(r"\s*([(),])\s*", r"\1", " ".join((sql or "").split()))) for kind, name, sql in found]


def content(path: Path) -> bytes:
    return path.read_bytes()


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.version for migration in migrations()] == list(range(1, len(migrations()) + 1))


def test_migrations_lead_to_the_written_schema(tmp_path: Path, backend: Backend) -> None:
    migrated = Connection(tmp_path / "migrated.db", backend=backend)
    migrate(migrated)
    written = Connection(tmp_path / "written.db", backend=backend)
    written.script((files("prowess.storage.catalog") / "schema.sql").read_text())
    assert schema(migrated) == schema(written)


def test_a_new_catalog_is_ours_and_says_who_made_it(catalog: Catalog) -> None:
    db = catalog._db
    assert db.execute("PRAGMA application_id") == [(APPLICATION_ID,)]
    assert db.execute("SELECT version, name, program FROM migrations") == [
        (migration.version, migration.name, __version__) for migration in migrations()
    ]
    assert db.execute("PRAGMA journal_mode") == [("wal",)]
    assert backups(catalog.path) == []


def test_a_catalog_opens_again_with_what_it_had(tmp_path: Path, backend: Backend) -> None:
    first = Catalog(tmp_path / "catalog.db", backend=backend)
    feed(first, opened(), remembered())
    before = first.dump()
    first.close()
    again = Catalog(tmp_path / "catalog.db", backend=backend)
    assert again.dump() == before
    assert backups(again.path) == []


def test_a_migration_copies_the_file_first(catalog: Catalog) -> None:
    feed(catalog, opened("before"))
    db = catalog._db
    assert migrate(db, [*migrations(), NEXT]) == NEXT.version
    assert db.execute("SELECT a FROM more") == [("x",)]
    [copy] = backups(catalog.path)
    assert copy.name == f"catalog.db.before-{NEXT.version:04}"
    kept = sqlite3.connect(copy)
    assert kept.execute("SELECT max(version) FROM migrations").fetchall() == [(NEXT.version - 1,)]
    assert kept.execute("SELECT id FROM episodes").fetchall() == [("before",)]
    kept.close()


def test_rows_of_the_first_schema_read_as_told_then(tmp_path: Path, backend: Backend) -> None:
    path = tmp_path / "catalog.db"
    old = Connection(path, backend=backend)
    migrate(old, migrations()[:1])
    old.execute(
        "INSERT INTO memories (id, kind, text, at, project, trust, importance, digest, updated_seq)"
        " VALUES ('m1', 'lesson', 'look first', '2026-11-29T00:00:00.000Z', 'shop', 'own', 1.0, x'00', 1)"
    )
    old.execute("INSERT INTO exposures (id, at, query, project, updated_seq) VALUES ('x1', 't', 'q', 'shop', 2)")
    old.close()
    catalog = Catalog(path, backend=backend)
    (memory,), (exposure,) = catalog.memories(), catalog.exposures()
    assert (memory.support, memory.against, memory.evidence, memory.superseded_by) == (1, 0, (), None)
    assert (exposure.session, exposure.skills) == ("", ())
    assert catalog.trials(limit=10) == ()
    catalog.close()


def test_a_failed_migration_leaves_the_schema_as_it_was(catalog: Catalog) -> None:
    db = catalog._db
    before = schema(db)
    with pytest.raises(StoreDefect):
        migrate(db, [*migrations(), BROKEN])
    assert schema(db) == before
    assert db.execute("SELECT max(version) FROM migrations") == [(BROKEN.version - 1,)]
    assert migrate(db, [*migrations(), NEXT]) == NEXT.version


def test_a_newer_catalog_is_refused_untouched(tmp_path: Path, backend: Backend) -> None:
    path = tmp_path / "catalog.db"
    Catalog(path, backend=backend).close()
    newer = Connection(path, backend=backend)
    newer.execute("INSERT INTO migrations (version, name, program) VALUES (99, 'later', '7.1.0')")
    newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    newer.close()
    before = content(path)
    with pytest.raises(StoreNewer, match=r"schema 99, written by Prowess 7\.1\.0") as caught:
        Catalog(path, backend=backend)
    assert "install Prowess 7.1.0 or newer" in caught.value.hint
    assert content(path) == before


@pytest.mark.parametrize("application", [0, 0x0F055112])
def test_another_programs_database_is_refused_untouched(tmp_path: Path, backend: Backend, application: int) -> None:
    path = tmp_path / "catalog.db"
    foreign = sqlite3.connect(path)
    foreign.executescript(f"CREATE TABLE theirs (a); PRAGMA application_id = {application};")
    foreign.close()
    before = content(path)
    with pytest.raises(StoreDamaged, match="of another program") as caught:
        Catalog(path, backend=backend)
    assert "nothing was changed" in caught.value.hint
    assert content(path) == before
    assert [file.name for file in tmp_path.iterdir()] == ["catalog.db"]


def test_a_database_that_only_claims_to_be_ours_is_damaged(tmp_path: Path, backend: Backend) -> None:
    path = tmp_path / "catalog.db"
    foreign = sqlite3.connect(path)
    foreign.executescript(f"CREATE TABLE theirs (a); PRAGMA application_id = {APPLICATION_ID};")
    foreign.close()
    with pytest.raises(StoreDamaged, match="no such table: migrations"):
        Catalog(path, backend=backend)


def test_a_text_file_is_damaged_and_untouched(tmp_path: Path, backend: Backend) -> None:
    path = tmp_path / "catalog.db"
    path.write_text("notes about my catalog\n" * 100)
    before = content(path)
    with pytest.raises(StoreDamaged, match="not a database"):
        Catalog(path, backend=backend)
    assert content(path) == before


def test_an_empty_file_becomes_a_catalog(tmp_path: Path, backend: Backend) -> None:
    (tmp_path / "catalog.db").touch()
    assert Catalog(tmp_path / "catalog.db", backend=backend).cursor() is None


def test_a_catalog_locked_by_another_process_is_busy(tmp_path: Path, backend: Backend) -> None:
    path = tmp_path / "catalog.db"
    Catalog(path, backend=backend).close()
    other = Connection(path, backend=backend)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusy):
        Catalog(path, backend=backend)
    other.close()
    Catalog(path, backend=backend).close()
