"""Waiting has bounds: for a place in the queue, and for the disk at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from storekit import ORIGIN, WHERE, explained, steps

from prowess.storage import engine
from prowess.storage.errors import StoreBusy
from prowess.storage.log.file import LogFile
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


class Disk:
    """A disk that does not answer until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hangs = threading.Event()
        self.answers = threading.Event()
        write = LogFile.write

        @contextmanager
        def slowly(file: LogFile) -> Iterator[Any]:
            self.hangs.set()
            assert self.answers.wait(20)
            with write(file) as transaction:
                yield transaction

        monkeypatch.setattr(LogFile, "write", slowly)


async def _track(store: Store, outcomes: list[str], action: str) -> None:
    try:
        await store.track(WHERE, steps(action), origin=ORIGIN, key=action)
        outcomes.append("stored")
    except StoreBusy as error:
        explained(error)
        outcomes.append("busy")


async def test_a_write_beyond_the_queue_is_told_to_try_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "QUEUE", 3)
    monkeypatch.setattr(engine, "QUEUE_WAIT_S", 0.01)
    outcomes: list[str] = []
    async with Store.open(folder) as store:
        disk = Disk(monkeypatch)
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(_track, store, outcomes, f"a{number}")
            with anyio.fail_after(180):
                while outcomes.count("busy") < 2:
                    await anyio.lowlevel.checkpoint()
            disk.answers.set()
        assert sorted(outcomes) == ["busy", "busy", "stored", "stored", "stored"]
        await _track(store, outcomes, "a0")
        assert (await store.stats()).steps in (3, 4)


async def test_a_disk_that_hangs_at_the_end_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CLOSE_WAIT_S", 0.01)
    outcomes: list[str] = []
    disk: Disk | None = None

    async def use() -> None:
        nonlocal disk
        async with anyio.create_task_group() as tasks, Store.open(folder) as store:
            disk = Disk(monkeypatch)
            tasks.start_soon(_track, store, outcomes, "a")
            await anyio.to_thread.run_sync(disk.hangs.wait, 20)
            tasks.cancel_scope.cancel()

    with pytest.raises(BaseExceptionGroup) as raised:
        await use()
    assert raised.group_contains(StoreBusy, match="not on disk")
    assert disk is not None
    disk.answers.set()
    writer = next(thread for thread in threading.enumerate() if thread.name == "prowess-log")
    await anyio.to_thread.run_sync(writer.join, 20)
