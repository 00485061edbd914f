"""Erase what a person asked to forget, and leave tombstones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from prowess.storage.catalog import queries as sql
from prowess.storage.catalog import rows
from prowess.storage.catalog.adapter import Connection
from prowess.storage.catalog.migrate import backups
from prowess.storage.catalog.words import TEXTS_PER_EPISODE
from prowess.storage.errors import StoreBusy
from prowess.storage.events import Forgotten

__all__ = ["erasing", "forget", "forget_memory"]


MERGED_PAGES = 500
"""Index pages per statement, a few milliseconds."""


def forget(db: Connection, event: Forgotten, seq: int) -> None:
    """Erase the rows of the event's ids and what was drawn from them."""
    for key in event.episode_ids:
        _forget_episode(db, key, seq)
        db.execute(sql.BURY, ("episode", key, event.at, seq))
    for key in event.skill_ids:
        _forget_skill(db, key)
        db.execute(sql.BURY, ("skill", key, event.at, seq))
    for key in event.memory_ids:
        forget_memory(db, key)
        db.execute(sql.BURY, ("memory", key, event.at, seq))
    for key in event.exposure_ids:
        _forget_exposure(db, key)
        db.execute(sql.BURY, ("exposure", key, event.at, seq))
    for key in event.reflection_ids:
        db.execute("DELETE FROM patterns WHERE reflection_id = ?", (key,))
        db.execute(sql.BURY, ("reflection", key, event.at, seq))


def forget_memory(db: Connection, key: str) -> None:
    """Erase one memory with its words and vectors."""
    db.execute("DELETE FROM memory_words WHERE rowid = (SELECT num FROM memories WHERE id = ?)", (key,))
    db.execute("DELETE FROM memories WHERE id = ?", (key,))
    db.execute("DELETE FROM embeddings WHERE kind = 'memory' AND id = ?", (key,))


@contextmanager
def erasing(db: Connection) -> Iterator[None]:
    """Around the commit of a Forgotten event: the bytes go too, not only the rows.

    That is from freed pages, the search index's old segments, the journal file and the copies of migrations. A reader
    may keep the journal file from being emptied; then a later checkpoint overwrites it.
    """
    db.execute("PRAGMA secure_delete = ON")
    yield
    for table in ("skill_words", "episode_words", "memory_words"):
        _merge(db, table)
    db.execute("PRAGMA secure_delete = OFF")
    for copy in backups(db.path):
        copy.unlink(missing_ok=True)
    with suppress(StoreBusy):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _merge(db: Connection, table: str) -> None:
    """Merge the search index into one segment, as FTS5's ``optimize`` does, but in short statements."""
    pages = -MERGED_PAGES  # negative begins a merge of all segments, which the following ones continue
    changed = 2
    while changed >= 2:  # FTS5's manual: fewer changes mean that nothing was left to merge
        [[before]] = db.execute("SELECT total_changes()")
        db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))  # noqa: S608
        [[after]] = db.execute("SELECT total_changes()")
        changed, pages = after - before, MERGED_PAGES


def _forget_episode(db: Connection, key: str, seq: int) -> None:
    for (num,) in db.execute("SELECT num FROM episodes WHERE id = ?", (key,)):
        first = num * TEXTS_PER_EPISODE
        db.execute("DELETE FROM episode_words WHERE rowid >= ? AND rowid < ?", (first, first + TEXTS_PER_EPISODE))
    db.execute("DELETE FROM episodes WHERE id = ?", (key,))
    db.execute("DELETE FROM steps WHERE episode_id = ?", (key,))
    db.execute("DELETE FROM rewards WHERE episode_id = ?", (key,))
    db.execute("DELETE FROM embeddings WHERE kind = 'episode' AND id = ?", (key,))
    db.execute(sql.UNLINK_USES, (seq, key))
    db.execute(sql.BLANK_EXPOSURES, (seq, key))
    for (memory,) in db.execute(sql.DRAWN_FROM, (key,)):
        forget_memory(db, memory)
    _drop_examples(db, key, seq)


def _drop_examples(db: Connection, key: str, seq: int) -> None:
    for scope, rank, text in db.execute(sql.PATTERNS_NAMING, (rows.to_json(key),)):
        kept = [example for example in rows.texts(text) if example != key]
        db.execute(sql.SET_EXAMPLES, (rows.to_json(kept), seq, scope, rank))


def _forget_exposure(db: Connection, key: str) -> None:
    db.execute("DELETE FROM exposures WHERE id = ?", (key,))
    db.execute("DELETE FROM exposed_skills WHERE exposure_id = ?", (key,))


def _forget_skill(db: Connection, key: str) -> None:
    db.execute("DELETE FROM skill_words WHERE rowid = (SELECT num FROM skills WHERE id = ?)", (key,))
    db.execute("DELETE FROM skills WHERE id = ?", (key,))
    db.execute("DELETE FROM skill_versions WHERE skill_id = ?", (key,))
    db.execute("DELETE FROM skill_uses WHERE skill_id = ?", (key,))
    db.execute("DELETE FROM exposed_skills WHERE skill_id = ?", (key,))
    db.execute("DELETE FROM embeddings WHERE kind = 'skill' AND id = ?", (key,))
