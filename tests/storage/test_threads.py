"""Nothing that can block runs on the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
import pytest
from storekit import ORIGIN, WHERE, do_everything

from prowess.storage.catalog import Catalog
from prowess.storage.log import gate
from prowess.storage.log.file import LogFile
from prowess.storage.log.lock import Lock
from prowess.storage.models import NewStep
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

BLOCKING = {
    LogFile: ("read", "write", "reopen", "rewrite", "export", "close"),
    Lock: ("__init__", "release"),
    Catalog: tuple(name for name in dir(Catalog) if not name.startswith("_") and callable(getattr(Catalog, name))),
}


@pytest.fixture
def on_loop(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of blocking methods that were called on this thread, the event loop's."""
    called: list[str] = []
    here = threading.get_ident()

    def watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == here:
                called.append(name)
            return method(*args, **kwargs)

        return call

    for kind, names in BLOCKING.items():
        for name in names:
            monkeypatch.setattr(kind, name, watched(f"{kind.__name__}.{name}", getattr(kind, name)))
    return called


async def test_no_call_of_the_store_blocks_the_event_loop(folder: Path, tmp_path: Path, on_loop: list[str]) -> None:
    async with Store.open(folder) as store:
        episode_id = await do_everything(store)
        await store.find_episode(WHERE)
        await store.trajectories([episode_id])
        await store.steps(episode_id)
        await store.rewards(episode_id)
        await store.episodes()
        skills = await store.skills()
        await store.skill(skills[0].id)
        await store.versions(skills[0].id)
        await store.uses(skills[0].id)
        await store.patterns()
        await store.memories()
        await store.exposures()
        await store.spent()
        await store.stats()
        await store.lexical("skill", "refund", limit=3)
        await store.unembedded("skill", "m", 3)
        await store.save_embeddings("skill", "m", [skills[0].id], np.ones((1, 2), np.float32))
        await store.dense("skill", np.ones(2, np.float32), limit=3)
        await store.rebuild()
        await store.verify()
        await store.backup(tmp_path / "copy")
        await store.backups()
        await store.trim(days=None, max_bytes=0, origin=ORIGIN)
        await store.forget(episode_ids=[episode_id], origin=ORIGIN)
    assert on_loop == []


async def test_a_store_that_cannot_be_opened_does_not_block_either(folder: Path, on_loop: list[str]) -> None:
    async with Store.open(folder):
        with pytest.raises(Exception, match="is open"):
            async with Store.open(folder):
                pass
    assert on_loop == []


async def test_large_texts_are_masked_in_another_thread(folder: Path) -> None:
    threads: set[int] = set()

    def mask_many(texts: Sequence[str]) -> Sequence[str]:
        threads.add(threading.get_ident())
        return texts

    @contextmanager
    def watching() -> Iterator[None]:
        threads.clear()
        yield
        assert threading.get_ident() not in threads

    async with Store.open(folder, mask_many=mask_many) as store:
        with watching():
            await store.track(WHERE, [NewStep(action="a", observation="o" * 10_000)], origin=ORIGIN)
        with watching():
            await store.track(WHERE, [NewStep(action="a", args={"x": ["o" * 100] * 100})], origin=ORIGIN)
        with watching():
            await store.track(WHERE, [NewStep(action=f"a{n}") for n in range(2000)], origin=ORIGIN)


async def test_a_new_epoch_keeps_no_reader_waiting_for_a_long_backup(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, begun, go_on = LogFile._copy_to, threading.Event(), threading.Event()

    def slowly(self: LogFile, *args: Any) -> None:
        begun.set()
        go_on.wait(30)
        copy(self, *args)

    monkeypatch.setattr(gate, "PATIENCE_S", 0.1)
    monkeypatch.setattr(LogFile, "_copy_to", slowly)
    async with Store.open(folder) as store:
        told = await store.track(WHERE, [NewStep(action="a")], origin=ORIGIN)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.backup, tmp_path / "copy")
            try:
                assert await anyio.to_thread.run_sync(begun.wait, 30)
                await store.begin_epoch(2)
                assert len(await store.steps(told.episode_id)) == 1
            finally:
                go_on.set()
        assert (await store.journal(0, 1)).epochs[1][1] == 2
        assert (await store.track(WHERE, [NewStep(action="b")], origin=ORIGIN)).numbers == (2,)
