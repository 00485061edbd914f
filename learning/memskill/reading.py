"""Answers by a reader in the place of extracted ones: what a language model makes of what memory found.

The reader is the caller's (``prowess.training.reader_language``); here is what its scores change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from prowess.learning.memskill.memory import MemoryBank
from prowess.learning.memskill.reward import Asked, Budget, Worth, answering, mean
from prowess.learning.memskill.units import Query

__all__ = ["Reader", "read"]


class Reader(Protocol):
    """Answers queries from what memory found for them, better than words alone do."""

    def scores(self, asked: Sequence[tuple[Query, Sequence[str]]]) -> Sequence[float | None]:
        """For each query with the memories found, best first, how good the answer is, in [0, 1]; None: unknown."""
        ...

    def told(self) -> dict[str, float]:
        """Counts for the metrics, since the last time."""
        ...


def read(worth: Worth, memory: MemoryBank, budget: Budget, reader: Reader) -> Worth:
    """``worth`` with the reader's scores in place of F1, as far as it has any; queries without an answer stay."""
    places = [place for place, asked in enumerate(worth.asked) if asked.f1 is not None]
    queries = [worth.asked[place].query for place in places]
    scores = reader.scores([(query, [item.text for item in answering(memory, query, budget)]) for query in queries])
    asked = list(worth.asked)
    for place, score in zip(places, scores, strict=True):
        if score is not None:
            asked[place] = _scored(asked[place], score)
    f1 = [each.f1 for each in asked if each.f1 is not None]
    return replace(worth, reward=mean([each.reward for each in asked]), f1=mean(f1), asked=tuple(asked))


def _scored(asked: Asked, score: float) -> Asked:
    reward = (1 - asked.f1_share) * asked.recall + asked.f1_share * score
    return replace(asked, f1=score, reward=reward)
