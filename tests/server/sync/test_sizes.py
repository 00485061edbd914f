"""Large events are moved in small pieces, and a page of the remote never becomes too long."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from machines import machines, shared_rows
from rounds import sync

from prowess.server.sync import cycle, remote
from prowess.server.sync.address import read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import RemoteGarbage
from prowess.server.sync.hrana import Statement
from prowess.server.sync.segment import Shared, decode_segment, encode_segment
from prowess.storage import sharing
from prowess.storage.errors import StoreUnavailable
from prowess.storage.models import NewStep, Origin, Where

pytestmark = pytest.mark.anyio


async def test_large_steps_are_sent_and_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycle, "TARGET_BYTES", 30_000)
    monkeypatch.setattr(remote, "ANSWER_BYTES", 50_000)
    url = f"file://{tmp_path}/remote.db"
    chance = random.Random(3)
    async with machines(tmp_path, 2) as (one, two):
        where = Where(task_id="t", project="shop", session="s")
        # Words, since masking takes long tokens for secrets; numbers, so that they do not compress away.
        seen = [
            " ".join(str(chance.randrange(10**4)) for _ in range(size)) for size in (4_000, 4_000, 50_000, 10, 4_000)
        ]
        steps = [NewStep(action=f"look {number}", observation=text) for number, text in enumerate(seen)]
        told = await one.store.track(where, steps, origin=one.origin)
        await sync(one.store, url, raw=True)
        await sync(two.store, url)
        assert [step.observation for step in await two.store.steps(told.episode_id)] == seen
        assert shared_rows(await two.store.dump()) == shared_rows(await one.store.dump())
    async with open_database(read_address(url)) as database:
        [rows] = await database.batch([Statement("SELECT data FROM prowess_segments ORDER BY pos")], write=False)
    sizes = [[event.seq for event in decode_segment(bytes(data))] for (data,) in rows]
    # The episode and its first two steps, one that is large by itself, and the rest.
    assert sizes == [[1, 2, 3], [4], [5, 6]]


async def test_the_order_of_the_remotes_rows_is_seen_to(tmp_path: Path) -> None:
    row = (5, "log", 1, 1, 1, "anna", b"")
    assert [found.pos for found in remote._in_order([row, (6, *row[1:])], 4)] == [5, 6]
    for after, rows in ((5, [row]), (4, [row, row])):
        with pytest.raises(RemoteGarbage, match="in no order"):
            remote._in_order(rows, after)


def test_a_segment_with_more_events_than_any_has_is_not_unpacked() -> None:
    event = Shared(1, 1, "episode.closed", 1, "", Origin(), None)
    with pytest.raises(RemoteGarbage, match="more events"):
        decode_segment(encode_segment([event] * 70_000))


async def test_a_disk_that_is_nearly_full_is_left_to_what_is_recorded_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"file://{tmp_path}/remote.db"
    where = Where(task_id="t", project="shop", session="s")
    async with machines(tmp_path, 2) as (one, two):
        await one.store.track(where, [NewStep(action="look")], origin=one.origin)
        await sync(one.store, url)
        with monkeypatch.context() as full:
            full.setattr(sharing, "ROOM", 2**62)
            with pytest.raises(StoreUnavailable, match="MB left") as raised:
                await sync(two.store, url)
            assert "free some space" in raised.value.hint
            await two.store.track(where, [NewStep(action="mine")], origin=two.origin)
            assert len(await two.store.episodes()) == 1
        await sync(two.store, url)
        assert len(await two.store.episodes()) == 2
