"""Lessons and warnings that fit a question, or one of the tools that its answer would use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from prowess.learning.counting import counted
from prowess.learning.ranking_evidence import Document, gather, parts_of, rarity
from prowess.learning.ranking_fusion import fused
from prowess.learning.text import terms
from prowess.storage.models import Memory
from prowess.tools.skills import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prowess.storage.store import Store

__all__ = ["recall"]

CANDIDATES = 30  # of each retriever
OF_EACH_KIND = 3
LEAST_COSINE = 0.35  # below, a memory is about something else
LEAST_WORDS = 2  # shared words that make up for that
_LONGEST = 300


async def recall(
    words: str, tools: Collection[str], vector: NDArray[np.float32] | None, *, project: str | None, store: Store
) -> tuple[list[str], list[str]]:
    """Lessons and warnings as lines, the best first."""
    lexical, dense = await store.either("memory", " ".join([words, *tools]), vector, limit=CANDIDATES, project=project)
    cosines, asked = dict(dense), terms(words)
    found = {key for key, _ in [*lexical, *dense]}
    held = await store.memories(ids=sorted(found)) if found else []
    live = [memory for memory in held if memory.superseded_by is None]
    fitting = [memory for memory in live if _fits(memory.text, asked, tools, cosines.get(memory.id, 0.0))]
    best = await _ordered(" ".join([words, *tools]), fitting, cosines, store)
    return _lines(best, warnings=False), _lines(best, warnings=True)


async def _ordered(words: str, memories: list[Memory], cosines: dict[str, float], store: Store) -> list[Memory]:
    """The best first, by the score that skills are ranked with."""
    if not memories:
        return []
    parts = parts_of(words)[:1]
    stems = terms(parts[0])
    counts, total = await store.frequencies("memory", list(stems.values()))
    rare = rarity({stem: counts[word] for stem, word in stems.items()}, total)
    last = min(cosines.values(), default=0.0)
    near = np.array([[cosines.get(memory.id, last) for memory in memories]]) if cosines else None
    evidence = gather(parts, [Document(memory.id, "", memory.text) for memory in memories], near, rare)
    scores = dict(zip([memory.id for memory in memories], fused(evidence).tolist(), strict=True))
    return sorted(memories, key=lambda memory: (-scores[memory.id], memory.id))


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
    return f"{memory.text} (seen in {counted(memory.support, 'episode')})"
