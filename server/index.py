"""Vectors for what is stored: loads the embedding model in the background and keeps up with what is saved."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.to_thread

from prowess.learning.ranking.views import blended, model_name, views
from prowess.providers.errors import EmbeddingError
from prowess.storage.errors import StoreClosed, StoreError
from prowess.storage.turns import Turns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from prowess.providers.embedding import Embedder
    from prowess.storage.store import Store

__all__ = ["DenseIndex", "Kind"]

Kind = Literal["skill", "memory", "episode"]
State = Literal["ready", "catching up", "loading", "off", "failed"]

KINDS: tuple[Kind, ...] = ("skill", "memory", "episode")
BATCH = 16  # texts per pass of the model: a query that comes between waits for one batch
QUERIES = 4  # questions at once: each keeps a processor busy
REFRESH_SECONDS = 2.0  # what a call that saved something waits for its vectors

_log = logging.getLogger(__name__)


class DenseIndex:
    """The dense side of search over one store.

    ``run`` has to run in a task; ``patience`` is how many seconds a query waits for a model that is still loading.
    """

    def __init__(self, store: Store, load: Callable[[], Embedder | None], *, patience: float = 2.0) -> None:
        self._store = store
        self._load = load
        self._patience = patience
        self._embedder: Embedder | None = None
        self._state: State = "loading"
        self._settled = anyio.Event()
        self._working = False
        self._stale = anyio.Event()
        self._turn = anyio.Lock()
        self._queries = Turns("prowess-model", QUERIES)
        store.when_forgotten(self._let_go)

    def _let_go(self) -> None:
        if (embedder := self._embedder) is not None:
            embedder.let_go()

    @property
    def state(self) -> State:
        """Whether queries get a vector, and why not; ``catching up`` where some of what is stored still has none."""
        if self._state == "ready" and (self._working or self._stale.is_set()):
            return "catching up"
        return self._state

    @property
    def embedder(self) -> Embedder | None:
        """The model, once it is loaded."""
        return self._embedder

    async def run(self) -> None:
        """Load the model, then embed what is missing, again after every change."""
        await self._load_model()
        while self._embedder is not None:
            self._stale = anyio.Event()
            self._working = True
            if not await self._caught_up():
                return
            self._working = False
            await self._stale.wait()

    async def _load_model(self) -> None:
        try:
            self._embedder = await anyio.to_thread.run_sync(self._load)
            self._state = "ready" if self._embedder else "off"
        except EmbeddingError as error:
            self._fail(error)
        finally:
            self._settled.set()

    def _fail(self, error: EmbeddingError) -> None:
        self._embedder = None
        self._state = "failed"
        _log.warning("no embedding model, so search is lexical only: %s", error.explain())

    async def settled(self, seconds: float) -> None:
        """Wait, within a bound, until the model is loaded or known not to."""
        with anyio.move_on_after(seconds):
            await self._settled.wait()

    async def query(self, text: str) -> NDArray[np.float32] | None:
        """The unit vector of ``text``, shape (dim,), or None where no model is ready in time."""
        found = await self.queries([text])
        return None if found is None else found[0]

    async def queries(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The unit vectors of ``texts``, shape (n, dim), or None where no model is ready in time."""
        if self._embedder is None:
            await self.settled(self._patience)
        embedder = self._embedder
        if embedder is None:
            return None
        try:
            return await self._queries.run(partial(embedder.embed_queries, texts))
        except EmbeddingError as error:
            self._fail(error)
            return None

    async def refresh(self, *, wait: bool = True) -> None:
        """Embed what was saved just now, within a bound; ``run`` does the rest, or all of it without ``wait``."""
        self._stale.set()
        if not wait:
            return
        with anyio.move_on_after(REFRESH_SECONDS):
            if self._embedder is not None:
                await self._caught_up()

    async def _caught_up(self) -> bool:
        """Embed everything that is missing; False where that failed for good."""
        try:
            async with self._turn:
                for kind in KINDS:
                    while await self._embed_some(kind):
                        pass
        except EmbeddingError as error:
            self._fail(error)
        except StoreError as error:
            _log.warning("vectors were not stored and will be made later: %s", error.explain())
            return not isinstance(error, StoreClosed)
        return self._embedder is not None

    async def _embed_some(self, kind: Kind) -> bool:
        embedder = self._embedder
        if embedder is None:
            return False
        model = model_name(embedder.name)
        missing = await self._store.unembedded(kind, model, BATCH)
        if not missing:
            return False
        ids, texts = [found for found, _ in missing], [text for _, text in missing]
        matrix = await anyio.to_thread.run_sync(_vectors, embedder, kind, texts)
        with anyio.CancelScope(shield=True):
            await self._store.save_embeddings(kind, model, ids, matrix, texts)
        return len(missing) == BATCH


def _vectors(embedder: Embedder, kind: Kind, texts: Sequence[str]) -> NDArray[np.float32]:
    if kind != "skill":
        return embedder.embed(texts)
    names, told = zip(*map(views, texts), strict=True)
    return blended(embedder.embed(names), embedder.embed(told))
