"""Banks and controllers travel with the event that names them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from machines import machines
from rounds import sync

from prowess.learning.memskill.bank import Bank
from prowess.server.memskill_files import adopt_files, keep_bank, keep_controller, load_bank, read_files
from prowess.server.sync.address import read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.errors import RemoteGarbage
from prowess.server.sync.hrana import Statement
from prowess.storage.errors import StoreDamaged
from prowess.storage.events import ControllerAdopted
from prowess.storage.models import Origin
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

AT = "2026-11-29T12:00:00.000Z"
WEIGHTS = b"weights" * 1_000


async def adopt(store: Store) -> ControllerAdopted:
    bank = keep_bank(store.folder, Bank.initial())
    weights = keep_controller(store.folder, WEIGHTS, b"{}")
    event = ControllerAdopted(project="shop", at=AT, bank=bank, weights=weights)
    await store.append([event], origin=Origin(actor="machine"))
    return event


async def test_another_machine_gets_the_bank_and_the_controller(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with machines(tmp_path, 2) as (one, two):
        adopted = await adopt(one.store)
        await sync(one.store, url)
        await sync(two.store, url)
        assert load_bank(two.store.folder, adopted.bank) == load_bank(one.store.folder, adopted.bank)
        assert read_files(two.store.folder, "controllers", adopted.weights)["controller.safetensors"] == WEIGHTS
        assert (await two.dump())["controllers"] == (await one.dump())["controllers"]


async def test_a_strangers_controller_is_neither_fetched_nor_used(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with machines(tmp_path, 2) as (one, two):
        await adopt(one.store)
        await sync(one.store, url)
        await sync(two.store, url, person="ben")
        assert (await two.dump())["controllers"] == []
        assert not (two.store.folder / "memskill").exists()


async def test_files_that_are_not_what_their_hash_says_are_refused(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote.db"
    async with machines(tmp_path, 2) as (one, two):
        adopted = await adopt(one.store)
        await sync(one.store, url)
        async with open_database(read_address(url)) as database:
            swap = "UPDATE prowess_files SET data = (SELECT data FROM prowess_files WHERE kind = 'banks')"
            await database.batch([Statement(swap)])
        with pytest.raises(RemoteGarbage, match=f"controllers {adopted.weights[:12]}"):
            await sync(two.store, url)
        assert (await two.dump())["controllers"] == []
    assert hashlib.sha256(WEIGHTS).hexdigest() == adopted.weights


@pytest.mark.parametrize("name", ["", "a\0b", "../x", ".hidden", "x" * 300, "two\nlines", "controller.py"])
def test_files_with_names_that_no_machine_gives_are_refused(tmp_path: Path, name: str) -> None:
    files = {"controller.safetensors": WEIGHTS, name: b""}
    kind = "controllers" if name.startswith("controller") else "banks"
    with pytest.raises(StoreDamaged, match="names that are none"):
        adopt_files(tmp_path, kind, hashlib.sha256(WEIGHTS).hexdigest(), files)
    assert not (tmp_path / "memskill").exists()
