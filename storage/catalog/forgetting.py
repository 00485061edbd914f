"""Erase what a person asked to forget, and leave tombstones."""

from __future__ import annotations

from collections.abc import Collection

from prowess.storage.catalog import queries as sql
from prowess.storage.catalog import rows
from prowess.storage.catalog.adapter import Connection
from prowess.storage.catalog.migrate import backups
from prowess.storage.catalog.words import TEXTS_PER_EPISODE
from prowess.storage.events import Forgotten
from prowess.storage.stamps import is_strange, log_of

__all__ = [
    "ORPHANED",
    "UNSCRUBBED",
    "bury",
    "drop_orphans",
    "drop_skill",
    "forget",
    "forget_memory",
    "is_buried",
    "scrub",
]


# What remains to be done for bytes of forgotten rows stands in the file's ``user_version``, which takes part in
# transactions, as a sum: to write the file anew, or only to empty the journal file, which a reader held; and to drop
# the vectors of what did not come back once all rows were made again.
UNSCRUBBED = 1
JOURNAL_LEFT = 2
ORPHANED = 4
VECTORS = {"skill": "skills", "episode": "episodes", "memory": "memories"}


def forget(db: Connection, event: Forgotten, seq: int, at: str, alone: Collection[str]) -> list[str]:
    """Erase the rows of the event's ids and what was drawn from them; ``scrub`` must follow the commit.

    ``at`` is the event's stamp, ``alone`` are its memories that are forgotten for themselves, and so for good. The
    skills that were found anew since, whose history must be told again.
    """
    before = _changes(db)
    for key in event.episode_ids:
        _forget_episode(db, key, seq)
    again = [key for key in event.skill_ids if _forget_skill(db, key, at)]
    gone = [key for key in event.memory_ids if key in alone or not _is_anew(db, key, at)]
    for key in gone:
        _forget_whole(db, "memory", key)
    for key in event.exposure_ids:
        _forget_exposure(db, key)
    for key in event.reflection_ids:
        _forget_reflection(db, key)
    if _changes(db) > before:  # in a rebuild the journal has nothing of them any more
        _note(db, UNSCRUBBED)
    for kind, keys in _named(event):
        db.many(sql.BURY, [(kind, key, event.at, seq) for key in keys])
    last = {each: _last_forgotten(db, *each, event.at, at) for each in _named_anew(event)}
    for (kind, key), moment in last.items():
        if kind == "skill" or key in gone:
            bury(db, kind, key, moment, seq)
    return again


def bury(db: Connection, kind: str, key: str, moment: str, seq: int) -> None:
    """Leave a tombstone of what may come again: of the latest word on it, whatever the clocks said."""
    db.execute(sql.UNBURY, (kind, key))
    db.execute(sql.BURY, (kind, key, moment, seq))


def is_buried(db: Connection, kind: str, key: str) -> bool:
    """Whether it was forgotten."""
    return bool(db.execute(sql.BURIED, (kind, key)))


def _named(event: Forgotten) -> list[tuple[str, tuple[str, ...]]]:
    """What comes never again."""
    return [
        ("episode", event.episode_ids),
        ("exposure", event.exposure_ids),
        ("reflection", event.reflection_ids),
    ]


def _named_anew(event: Forgotten) -> list[tuple[str, str]]:
    """What may come again."""
    return [("skill", key) for key in event.skill_ids] + [("memory", key) for key in event.memory_ids]


def _is_anew(db: Connection, memory: str, at: str) -> bool:
    """Whether what is known of it was said after the stamp ``at``, and not by a stranger."""
    found = db.execute(sql.LATEST, ("memory", memory))
    return bool(found) and found[0][0] > at and not is_strange(log_of(found[0][0]))


def _last_forgotten(db: Connection, kind: str, key: str, moment: str, at: str) -> str:
    """The time of the last event, by stamps, that forgets it, once that of ``moment`` with the stamp ``at`` is known.

    It is kept beside the tombstone, which goes where the thing is found anew.
    """
    about = (f"forgotten {kind}", key)
    found = db.execute(sql.LAST_FORGOTTEN, about)
    if found and found[0][0] > at:
        return str(found[0][1])
    db.execute(sql.DROP_HISTORY, (*about, at))
    db.execute(sql.ADD_HISTORY, (*about, at, "payloads.forgotten", moment))
    return moment


def _changes(db: Connection) -> int:
    [[changes]] = db.execute("SELECT total_changes()")
    return int(changes)


def _forget_whole(db: Connection, kind: str, key: str) -> None:
    """What the journal has no event of any more has no place in an order either, nor a tombstone of such an event."""
    if db.execute("DELETE FROM history WHERE kind = ? AND id = ? RETURNING 1", (kind, key)) and kind == "memory":
        db.execute(sql.UNBURY, (kind, key))
    if kind == "memory":
        forget_memory(db, key)


def forget_memory(db: Connection, key: str) -> None:
    """Erase one memory with its words and vectors."""
    db.execute("DELETE FROM memory_words WHERE rowid = (SELECT num FROM memories WHERE id = ?)", (key,))
    db.execute("DELETE FROM memories WHERE id = ?", (key,))
    db.execute("DELETE FROM embeddings WHERE kind = 'memory' AND id = ?", (key,))


def scrub(db: Connection) -> None:
    """Remove the bytes of what was forgotten, if any still await it: from search index, free space, journal and copies.

    SQLite's ``secure_delete`` is not enough: moved rows leave bytes in the slack of pages. The file is written anew,
    which takes about a second per 100 MB. What a crash or a reader interrupts is made up for at the next call.
    """
    left = _left(db)
    if left & UNSCRUBBED:
        for table in ("skill_words", "episode_words", "memory_words"):
            # Merging may keep deleted words, depending on how the index's levels happen to lie.
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")  # noqa: S608
        db.execute("VACUUM")
        for copy in backups(db.path):
            copy.unlink(missing_ok=True)
        db.execute(f"PRAGMA user_version = {left & ORPHANED | JOURNAL_LEFT}")
    if left & (UNSCRUBBED | JOURNAL_LEFT):
        [[held, *_]] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if not held:
            db.execute(f"PRAGMA user_version = {left & ORPHANED}")


def drop_orphans(db: Connection) -> None:
    """Within a transaction, once every row came back that will: drop the vectors of those that did not."""
    left = _left(db)
    if left & ORPHANED:
        before = _changes(db)
        for kind, table in VECTORS.items():
            gone = f"DELETE FROM embeddings WHERE kind = ? AND id NOT IN (SELECT id FROM {table})"  # noqa: S608
            db.execute(gone, (kind,))
        db.execute(f"PRAGMA user_version = {left & ~ORPHANED | (UNSCRUBBED if _changes(db) > before else 0)}")


def _left(db: Connection) -> int:
    [[left]] = db.execute("PRAGMA user_version")
    return int(left)


def _note(db: Connection, more: int) -> None:
    db.execute(f"PRAGMA user_version = {_left(db) & ~JOURNAL_LEFT | more}")


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
    _forget_whole(db, "description", key)
    for (memory,) in db.execute(sql.DRAWN_FROM, (key,)):
        _forget_whole(db, "memory", memory)
    _drop_examples(db, key, seq)
    _drop_values(db, key)


def _drop_values(db: Connection, key: str) -> None:
    """Skills that stay no longer show values that they were seen with, as the log's own events do not."""
    named = (rows.to_json(key),)
    for skill, parameters in db.execute(sql.SKILLS_NAMING, named):
        db.execute(sql.SET_PARAMETERS, (rows.without_examples(parameters), skill))
    for skill, number, log, text in db.execute(sql.VERSIONS_NAMING, named):
        db.execute(sql.SET_VERSION, (rows.version_without_examples(text, key), skill, number, log))
    for skill, place, text in db.execute(sql.HISTORY_NAMING, named):
        db.execute(sql.SET_HISTORY, (rows.event_without_examples(text, key), skill, place))


def _drop_examples(db: Connection, key: str, seq: int) -> None:
    for scope, rank, text in db.execute(sql.PATTERNS_NAMING, (rows.to_json(key),)):
        kept = [example for example in rows.texts(text) if example != key]
        db.execute(sql.SET_EXAMPLES, (rows.to_json(kept), seq, scope, rank))


def _forget_reflection(db: Connection, key: str) -> None:
    for (scope,) in db.execute("SELECT DISTINCT scope FROM patterns WHERE reflection_id = ?", (key,)):
        db.execute("DELETE FROM history WHERE kind = 'patterns' AND id = ?", (scope,))
    db.execute("DELETE FROM patterns WHERE reflection_id = ?", (key,))


def _forget_exposure(db: Connection, key: str) -> None:
    db.execute("DELETE FROM exposures WHERE id = ?", (key,))
    db.execute("DELETE FROM exposed_skills WHERE exposure_id = ?", (key,))


def _forget_skill(db: Connection, key: str, at: str) -> bool:
    """Whether something of its history is left, since it came after the stamp ``at``."""
    db.execute(sql.DROP_HISTORY, ("skill", key, at))
    db.execute("DELETE FROM skill_uses WHERE skill_id = ? AND stamp <= ?", (key, at))
    db.execute("DELETE FROM embeddings WHERE kind = 'skill' AND id = ?", (key,))
    drop_skill(db, key)
    return bool(db.execute(sql.LATEST, ("skill", key)))


def drop_skill(db: Connection, key: str) -> None:
    """Remove a skill's rows but for what is counted of it."""
    db.execute("DELETE FROM skill_words WHERE rowid = (SELECT num FROM skills WHERE id = ?)", (key,))
    db.execute("DELETE FROM skills WHERE id = ?", (key,))
    db.execute("DELETE FROM skill_versions WHERE skill_id = ?", (key,))
