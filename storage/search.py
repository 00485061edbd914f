"""What may be searched for in an open store, by words and by meaning, and the vectors that takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from prowess.storage.engine import Engine
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.models import Episode, EpisodeFilter, Memory, Skill
from prowess.storage.reads import StoreReads

if TYPE_CHECKING:
    from prowess.storage.catalog import Catalog
    from prowess.storage.catalog.index import Matrix, VectorIndex
    from prowess.storage.catalog.vectors import Kind

__all__ = ["ByMeaning", "ByWords", "NearEpisodes", "Recalled", "StoreSearch"]


class ByWords(NamedTuple):
    """``skills``, the best of each part first; how many texts have each word, about, and how many there are.

    ``memories`` says whether the store has any.
    """

    skills: dict[str, Skill]
    memories: bool
    counts: dict[str, int]
    pool: int


class ByMeaning(NamedTuple):
    """``skills`` by id with their cosines, (vectors, skills); NaN where one has no vector."""

    skills: dict[str, Skill]
    cosines: Matrix


class NearEpisodes(NamedTuple):
    """(id, cosine) of the nearest, best first, and of those that were wanted the episodes with their unit vectors."""

    dense: list[tuple[str, float]]
    episodes: tuple[Episode, ...]
    vectors: dict[str, Matrix]


class Recalled(NamedTuple):
    """(id, score) and (id, cosine) of what a text is near to, best first, with what is asked of words as in ByWords."""

    lexical: list[tuple[str, float]]
    dense: list[tuple[str, float]]
    memories: tuple[Memory, ...]
    counts: dict[str, int]
    pool: int


class StoreSearch(StoreReads):
    """The searching part of ``Store``."""

    def __init__(self, engine: Engine, cleaner: Cleaner) -> None:
        super().__init__(engine, cleaner)
        self._model = ""

    async def lexical(
        self, kind: Kind, query: str, *, limit: int, project: str | None = None
    ) -> list[tuple[str, float]]:
        """(id, score) of what shares words with ``query``, best first; higher is better."""
        return await self._search(lambda: self._engine.catalog.lexical(kind, query, limit, project))

    async def skills_by_words(
        self, parts: Sequence[tuple[str, int]], words: Sequence[str], *, project: str | None = None
    ) -> ByWords:
        """What shares words with one of ``parts`` (text, limit), and how frequent ``words`` are."""

        def search() -> ByWords:
            catalog = self._engine.catalog
            found = [catalog.lexical("skill", text, limit, project) for text, limit in parts]
            ids = dict.fromkeys(key for hits in found for key, _ in hits)
            return ByWords(_in_order(catalog, ids), catalog.has_memories(), *catalog.frequencies("skill", words))

        return await self._search(search)

    async def dense(
        self, kind: Kind, vector: Matrix, *, limit: int, project: str | None = None, model: str | None = None
    ) -> list[tuple[str, float]]:
        """(id, cosine) of the nearest to ``vector``, of shape (dim,) and any length but 0, best first.

        Searched are the vectors of ``model`` (default: the one last asked for or saved); none where it has none.
        """
        return await self._search(partial(self._dense, kind, vector, limit, project, model or self._model))

    def _dense(
        self, kind: Kind, vector: Matrix, limit: int, project: str | None, model: str
    ) -> list[tuple[str, float]]:
        index = self._index(kind, model)
        return [] if index is None or index.dim != vector.size else index.search(vector, limit, project=project)

    async def near_episodes(
        self,
        vector: Matrix | None,
        *,
        also: Iterable[str],
        limit: int,
        wanted: EpisodeFilter,
        project: str | None = None,
    ) -> NearEpisodes:
        """What ``dense`` finds for ``vector`` (nothing without one); of it and ``also`` those that are ``wanted``."""
        model = self._model

        def search() -> NearEpisodes:
            dense = [] if vector is None else self._dense("episode", vector, limit, project, model)
            ids = tuple(dict.fromkeys([*also, *(key for key, _ in dense)]))
            episodes = self._engine.catalog.episodes(replace(wanted, ids=ids)) if ids else ()
            index = None if vector is None else self._index("episode", model)
            return NearEpisodes(dense, episodes, {} if index is None else index.vectors([one.id for one in episodes]))

        return await self._search(search)

    async def skills_by_meaning(
        self,
        vectors: Matrix,
        limits: Sequence[int],
        *,
        also: Iterable[str] = (),
        project: str | None = None,
    ) -> ByMeaning | None:
        """``also`` and the nearest to each of unit ``vectors`` (n, dim), of each as many as its limit; their cosines.

        None where there are no vectors of the model that was last asked for or saved.
        """
        index_of = partial(self._index, "skill", self._model)

        def search() -> ByMeaning | None:
            index = index_of()
            if index is None or index.dim != vectors.shape[1]:
                return None
            near = index.searches(vectors, limits, project=project)
            ids = dict.fromkeys([*also, *(key for hits in near for key, _ in hits)])
            skills = _in_order(self._engine.catalog, ids)
            return ByMeaning(skills, index.cosines(vectors, list(skills)))

        return await self._search(search)

    async def recall(
        self, query: str, vector: Matrix | None, words: Sequence[str], *, limit: int, project: str | None = None
    ) -> Recalled:
        """Memories near to ``query`` or ``vector``, newest first, and how frequent ``words`` are."""
        model = self._model

        def search() -> Recalled:
            catalog = self._engine.catalog
            lexical = catalog.lexical("memory", query, limit, project)
            dense = [] if vector is None else self._dense("memory", vector, limit, project, model)
            found = sorted({key for key, _ in [*lexical, *dense]})
            if not found:
                return Recalled([], [], (), {}, 0)
            return Recalled(lexical, dense, catalog.memories(ids=found), *catalog.frequencies("memory", words))

        return await self._search(search)

    async def frequencies(self, kind: Kind, words: Sequence[str]) -> tuple[dict[str, int], int]:
        """How many texts have each of ``words``, about, and how many there are."""
        return await self._search(lambda: self._engine.catalog.frequencies(kind, words))

    def _index(self, kind: Kind, model: str) -> VectorIndex | None:
        """In the catalog's thread: the vectors of ``model``, loaded once."""
        indexes = self._engine.indexes
        if indexes.get((kind, model)) is None:
            indexes[kind, model] = self._engine.catalog.load_index(kind, model)
        return indexes[kind, model]

    async def unembedded(self, kind: Kind, model: str, limit: int) -> list[tuple[str, str]]:
        """(id, text) of the newest texts that have no vector of ``model`` yet."""
        self._model = model
        return await self._ask(lambda: self._engine.catalog.unembedded(kind, model, limit))

    async def save_embeddings(
        self, kind: Kind, model: str, ids: Sequence[str], matrix: Matrix, texts: Sequence[str] | None = None
    ) -> None:
        """Keep the rows of ``matrix`` (len(ids), dim) float32 as the vectors of those ``ids`` that still exist."""
        self._model = model

        def save() -> None:
            catalog = self._engine.catalog
            index = self._engine.indexes.get((kind, model))
            saved = set(catalog.save_embeddings(kind, model, ids, matrix, texts))
            if index is not None and saved:
                rows = [row for row, key in enumerate(ids) if key in saved]
                kept = [ids[row] for row in rows]
                index.upsert(kept, matrix[rows], [catalog.project_of(kind, key) for key in kept])

        await self._ask(save)


def _in_order(catalog: Catalog, ids: Collection[str]) -> dict[str, Skill]:
    """Those of ``ids`` that exist, in this order."""
    found = catalog.skills_by_id(ids)
    return {key: found[key] for key in ids if key in found}
