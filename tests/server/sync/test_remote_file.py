"""A remote that is a file on a disk which several machines reach."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rounds import sync

from prowess.server.sync.address import read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import RemoteGarbage
from prowess.server.sync.hrana import Statement
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

ORIGIN = Origin(machine="m0", client="test", session="s")


async def _rows(url: str) -> list[bytes]:
    async with open_database(read_address(url)) as database:
        [rows] = await database.batch([Statement("SELECT data FROM prowess_segments")], write=False)
    return [bytes(row[0]) for row in rows]  # type: ignore[arg-type]


async def test_what_was_forgotten_leaves_no_byte_in_it(tmp_path: Path) -> None:
    remote = tmp_path / "remote.db"
    url = f"file://{remote}"
    async with Store.open(tmp_path / "store") as store:
        told = [NewStep(action=f"a{number}", observation=os.urandom(900).hex()) for number in range(20)]
        await store.track(Where(task_id="t"), told, origin=ORIGIN)
        await sync(store, url, raw=True)
        [before] = await _rows(url)
        parts = [before[place : place + 32] for place in range(1_000, len(before), 1_000)]
        assert any(part in remote.read_bytes() for part in parts)  # most of them: a page may end in one
        await store.forget(task_id="t", origin=ORIGIN)
        await sync(store, url, raw=True)
        assert not any(part in remote.read_bytes() for part in parts)


@pytest.mark.parametrize("harm", ["another", "damaged"])
async def test_one_that_is_no_database_is_not_taken_for_the_catalog(tmp_path: Path, harm: str) -> None:
    remote = tmp_path / "remote.db"
    url = f"file://{remote}"
    async with Store.open(tmp_path / "store") as store:
        await store.track(Where(task_id="t"), [NewStep(action="a")], origin=ORIGIN)
        await sync(store, url)
        whole = remote.read_bytes()
        remote.write_bytes(b"none at all" * 1000 if harm == "another" else whole[:4096] + bytes(len(whole) - 4096))
        with pytest.raises(RemoteGarbage, match="the remote file is no database, or is damaged") as caught:
            await sync(store, url)
        assert "prowess sync reset" in caught.value.hint
        assert "catalog" not in str(caught.value) + caught.value.hint
        remote.unlink()
        await sync(store, url)
    assert len(await _rows(url)) == 1
