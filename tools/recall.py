"""Lessons and warnings that fit a question, or one of the tools that its answer would use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from prowess.learning.text import terms
from prowess.storage.models import Memory
from prowess.tools.skills import one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from prowess.storage.store import Store

__all__ = ["recall"]

CANDIDATES = 30  # of each retriever
OF_EACH_KIND = 3
LEAST_COSINE = 0.35  # below, a memory is about something else
LEAST_WORDS = 2  # shared words that make up for that
_LONGEST = 300
_FUSION = 60


async def recall(
    words: str, tools: Collection[str], vector: NDArray[np.float32] | None, *, project: str | None, store: Store
) -> tuple[list[str], list[str]]:
    """Lessons and warnings as lines, the best first."""
    lexical = await store.lexical("memory", " ".join([words, *tools]), limit=CANDIDATES, project=project)
    dense = [] if vector is None else await store.dense("memory", vector, limit=CANDIDATES, project=project)
    order = _fused(lexical, dense)
    held = {memory.id: memory for memory in await store.memories(ids=order)} if order else {}
    cosines, asked = dict(dense), terms(words)
    live = [held[key] for key in order if key in held and held[key].superseded_by is None]
    fitting = [memory for memory in live if _fits(memory.text, asked, tools, cosines.get(memory.id, 0.0))]
    return _lines(fitting, warnings=False), _lines(fitting, warnings=True)


def _fused(lexical: Sequence[tuple[str, float]], dense: Sequence[tuple[str, float]]) -> list[str]:
    """Both lists' ids by reciprocal rank."""
    score: dict[str, float] = {}
    for found in (lexical, dense):
        for place, (key, _) in enumerate(found):
            score[key] = score.get(key, 0.0) + 1 / (_FUSION + place)
    return sorted(score, key=lambda key: -score[key])


def _fits(text: str, asked: Collection[str], tools: Collection[str], cosine: float) -> bool:
    if cosine >= LEAST_COSINE or any(tool in text for tool in tools):
        return True
    return len(terms(text).keys() & set(asked)) >= min(LEAST_WORDS, len(asked) or 1)


def _lines(memories: Sequence[Memory], *, warnings: bool) -> list[str]:
    chosen = [memory for memory in memories if (memory.kind == "warning") == warnings]
    return [one_line(_told(memory), _LONGEST) for memory in chosen[:OF_EACH_KIND]]


def _told(memory: Memory) -> str:
    """The memory with how many episodes bear it out, where its words do not say so."""
    if memory.support < 2 or "(seen in " in memory.text:
        return memory.text
    return f"{memory.text} (seen in {memory.support} episodes)"
