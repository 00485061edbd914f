"""The catalog as the store uses it: one file, one connection, one thread at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from prowess.storage.catalog import queries as sql
from prowess.storage.catalog.adapter import Backend, Connection
from prowess.storage.catalog.forgetting import ORPHANED, UNSCRUBBED, drop_orphans, scrub
from prowess.storage.catalog.lexical import Lexical
from prowess.storage.catalog.migrate import migrate
from prowess.storage.catalog.projector import Projector
from prowess.storage.catalog.reads import Reads
from prowess.storage.catalog.vectors import Kind, Vectors
from prowess.storage.errors import StoreBusy, StoreDefect, StoreUnavailable
from prowess.storage.events import Envelope
from prowess.storage.stamps import Identity

__all__ = ["CATALOG_NAME", "Catalog", "Cursor", "dump"]

CATALOG_NAME = "catalog.db"

KEPT_OUT_OF_DUMPS = ("cursor", "embeddings")
WORD_TABLES = ("skill_words", "episode_words", "memory_words")
# Pages of the write-ahead log (16 MB) at which a commit moves them into the file by itself, four times SQLite's own
# bound: that waits for the disk twice with the GIL held. Mostly ``checkpoint`` comes first, when nobody writes.
MOST_AHEAD = 4_000

KINDS: tuple[Kind, ...] = ("skill", "episode", "memory")
CHANGES: Mapping[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("episode.opened", "episode.described", "episode.closed", "step.tracked"), ("episode",)),
    **dict.fromkeys(("memory.saved", "memory.deleted"), ("memory",)),
    **dict.fromkeys(("exposure.made", "reward.scored", "patterns.reflected", "model.answered", "steps.trimmed"), ()),
}
"""What an event changes of that which is remembered between questions, by its type; one that is not here, all of it."""


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """Up to where a log has been projected: the event ``seq`` (0: none yet) and its digest.

    ``epochs`` are all of the log, where there was more than one.
    """

    log_id: str
    epoch: int
    seq: int
    digest: bytes = b""
    epochs: tuple[tuple[int, int], ...] = ()

    @property
    def identity(self) -> Identity:
        return Identity(self.log_id, self.epochs or ((self.epoch, 1),))


class Catalog(Reads, Lexical, Vectors):
    """Searchable metadata, projected from the journal.

    Blocking and not locked: call it from one thread at a time. A locked file raises StoreBusy at once; the caller
    waits and repeats the call.
    """

    def __init__(self, path: Path, *, backend: Backend = "auto") -> None:
        """Open, create or migrate the catalog at ``path``.

        Raises StoreNewer, StoreDamaged (not a catalog, or corrupted), StoreUnavailable, StoreBusy.
        """
        self.path = path
        self._backend = backend
        self._open()

    def _open(self) -> None:
        self.refused: StoreUnavailable | None = None
        """Why no other process can read the file; None where they can."""
        try:
            self._connect()
        except StoreUnavailable as error:
            # Perhaps only the file that readers share has no room on the disk: alone, we need none.
            if not self.path.exists():
                raise
            self._connect(alone=True)
            self.refused = error

    def _connect(self, *, alone: bool = False) -> None:
        self._db = Connection(self.path, backend=self._backend)
        self._frequencies = {}
        self._narrow = set()
        self._skills = {}
        self._embedded = {}
        try:
            if alone:
                self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            migrate(self._db)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA wal_autocheckpoint = {MOST_AHEAD}")
            with suppress(StoreBusy, StoreUnavailable):  # done by the next event: what is known can be read meanwhile
                scrub(self._db)
        except BaseException:
            self._db.close()
            raise

    @property
    def is_open(self) -> bool:
        """Not after ``close``, nor after some failures: then ``reopen``."""
        return self._db.is_open

    def reopen(self) -> None:
        """Begin anew with the file; other processes may read it again, if the disk has room for that by now."""
        self._db.close()
        self._open()

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        self._db.close()

    def cursor(self) -> Cursor | None:
        """How far the journal has been applied; None before the first event."""
        found = self._db.execute(sql.CURSOR)
        if not found:
            return None
        [(log_id, epoch, seq, digest)] = found
        return Cursor(log_id=log_id, epoch=epoch, seq=seq, digest=digest)

    def apply(self, envelopes: Sequence[Envelope], cursor: Cursor, last: bool = False) -> None:
        """Apply events and move to ``cursor``, the last one's, all in one transaction. ``last`` says that none follows.

        Events at or before the present cursor are left out, so a batch may be repeated. Raises StoreNewer for an event
        of a later program, StoreDefect for a gap or another log (then ``reset`` comes first), StoreBusy, and what the
        disk raises; in every case nothing was changed. Returns when the bytes of forgotten rows are gone, but for those
        in the journal file while another process reads it: the next call removes them.
        """
        with self._db.transaction():
            fresh = self._following(envelopes, cursor)
            if fresh:
                Projector(self._db, cursor.identity).apply(fresh)
                self._db.execute(sql.SET_CURSOR, (cursor.log_id, cursor.epoch, cursor.seq, cursor.digest))
            if last:
                drop_orphans(self._db)
        self._forget_remembered({kind for envelope in envelopes for kind in CHANGES.get(envelope.type, KINDS)})
        scrub(self._db)

    def _forget_remembered(self, kinds: Collection[Kind]) -> None:
        self._forget_frequencies(kinds)
        if "skill" in kinds:
            self._skills.clear()

    def _following(self, envelopes: Sequence[Envelope], cursor: Cursor) -> list[Envelope]:
        present = self.cursor()
        if present is not None and (present.log_id, present.epoch) != (cursor.log_id, cursor.epoch):
            raise StoreDefect("the catalog belongs to another log or epoch", hint="prowess rebuild")
        seq = present.seq if present else 0
        fresh = [envelope for envelope in envelopes if envelope.seq > seq]
        expected = range(seq + 1, seq + 1 + len(fresh))
        if [envelope.seq for envelope in fresh] != list(expected) or (fresh and fresh[-1].seq != cursor.seq):
            raise StoreDefect(f"events do not follow each other after {seq}", hint="prowess rebuild")
        return fresh

    def reset(self, *, vectors: bool = False) -> None:
        """Drop every row but embeddings, which still fit wherever the same texts come back; the others go after that.

        Where they are another log's they go as well (``vectors``).
        """
        kept = ("migrations",) if vectors else ("migrations", "embeddings")
        with self._db.transaction():
            for table in _tables(self._db):
                if table not in kept:
                    self._db.execute(f"DELETE FROM {table}")  # noqa: S608
            for table in WORD_TABLES:
                # Deleting would take FTS5 one row after the other.
                [[create]] = self._db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
                self._db.execute(f"DROP TABLE {table}")
                self._db.execute(create)
            # What does not come back from the journal may have been forgotten, or be so once nobody finds it here.
            self._db.execute(f"PRAGMA user_version = {UNSCRUBBED | ORPHANED}")
        self._forget_remembered(KINDS)
        self._embedded.clear()

    def renew(self) -> None:
        """Start over with a new file, for one that is damaged so that even ``reset`` fails. Embeddings go with it."""
        self._db.close()
        try:
            for name in (self.path.name, f"{self.path.name}-wal", f"{self.path.name}-shm"):
                self.path.with_name(name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"{self.path} cannot be removed: {error}", hint="close programs that have catalog.db open"
            ) from error
        finally:
            self._open()
        self.path.chmod(0o600)

    def checkpoint(self) -> None:
        """Move what was committed from the write-ahead log into the file, as far as no reader is in the way."""
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        """See ``dump``."""
        return dump(self._db)


def dump(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """All that was projected, in a fixed order, as JSON has it: table -> rows. Equal before and after a rebuild.

    Left out are embeddings, the search index, the cursor and row numbers, which say nothing about the journal.
    """
    with connection.snapshot():
        return {
            table: _dump_table(connection, table) for table in _tables(connection) if table not in KEPT_OUT_OF_DUMPS
        }


def _tables(connection: Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [name for (name,) in found if not name.startswith(("sqlite_", *WORD_TABLES))]


def _dump_table(connection: Connection, table: str) -> list[dict[str, Any]]:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "num"]
    listed = ", ".join(columns)
    rows = connection.execute(f"SELECT {listed} FROM {table} ORDER BY {listed}")  # noqa: S608
    return [
        {name: value.hex() if isinstance(value, bytes) else value for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]
