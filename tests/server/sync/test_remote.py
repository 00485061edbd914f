"""The remote's tables on a real sqld, and on a file."""

from __future__ import annotations

import pytest
from sqldkit import Sqld

from prowess.server.sync.address import read_address
from prowess.server.sync.database import Database, open_database
from prowess.server.sync.errors import RemoteError, RemoteFailed, RemoteNewer, RemoteRefused
from prowess.server.sync.hrana import Statement
from prowess.server.sync.remote import Mark, Piece, Remote, Who
from prowess.server.sync.segment import Shared, decode_segment, encode_segment
from prowess.storage.models import Origin

pytestmark = pytest.mark.anyio

WHO = Who("m1", "anna")
AT = "2026-11-29T12:00:00.000Z"


def events(*seqs: int) -> list[Shared]:
    closed = {"episode_id": "01a22873-3722-7563-bca4-d5f679973c30", "at": AT}
    return [Shared(seq, seq + 10, "episode.closed", 1, AT, Origin(machine="m1"), closed) for seq in seqs]


def mark(seq: int) -> Mark:
    return Mark(seq, seq + 10, bytes([seq]) * 16)


async def push(remote: Remote, after: int, *seqs: int, log: str = "log") -> Mark:
    return await remote.push(log, 1, [Piece(after, mark(seqs[-1]), encode_segment(events(*seqs)))], WHO, AT)


async def test_a_remote_keeps_its_id_and_what_was_pushed(database: Database) -> None:
    remote = await Remote.open(database)
    assert await push(remote, 0, 1, 2) == mark(2)
    assert await push(remote, 2, 3) == mark(3)
    again = await Remote.open(database)
    assert again.id == remote.id
    assert (await again.look(0)).marks == {("log", 1): mark(3)}
    pulled = await again.pull(0, None, {})
    assert [(s.log, s.epoch, s.first, s.last, s.person) for s in pulled.segments] == [
        ("log", 1, 1, 2, "anna"),
        ("log", 1, 3, 3, "anna"),
    ]
    assert decode_segment(pulled.segments[0].data) == events(1, 2)


async def test_a_push_that_is_repeated_or_late_changes_nothing(database: Database) -> None:
    remote = await Remote.open(database)
    await push(remote, 0, 1, 2)
    # The answer was lost: the same again, and a longer one from the same place.
    assert await push(remote, 0, 1, 2) == mark(2)
    assert await push(remote, 0, 1, 2, 3) == mark(2)
    assert await push(remote, 2, 3) == mark(3)
    segments = (await remote.pull(0, None, {})).segments
    assert [(s.first, s.last) for s in segments] == [(1, 2), (3, 3)]


async def test_where_nothing_is_shared_the_mark_alone_moves(database: Database) -> None:
    remote = await Remote.open(database)
    assert await remote.push("log", 1, [Piece(0, mark(9), None)], WHO, AT) == mark(9)
    assert (await remote.pull(0, None, {})).segments == []


async def test_what_is_here_already_is_not_pulled(database: Database) -> None:
    remote = await Remote.open(database)
    await push(remote, 0, 1, 2)
    await push(remote, 0, 1, 2, log="other")
    await push(remote, 2, 3)
    pulled = await remote.pull(0, None, {("log", 1): 2})
    assert [(s.log, s.first) for s in pulled.segments] == [("other", 1), ("log", 3)]
    first = pulled.segments[0]
    rest = await remote.pull(first.pos, (first.log, first.epoch, first.first), {})
    assert (rest.known, [s.first for s in rest.segments]) == (True, [3])


async def test_a_position_that_became_another_is_seen(database: Database) -> None:
    remote = await Remote.open(database)
    await push(remote, 0, 1, 2)
    assert not (await remote.pull(1, ("log", 1, 99), {})).known
    assert not (await remote.pull(50, ("log", 1, 1), {})).known
    assert (await remote.pull(1, ("log", 1, 1), {})).known


async def test_erased_events_lose_their_payload_and_nothing_else(database: Database) -> None:
    remote = await Remote.open(database)
    await push(remote, 0, 1, 2, 4)
    await push(remote, 4, 5)
    await remote.erase("log", 1, [2, 3, 5, 77])
    found = [event for s in (await remote.pull(0, None, {})).segments for event in decode_segment(s.data)]
    assert [(event.seq, event.data is None, event.type) for event in found] == [
        (1, False, "episode.closed"),
        (2, True, "episode.closed"),
        (4, False, "episode.closed"),
        (5, True, "episode.closed"),
    ]


async def test_tables_of_a_later_program_are_refused_and_left_alone(database: Database) -> None:
    await Remote.open(database)
    await database.batch([Statement("UPDATE prowess_meta SET value = '99' WHERE key = 'schema'")])
    before = await database.batch([Statement("SELECT name, sql FROM sqlite_master ORDER BY name")], write=False)
    with pytest.raises(RemoteNewer, match="schema 99"):
        await Remote.open(database)
    assert await database.batch([Statement("SELECT name, sql FROM sqlite_master ORDER BY name")], write=False) == before


async def test_tables_of_another_program_are_not_taken_for_ours(database: Database) -> None:
    await database.batch([Statement("CREATE TABLE prowess_meta (key TEXT, value TEXT)")])
    await database.batch([Statement("INSERT INTO prowess_meta VALUES ('schema', 'blue')")])
    with pytest.raises(RemoteFailed, match="another program"):
        await Remote.open(database)


async def test_a_batch_is_all_or_nothing(database: Database) -> None:
    await database.batch([Statement("CREATE TABLE t (a)")])
    with pytest.raises(RemoteError):
        await database.batch([Statement("INSERT INTO t VALUES (1)"), Statement("INSERT INTO nowhere VALUES (1)")])
    values = (2**62, -1, 0.5, b"\0\xff", "a\0b é", None)
    for value in values:
        await database.batch([Statement("INSERT INTO t VALUES (?)", (value,))])
    [rows] = await database.batch([Statement("SELECT a FROM t ORDER BY rowid")], write=False)
    assert [row[0] for row in rows][:4] == list(values)[:4]
    assert rows[5] == (None,)


@pytest.mark.parametrize(
    ("access", "seconds", "reason"),
    [("ro", 3600, "may not write"), ("rw", -3600, "has expired"), (None, 0, "missing or wrong")],
)
async def test_a_token_that_does_not_do_is_told_without_telling_it(
    sqld: Sqld, access: str | None, seconds: int, reason: str
) -> None:
    token = sqld.token(access, seconds=seconds) if access else "not.a.token"
    async with open_database(read_address(sqld.url), token) as database:
        with pytest.raises(RemoteRefused, match=reason) as refused:
            await Remote.open(database)
    assert token not in str(refused.value) + refused.value.hint
    assert refused.value.hint


async def test_what_is_erased_is_so_in_every_row_that_has_it(database: Database) -> None:
    remote = await Remote.open(database)
    await push(remote, 0, 1, 2)
    await push(remote, 2, 3, 4)
    # A row over the same events that no machine wrote, and one that cannot be read.
    copy = "INSERT INTO prowess_segments (log, epoch, first, last, person, data) VALUES ('log', 1, ?, 9, 'eve', ?)"
    await database.batch([Statement(copy, (0, encode_segment(events(1, 2, 3)))), Statement(copy, (2, b"secret"))])
    await remote.erase("log", 1, [2, 4])
    pulled = await remote.pull(0, None, {})
    told = [[(event.seq, event.data is None) for event in decode_segment(row.data)] for row in pulled.segments]
    assert told == [[(1, False), (2, True)], [(3, False), (4, True)], [(1, False), (2, True), (3, False)], []]


async def test_several_pieces_are_pushed_as_one(database: Database) -> None:
    remote = await Remote.open(database)
    pieces = [
        Piece(0, mark(2), encode_segment(events(1, 2))),
        Piece(2, mark(3), None),
        Piece(3, mark(5), encode_segment(events(4, 5))),
    ]
    assert await remote.push("log", 1, pieces, WHO, AT) == mark(5)
    assert await remote.push("log", 1, pieces, WHO, AT) == mark(5)  # its answer was lost
    assert await remote.push("log", 1, pieces[1:], WHO, AT) == mark(5)  # late
    segments = (await remote.pull(0, None, {})).segments
    assert [(s.first, s.last) for s in segments] == [(1, 2), (4, 5)]
