"""The skills that may answer a question, and all that is known of how near they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio
import numpy as np
from numpy.typing import NDArray

from prowess.learning.ranking import Asked
from prowess.learning.ranking_evidence import parts_of, rarity
from prowess.learning.text import terms
from prowess.storage.models import Skill

if TYPE_CHECKING:
    from prowess.storage.store import Store
    from prowess.tools.context import Context

__all__ = ["Found", "Question", "ask", "search"]

CANDIDATES = 50  # of each retriever for the whole question
OF_A_PART = 20  # and for each of its sentences

Matrix = NDArray[np.float32]
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Question:
    """The question in ``parts``, the whole first, and their unit vectors (parts, dim) where a model is ready."""

    words: str
    parts: Sequence[str]
    scope: str | None
    lexical: Sequence[str]
    vectors: Matrix | None

    @property
    def vector(self) -> Matrix | None:
        return None if self.vectors is None else self.vectors[0]


@dataclass(frozen=True, slots=True)
class Found:
    """Skills to rank, with their cosines (parts, skills) where there are vectors."""

    asked: Asked
    skills: list[Skill]
    cosines: NDArray[np.float64] | None


async def ask(words: str, scope: str | None, ctx: Context) -> Question:
    """Search by words and make the vectors at once. ``scope`` is a project, None for all of them."""
    parts = parts_of(words)
    lexical, vectors = await _at_once(lambda: _lexical(parts, scope, ctx.store), lambda: _vectors(parts, ctx))
    return Question(words, parts, scope, lexical, vectors)


async def search(question: Question, ctx: Context) -> Found:
    """The usable skills near the question or one of its parts, by words or by meaning."""
    ids = dict.fromkeys(question.lexical)
    for place, vector in enumerate(() if question.vectors is None else question.vectors):
        near = await ctx.store.dense("skill", vector, limit=_limit(place), project=question.scope)
        ids |= dict.fromkeys(key for key, _ in near)
    held = await ctx.store.skills_by_id(ids)
    skills = [held[key] for key in ids if key in held and held[key].status in ("draft", "active")]
    stems = {stem: word for part in question.parts for stem, word in terms(part).items()}
    counts, pool = await ctx.store.frequencies("skill", list(stems.values()))
    rare = rarity({stem: counts[word] for stem, word in stems.items()}, pool)
    return Found(Asked(question.parts, rare, pool), skills, await _cosines(question, skills, ctx.store))


def _limit(place: int) -> int:
    return OF_A_PART if place else CANDIDATES


async def _lexical(parts: Sequence[str], scope: str | None, store: Store) -> list[str]:
    found: dict[str, None] = {}
    for place, part in enumerate(parts):
        hits = await store.lexical("skill", part, limit=_limit(place), project=scope)
        found |= dict.fromkeys(key for key, _ in hits)
    return list(found)


async def _vectors(parts: Sequence[str], ctx: Context) -> Matrix | None:
    made = []
    for part in parts:
        vector = await ctx.index.query(part)
        if vector is None:
            return None
        made.append(vector)
    return np.stack(made)


async def _cosines(question: Question, skills: Sequence[Skill], store: Store) -> NDArray[np.float64] | None:
    """NaN for a skill without a vector yet; None where none has one."""
    if question.vectors is None or not skills:
        return None
    found = await store.cosines("skill", question.vectors, [skill.id for skill in skills])
    if found is None or np.isnan(found).all():
        return None
    return found.astype(np.float64)


async def _at_once(first: Callable[[], Awaitable[T]], second: Callable[[], Awaitable[U]]) -> tuple[T, U]:
    """Both results; what ``first`` raises comes out as it is."""
    seconds: list[U] = []
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_into, seconds, second)
        try:
            result = await first()
        except Exception as error:
            failure = error  # kept out of the task group, which would wrap it
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return result, seconds[0]


async def _into(results: list[U], call: Callable[[], Awaitable[U]]) -> None:
    results.append(await call())
