"""A store that cannot be written is looked at as any other, and no byte of its folder changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redb
from storekit import ORIGIN, WHERE, do_everything, steps

from prowess.storage.errors import StoreInUse, StoreReadOnly, StoreUnavailable
from prowess.storage.log.batch import View
from prowess.storage.log.failures import translated
from prowess.storage.log.file import write_meta
from prowess.storage.log.tables import SCHEMA
from prowess.storage.models import NewReward
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

SECONDS = 60.0
KILLED = """
import os, signal, sys
from pathlib import Path
import anyio
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store

async def main():
    async with Store.open(Path(sys.argv[1])) as store:
        await store.track(Where(task_id="t", session="s"), [NewStep(action="a")], origin=Origin())
        os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""


@pytest.fixture
async def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    async with Store.open(tmp_path / "store") as store:
        await do_everything(store)
    return tmp_path / "store"


def _content(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


async def _answers(store: Store) -> list[Any]:
    episodes = await store.episodes()
    read = [await store.steps(episode.id) for episode in episodes]
    return [episodes, read, await store.skills(), await store.memories(), await store.stats(), await store.verify()]


@pytest.mark.parametrize("catalog", ["whole", "behind", "none", "damaged"])
async def test_it_answers_as_one_that_can_be_written(filled: Path, tmp_path: Path, catalog: str) -> None:
    place = filled / "catalog.db"
    before = place.read_bytes()
    async with Store.open(filled) as store:
        await store.track(WHERE, steps("look", "act"), origin=ORIGIN)
        expected = await _answers(store)
    if catalog == "behind":
        place.write_bytes(before)
    elif catalog == "none":
        place.unlink()
    elif catalog == "damaged":
        place.write_bytes(b"no database" * 1000)
    (filled / "log.redb.lock").unlink()
    kept = _content(filled)
    async with Store.open(filled, read_only=True) as store, Store.open(filled, read_only=True) as another:
        assert await _answers(store) == expected
        assert await _answers(another) == expected
        assert store.folder == filled
    assert _content(filled) == kept
    assert os.listdir(tmp_path / "temporary") == []  # noqa: PTH208


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.track(WHERE, steps("look"), origin=ORIGIN),
        lambda store: store.score(WHERE, [NewReward(value=1.0)], origin=ORIGIN),
        lambda store: store.append([], origin=ORIGIN),
        lambda store: store.forget(project="shop", origin=ORIGIN),
        lambda store: store.trim(days=1, max_bytes=None, origin=ORIGIN),
        lambda store: store.set_mark("a", 1),
        lambda store: store.backup(store.folder.parent / "backup"),
    ],
)
async def test_it_refuses_every_change(filled: Path, change: Callable[[Store], Any]) -> None:
    kept = _content(filled)
    async with Store.open(filled, read_only=True) as store:
        with pytest.raises(StoreReadOnly, match=r"the store is read-only: .*store") as refused:
            await change(store)
    assert "commands that only look work" in refused.value.hint
    assert _content(filled) == kept


async def test_who_writes_to_it_keeps_readers_out_and_they_a_writer(filled: Path) -> None:
    async with Store.open(filled):
        with pytest.raises(StoreInUse):
            async with Store.open(filled, read_only=True):
                pass
    async with Store.open(filled, read_only=True):
        with pytest.raises(StoreInUse):
            async with Store.open(filled):
                pass


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    ended = subprocess.run([sys.executable, "-I", "-c", KILLED, str(tmp_path)], timeout=SECONDS, check=False)
    assert ended.returncode == -signal.SIGKILL
    return tmp_path


async def test_one_that_would_have_to_be_repaired_is_told(killed: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"log\.redb was not closed properly") as refused:
        async with Store.open(killed, read_only=True):
            pass
    assert "name the copy with --store" in refused.value.hint


async def test_one_of_an_older_version_is_told(filled: Path) -> None:
    database = redb.Database.builder().open(filled / "log.redb")
    with database.begin_write() as transaction:
        write_meta(View(transaction), "schema", SCHEMA - 1)
    database.close()
    with pytest.raises(StoreUnavailable, match="is of an older version, and what is read-only cannot be upgraded"):
        async with Store.open(filled, read_only=True):
            pass


async def test_old_copies_of_killed_programs_are_removed(filled: Path, tmp_path: Path) -> None:
    old, young = (tmp_path / "temporary" / f"prowess-catalog-{name}" for name in ("old", "young"))
    for left in (old, young):
        left.mkdir()
        (left / "catalog.db").write_bytes(b"kept")
    os.utime(old, (time.time() - 2 * 86_400,) * 2)
    async with Store.open(filled, read_only=True):
        assert not old.exists()
        assert len(list((tmp_path / "temporary").glob("prowess-catalog-*/catalog.db"))) == 2
    assert os.listdir(tmp_path / "temporary") == [young.name]  # noqa: PTH208


async def test_one_without_a_place_for_the_copy_is_told(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(filled / "nowhere"))
    with pytest.raises(StoreUnavailable, match="no room for a copy of its catalog: No such file") as refused:
        async with Store.open(filled, read_only=True):
            pass
    assert "TMPDIR" in refused.value.hint
    async with Store.open(filled):  # which the log is free for
        pass


def test_what_a_disk_says_that_takes_nothing_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly, match="the store is read-only"), translated(tmp_path):
        raise redb.StorageError("I/O error: Read-only file system (os error 30)")
