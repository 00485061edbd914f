"""The skills that may answer a question, and all that is known of how near they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import numpy as np
from numpy.typing import NDArray

from prowess.learning.ranking.evidence import parts_of, rarity
from prowess.learning.ranking.order import Asked, prepare
from prowess.learning.text import terms
from prowess.storage.models import Skill
from prowess.tools.together import at_once

if TYPE_CHECKING:
    from prowess.storage.search import ByMeaning, ByWords
    from prowess.tools.context import Context

__all__ = ["PAST", "Found", "Question", "Scores", "ask", "mode_note", "search"]

CANDIDATES = 50  # of each retriever for the whole question
OF_A_PART = 20  # and for each of its sentences
# The model computes without the interpreter, but cannot begin while the catalog has it: 4 ms among 10,000 skills.
HEAD_START_SECONDS = 0.001
AT_ONCE = 10  # skills that are read before the event loop gets its turn, in a fifth of a millisecond

PAST = 50  # episodes: what is farther away says little

Matrix = NDArray[np.float32]
Scores = list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Question:
    """The question in ``parts``, the whole first, what was found by its words, whose rarity is ``rare``, and the parts'
    unit vectors (parts, dim) where a model is ready, with what is near to them where the store has any.

    ``past`` are episodes whose tasks share words with ``task``, looked up meanwhile where a skill that was found by
    words was drawn from episodes; None where they were not."""

    words: str
    parts: Sequence[str]
    lexical: ByWords
    rare: Mapping[str, float]
    vectors: Matrix | None
    near: ByMeaning | None
    past: Scores | None

    @property
    def vector(self) -> Matrix | None:
        return None if self.vectors is None else self.vectors[0]


@dataclass(frozen=True, slots=True)
class Found:
    """Skills to rank, with their cosines (parts, skills) where there are vectors."""

    asked: Asked
    skills: list[Skill]
    cosines: NDArray[np.float64] | None


async def ask(words: str, scope: str | None, ctx: Context, *, task: str = "") -> Question:
    """Search by words while the vectors are made, then by those. ``scope`` is a project, None for all of them.

    ``task`` is what of the question past tasks are compared with.
    """
    parts = parts_of(words)
    stems = {stem: word for part in parts for stem, word in terms(part).items()}
    search = _Search(parts, list(stems.values()), task, scope, ctx)
    (vectors, near), (lexical, past) = await at_once(search.by_meaning, search.by_words)
    rare = rarity({stem: lexical.counts[word] for stem, word in stems.items()}, lexical.pool)
    return Question(words, parts, lexical, rare, vectors, near, past)


def search(question: Question) -> Found:
    """The usable skills near the question or one of its parts, by words or by meaning."""
    near = question.near
    held = list((question.lexical if near is None else near).skills.values())
    places = [place for place, skill in enumerate(held) if skill.status in ("draft", "active")]
    asked = Asked(question.parts, question.rare, question.lexical.pool)
    return Found(asked, [held[place] for place in places], _cosines(near, places))


def mode_note(question: Question, ctx: Context) -> list[str]:
    """Why no embedding model took part; nothing where one did."""
    if question.vector is not None:
        return []
    reason = {"loading": "the embedding model is still loading", "off": "no embedding model is set"}
    return [f"lexical search only: {reason.get(ctx.index.state, 'the embedding model does not work')}"]


class _Search:
    """Both searches of one question, which run at the same time."""

    def __init__(self, parts: Sequence[str], words: Sequence[str], task: str, scope: str | None, ctx: Context) -> None:
        self._parts = parts
        self._words = words
        self._task = task
        self._scope = scope
        self._ctx = ctx
        self._limits = [OF_A_PART if place else CANDIDATES for place in range(len(parts))]
        self._lexical: ByWords | None = None
        self._known = anyio.Event()

    async def by_words(self) -> tuple[ByWords, Scores | None]:
        if self._ctx.index.state in ("ready", "catching up"):
            await anyio.sleep(HEAD_START_SECONDS)
        limited = list(zip(self._parts, self._limits, strict=True))
        found = await self._ctx.store.skills_by_words(limited, self._words, project=self._scope)
        self._lexical = found
        self._known.set()
        # What is read of them now, while a thread computes, is ready when they are ranked.
        skills = list(found.skills.values())
        for begin in range(0, len(skills), AT_ONCE):
            prepare(skills[begin : begin + AT_ONCE])
            await anyio.lowlevel.checkpoint()
        if not (self._task and any(skill.episodes for skill in skills)):
            return found, None
        return found, await self._ctx.store.lexical("episode", self._task, limit=PAST, project=self._scope)

    async def by_meaning(self) -> tuple[Matrix | None, ByMeaning | None]:
        vectors = await self._ctx.index.queries(self._parts)
        if vectors is None:
            return None, None
        if self._lexical is None:
            await self._known.wait()
        assert self._lexical is not None
        also = self._lexical.skills
        near = await self._ctx.store.skills_by_meaning(vectors, self._limits, also=also, project=self._scope)
        return vectors, near


def _cosines(near: ByMeaning | None, places: Sequence[int]) -> NDArray[np.float64] | None:
    """Of what is at ``places``; NaN for a skill without a vector yet, None where none has one."""
    if near is None or not places:
        return None
    found = near.cosines[:, places]
    return None if np.isnan(found).all() else found.astype(np.float64)
