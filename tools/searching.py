"""The skills that may answer a question, and all that is known of how near they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import numpy as np
from numpy.typing import NDArray

from prowess.learning.ranking import Asked, prepare
from prowess.learning.ranking_evidence import parts_of, rarity
from prowess.learning.text import terms
from prowess.storage.models import Skill
from prowess.tools.together import at_once

if TYPE_CHECKING:
    from prowess.storage.reads import ByMeaning, ByWords
    from prowess.storage.store import Store
    from prowess.tools.context import Context

__all__ = ["Found", "Question", "ask", "search"]

CANDIDATES = 50  # of each retriever for the whole question
OF_A_PART = 20  # and for each of its sentences
# The model computes without the interpreter, but cannot begin while the catalog has it: 4 ms among 10,000 skills.
HEAD_START_SECONDS = 0.001

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Question:
    """The question in ``parts``, the whole first, what was found by its words, whose rarity is ``rare``, and the parts'
    unit vectors (parts, dim) where a model is ready."""

    words: str
    parts: Sequence[str]
    scope: str | None
    lexical: ByWords
    rare: Mapping[str, float]
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
    stems = {stem: word for part in parts for stem, word in terms(part).items()}
    limited = [(part, _limit(place)) for place, part in enumerate(parts)]
    vectors, lexical = await at_once(
        lambda: ctx.index.queries(parts), lambda: _by_words(limited, list(stems.values()), scope, ctx)
    )
    rare = rarity({stem: lexical.counts[word] for stem, word in stems.items()}, lexical.pool)
    return Question(words, parts, scope, lexical, rare, vectors)


async def search(question: Question, ctx: Context) -> Found:
    """The usable skills near the question or one of its parts, by words or by meaning."""
    near = await _near(question, ctx.store)
    held = list((question.lexical if near is None else near).skills.values())
    places = [place for place, skill in enumerate(held) if skill.status in ("draft", "active")]
    asked = Asked(question.parts, question.rare, question.lexical.pool)
    return Found(asked, [held[place] for place in places], _cosines(near, places))


def _limit(place: int) -> int:
    return OF_A_PART if place else CANDIDATES


async def _by_words(parts: Sequence[tuple[str, int]], words: Sequence[str], scope: str | None, ctx: Context) -> ByWords:
    if ctx.index.state == "ready":
        await anyio.sleep(HEAD_START_SECONDS)
    found = await ctx.store.skills_by_words(parts, words, project=scope)
    # What is read of them now, while the vectors are made, is ready when they are ranked.
    prepare(found.skills.values())
    return found


async def _near(question: Question, store: Store) -> ByMeaning | None:
    if question.vectors is None:
        return None
    limits = [_limit(place) for place in range(len(question.parts))]
    return await store.skills_by_meaning(question.vectors, limits, also=question.lexical.skills, project=question.scope)


def _cosines(near: ByMeaning | None, places: Sequence[int]) -> NDArray[np.float64] | None:
    """Of what is at ``places``; NaN for a skill without a vector yet, None where none has one."""
    if near is None or not places:
        return None
    found = near.cosines[:, places]
    return None if np.isnan(found).all() else found.astype(np.float64)
