"""What the remote holds and how it is changed: who has pushed how far, and the segments in the order of their arrival.

Writers of a libSQL database are one after the other, so a segment's ``pos`` tells the order in which they were
committed: whoever has read up to a ``pos`` has missed nothing before it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec

from prowess.server.sync.database import Database
from prowess.server.sync.errors import RemoteAway, RemoteFailed, RemoteGarbage, RemoteNewer, understood
from prowess.server.sync.hrana import Row, Statement
from prowess.server.sync.segment import decode_segment, encode_segment, without
from prowess.server.sync.turn import Turn
from prowess.version import __version__

__all__ = ["NOT_KEPT", "Mark", "Piece", "Remote", "Segment", "Who"]

SCHEMA = 1
TOGETHER = 16  # segments in one answer,
ANSWER_BYTES = 32 * 1024 * 1024  # or fewer where they are large: far below what is taken as an answer
ERASE_TRIES = 100  # at one row, which other machines may erase in at the same time
NOT_KEPT = "the remote does not keep what it was told to"

_ROWS = "the remote's rows"
_CREATE = (
    "CREATE TABLE IF NOT EXISTS prowess_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS prowess_logs (log TEXT NOT NULL, epoch INTEGER NOT NULL, machine TEXT NOT NULL,"
    " person TEXT NOT NULL, program TEXT NOT NULL, seq INTEGER NOT NULL, clock INTEGER NOT NULL, digest BLOB NOT NULL,"
    " seen_at TEXT NOT NULL, PRIMARY KEY (log, epoch)) STRICT",
    "CREATE TABLE IF NOT EXISTS prowess_segments (pos INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT NOT NULL,"
    " epoch INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, person TEXT NOT NULL,"
    " revision INTEGER NOT NULL DEFAULT 0, data BLOB NOT NULL, UNIQUE (log, epoch, first)) STRICT",
    "CREATE TABLE IF NOT EXISTS prowess_files (kind TEXT NOT NULL, key TEXT NOT NULL, data BLOB NOT NULL,"
    " PRIMARY KEY (kind, key)) STRICT",
)
_META = "INSERT INTO prowess_meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD = (
    "INSERT INTO prowess_segments (log, epoch, first, last, person, data) SELECT ?, ?, ?, ?, ?, ?"
    " WHERE coalesce((SELECT seq FROM prowess_logs WHERE log = ? AND epoch = ?), ?) = ?"
)
_ADVANCE = (
    "INSERT INTO prowess_logs (log, epoch, machine, person, program, seq, clock, digest, seen_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (log, epoch) DO UPDATE SET seq = excluded.seq,"
    " clock = excluded.clock, digest = excluded.digest, seen_at = excluded.seen_at, machine = excluded.machine,"
    " person = excluded.person, program = excluded.program WHERE prowess_logs.seq = ?"
)
_MARKS = "SELECT log, epoch, seq, clock, digest FROM prowess_logs"
_SEGMENTS = "SELECT pos, log, epoch, first, last, person, data FROM prowess_segments WHERE pos > ?"
# The newest rows of a page are left for the next one where the page would be too long; its first is always there.
_PAGE = (
    "SELECT pos, log, epoch, first, last, person, data FROM (SELECT *, sum(length(data)) OVER (ORDER BY pos) AS upto"
    " FROM ({segments} ORDER BY pos LIMIT {count})) WHERE upto <= {bytes} OR upto = length(data) ORDER BY pos"
)
_AT = "SELECT log, epoch, first FROM prowess_segments WHERE pos = ?"
_ID = "SELECT value FROM prowess_meta WHERE key = 'id'"
_RENAME = "UPDATE prowess_meta SET value = ? WHERE key = 'id' AND value = ?"
_NEWEST = "SELECT pos, log, epoch, first FROM prowess_segments ORDER BY pos DESC LIMIT 1"
_HOLDING = (
    "SELECT pos, revision, data FROM prowess_segments WHERE log = ? AND epoch = ? AND pos > ?"
    " AND EXISTS (SELECT 1 FROM json_each(?) WHERE value BETWEEN first AND last) ORDER BY pos LIMIT 1"
)
_REPLACE = "UPDATE prowess_segments SET data = ?, revision = revision + 1 WHERE pos = ? AND revision = ? RETURNING pos"


class Who(NamedTuple):
    """Who pushes."""

    machine: str
    person: str


class Mark(NamedTuple):
    """Up to where a log is at the remote: its last event that was looked at, with Lamport time and digest."""

    seq: int
    clock: int
    digest: bytes


class Piece(NamedTuple):
    """What follows the event ``after`` up to ``mark``, as one row; ``data`` is None where nothing of it is shared."""

    after: int
    mark: Mark
    data: bytes | None


class Segment(NamedTuple):
    """One row: the events ``first`` to ``last`` of an epoch of a log, as far as they are shared."""

    pos: int
    log: str
    epoch: int
    first: int
    last: int
    person: str
    data: bytes


class Pulled(NamedTuple):
    """What came after a position; ``known`` says whether the row at that position is still the same one.

    ``newest`` is the position of the last row of all, and ``at`` its log, epoch and first event.
    """

    segments: list[Segment]
    known: bool
    newest: int
    at: tuple[str, int, int]


class Look(NamedTuple):
    """The remote's id, how far each epoch of each log was pushed, and the row that was asked for."""

    id: str
    marks: dict[tuple[str, int], Mark]
    row: Row | None


class Remote:
    """The tables on ``database``. ``id`` is its own, made with its tables. Raises RemoteError of every kind."""

    def __init__(self, database: Database, identity: str) -> None:
        self._database = database
        self.id = identity
        self.turn = Turn(database)

    @classmethod
    async def open(cls, database: Database) -> Remote:
        """Make the tables where there are none. RemoteNewer where a later program did, which changes nothing."""
        found = await _meta(database)
        if "schema" not in found:
            made = [Statement(sql) for sql in _CREATE]
            facts = {"schema": str(SCHEMA), "id": uuid4().hex, "program": __version__}
            await database.batch([*made, *(Statement(_META, pair) for pair in facts.items())])
            found = await _meta(database)
        _check(found)
        return cls(database, found["id"])

    @staticmethod
    async def exists(database: Database) -> bool:
        """Whether the tables are there; they are not made. Raises RemoteError, RemoteNewer among it."""
        found = await _meta(database)
        if "schema" in found:
            _check(found)
        return "schema" in found

    async def look(self, pos: int) -> Look:
        """How it is now, and which row is at the position ``pos``."""
        statements = [Statement(_MARKS), Statement(_AT, (pos,)), Statement(_ID)]
        marks, there, named = await self._database.batch(statements, write=False)
        if not named:
            raise RemoteGarbage("the remote has lost its id")
        with understood(_ROWS):
            far = {(str(row[0]), _int(row[1])): _mark(row) for row in marks}
            return Look(str(named[0][0]), far, there[0] if there else None)

    async def rename(self) -> None:
        """Give it another ``id``, since it was restored from a backup: all read it again from its beginning.

        What was pushed again may lie at the position of something else, so nobody could tell by that.
        """
        fresh = uuid4().hex
        await self._database.batch([Statement(_RENAME, (fresh, self.id))])
        self.id = (await self.look(0)).id

    async def push(self, log: str, epoch: int, pieces: Sequence[Piece], who: Who, at: str) -> Mark:
        """Add ``pieces``, each of which begins where the one before it ends, and move the log's mark.

        The mark as it is then: another one than the last piece's where the remote was elsewhere than at the first.
        """
        statements = [each for piece in pieces for each in _pushed(log, epoch, piece, who, at)]
        asked = Statement(f"{_MARKS} WHERE log = ? AND epoch = ?", (log, epoch))
        rows = (await self._database.batch([*statements, asked]))[-1]
        if not rows:
            raise RemoteGarbage("the remote does not know what it has just taken")
        with understood(_ROWS):
            return _mark(rows[0])

    async def pull(self, after: int, at: Sequence[Any] | None, own: Mapping[tuple[str, int], int]) -> Pulled:
        """Segments after the position ``after``, whose row is (log, epoch, first) as ``at`` tells; none of ``own``.

        ``own`` says up to which event each epoch is here already.
        """
        where = "".join(" AND NOT (log = ? AND epoch = ? AND last <= ?)" for _ in own)
        known = [value for (log, epoch), last in own.items() for value in (log, epoch, last)]
        wanted = Statement(_page(f"{_SEGMENTS}{where}"), (after, *known))
        statements = [wanted, Statement(_AT, (after,)), Statement(_NEWEST)]
        segments, there, last = await self._database.batch(statements, write=False)
        same = at is None or (bool(there) and tuple(there[0]) == tuple(at))
        with understood(_ROWS):
            pos, log, epoch, first = last[0] if last else (0, "", 0, 0)
            return Pulled(_in_order(segments, after), same, _int(pos), (str(log), _int(epoch), _int(first)))

    async def segments_of(self, log: str, epoch: int) -> AsyncIterator[Segment]:
        """All segments of an epoch of a log, in order."""
        after = 0
        while True:
            asked = Statement(_page(f"{_SEGMENTS} AND log = ? AND epoch = ?"), (after, log, epoch))
            [rows] = await self._database.batch([asked], write=False)
            with understood(_ROWS):
                segments = _in_order(rows, after)
            for found in segments:
                after = found.pos
                yield found
            if not rows:
                return

    async def erase(self, log: str, epoch: int, seqs: Collection[int], bare: Collection[int] = ()) -> None:
        """Take the payload out of events that were pushed, in every row that has them.

        Those in ``bare`` are skills that stay without the values that they were seen with.
        """
        wanted, after, tries = msgspec.json.encode(sorted({*seqs, *bare})).decode(), 0, 0
        while tries < ERASE_TRIES:
            [rows] = await self._database.batch([Statement(_HOLDING, (log, epoch, after, wanted))], write=False)
            if not rows:
                return
            with understood(_ROWS):
                pos, revision, data = _int(rows[0][0]), _int(rows[0][1]), _bytes(rows[0][2])
            blank = _without(data, seqs, bare)
            [done] = await self._database.batch([Statement(_REPLACE, (blank, pos, revision))])
            tries += 1
            if done:  # else another machine erased in it meanwhile, and it is read again
                after, tries = _behind(pos, after), 0
        raise RemoteAway(NOT_KEPT)


async def _meta(database: Database) -> dict[str, str]:
    [tables] = await database.batch(
        [Statement("SELECT count(*) FROM sqlite_master WHERE name = 'prowess_meta'")], write=False
    )
    with understood(_ROWS):
        if not tables[0][0]:
            return {}
        [rows] = await database.batch([Statement("SELECT key, value FROM prowess_meta")], write=False)
        return {str(key): str(value) for key, value in rows}


def _pushed(log: str, epoch: int, piece: Piece, who: Who, at: str) -> list[Statement]:
    after, mark, data = piece
    advance = Statement(_ADVANCE, (log, epoch, who.machine, who.person, __version__, *mark, at, after))
    if data is None:
        return [advance]
    row = (log, epoch, after + 1, mark.seq, who.person, data)
    return [Statement(_ADD, (*row, log, epoch, after, after)), advance]


def _check(found: Mapping[str, str]) -> None:
    schema = found.get("schema", "")
    if not re.fullmatch("[0-9]{1,9}", schema) or not found.get("id"):
        raise RemoteFailed("the remote's tables were made by another program", hint="use a database of its own")
    if int(schema) > SCHEMA:
        raise RemoteNewer(
            f"the remote has schema {schema}, made by Prowess {found.get('program', '')}; this is {__version__}",
            hint="nothing was changed: upgrade prowess on this machine",
        )


def _without(data: bytes, seqs: Collection[int], bare: Collection[int]) -> bytes:
    """A segment without those events; without any where it cannot be read, since nobody knows what it holds."""
    try:
        return encode_segment(without(decode_segment(data), frozenset(seqs), frozenset(bare)))
    except RemoteGarbage:
        return encode_segment([])


def _page(segments: str) -> str:
    return _PAGE.format(segments=segments, count=TOGETHER, bytes=ANSWER_BYTES)


def _in_order(rows: Sequence[Row], after: int) -> list[Segment]:
    """The segments in ``rows``, each behind the one before: else reading on would never end."""
    found = [_segment(row) for row in rows]
    for segment in found:
        after = _behind(segment.pos, after)
    return found


def _behind(pos: int, after: int) -> int:
    """``pos``, which is behind ``after``."""
    if pos <= after:
        raise RemoteGarbage("the remote's rows are in no order")
    return pos


def _mark(row: Row) -> Mark:
    """Of a row of ``_MARKS``."""
    return Mark(_int(row[2]), _int(row[3]), _bytes(row[4]))


def _segment(row: Row) -> Segment:
    pos, log, epoch, first, last, person, data = row
    return Segment(_int(pos), str(log), _int(epoch), _int(first), _int(last), str(person), _bytes(data))


def _int(value: object) -> int:
    if not isinstance(value, int) or value.bit_length() > 63:
        raise RemoteGarbage("the remote holds something else where a number should be")
    return value


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise RemoteGarbage("the remote holds something else where bytes should be")
    return value
