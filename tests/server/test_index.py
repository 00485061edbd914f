"""The dense index: loads in the background, keeps up with what is saved, and never takes a call with it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import numpy as np
import pytest

from prowess.learning.ranking.views import model_name
from prowess.providers.embedding import Embedder
from prowess.providers.errors import EmbeddingFailed, ModelMissing
from prowess.server.index import BATCH, DenseIndex
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Skill, SkillStep
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

SECONDS = 180.0  # a busy machine, and then some


class Letters(Embedder):
    """Counts letters: texts with the same letters are near."""

    def __init__(self) -> None:
        super().__init__("letters@1", 26)
        self.batches: list[int] = []
        self.texts: list[str] = []
        self.broken = False

    def _rows(self, texts: list[str]) -> Any:
        if self.broken:
            raise EmbeddingFailed("no vector today")
        self.batches.append(len(texts))
        self.texts += texts
        return np.array([[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts], np.float32)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(tmp_path) as store:
        yield store


@asynccontextmanager
async def _running(
    store: Store, load: Callable[[], Embedder | None], patience: float = SECONDS
) -> AsyncIterator[DenseIndex]:
    index = DenseIndex(store, load, patience=patience)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index.run)
        yield index
        tasks.cancel_scope.cancel()


async def _save(store: Store, names: Sequence[str]) -> None:
    skills = [Skill(id=name, name=name, description=name, steps=(SkillStep(tool="x"),)) for name in names]
    await store.append([SkillSaved(skill=skill, change="create") for skill in skills], origin=Origin())


async def test_what_was_saved_is_found_at_once_after_a_refresh(store: Store) -> None:
    async with _running(store, Letters) as index:
        assert await index.query("warm up") is not None
        await _save(store, ["banana", "zephyr"])
        await index.refresh()
        vector = await index.query("bananas")
        assert vector is not None
        assert vector.shape == (26,)
        (nearest, *_) = await store.dense("skill", vector, limit=2)
        assert nearest[0] == "banana"


async def test_what_is_missing_is_embedded_in_batches_from_the_start(store: Store) -> None:
    await _save(store, [f"skill-{n}" for n in range(2 * BATCH + 3)])
    model = Letters()
    async with _running(store, lambda: model) as index:
        await index.query("warm up")
        await index.refresh()
    assert await store.unembedded("skill", model_name(model.name), 1) == []
    assert [size for size in model.batches if size > 1] == [BATCH, BATCH, BATCH, BATCH, 3, 3]  # names, descriptions


async def test_it_is_catching_up_until_all_that_is_stored_has_a_vector(store: Store) -> None:
    began, go_on = threading.Event(), threading.Event()

    class Slow(Letters):
        def _rows(self, texts: list[str]) -> Any:
            began.set()
            assert go_on.wait(SECONDS)
            return super()._rows(texts)

    async with _running(store, Slow) as index:
        await index.settled(SECONDS)
        await _save(store, ["banana"])
        await index.refresh(wait=False)
        assert index.state == "catching up"
        assert await anyio.to_thread.run_sync(began.wait, SECONDS)
        assert index.state == "catching up"
        go_on.set()
        with anyio.fail_after(SECONDS):
            while index.state != "ready":
                await anyio.lowlevel.checkpoint()
        assert await store.unembedded("skill", model_name("letters@1"), 1) == []


async def test_a_query_is_embedded_once_until_anything_was_forgotten(store: Store) -> None:
    await _save(store, ["banana"])
    model = Letters()
    async with _running(store, lambda: model) as index:
        for _ in range(2):
            await index.query("bananas")
        assert model.texts.count("bananas") == 1
        await store.forget(skill_ids=["banana"], origin=Origin())
        await index.query("bananas")
        assert model.texts.count("bananas") == 2


async def test_while_the_model_loads_a_query_waits_no_longer_than_its_patience(store: Store) -> None:
    release = threading.Event()

    def slow() -> Embedder:
        assert release.wait(SECONDS)
        return Letters()

    async with _running(store, slow, patience=0.01) as index:
        assert index.state == "loading"
        assert await index.query("a") is None
        await index.refresh()
        release.set()
    assert index.state in ("loading", "catching up", "ready")


async def test_without_a_model_queries_are_answered_with_none(store: Store) -> None:
    async with _running(store, lambda: None) as index:
        assert await index.query("a") is None
        assert index.state == "off"


async def test_a_model_that_cannot_be_loaded_is_told_once_and_serves_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> Embedder:
        raise ModelMissing("the model is not installed", hint="install it")

    async with _running(store, missing) as index:
        assert await index.query("a") is None
        assert index.state == "failed"
        await index.refresh()
    assert caplog.text.count("the model is not installed") == 1


async def test_a_model_that_breaks_later_is_left_alone(store: Store) -> None:
    model = Letters()
    async with _running(store, lambda: model) as index:
        assert await index.query("a") is not None
        model.broken = True
        assert await index.query("another") is None
        assert index.state == "failed"
        await _save(store, ["banana"])
        await index.refresh()
