"""What retrieval is compared with: BM25, the dense model, and reciprocal-rank fusion of both, over plain texts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["BM25", "best", "reciprocal_rank_fusion"]

K1, B = 1.2, 0.75
RRF_K = 60
KEPT = 100  # of each list

Words = Callable[[str], Sequence[str]]
_Weights = tuple[NDArray[np.int64], NDArray[np.float64]]  # the places that have a word, and what it counts there


class BM25:
    """Okapi BM25 over ``texts``; ``words`` takes texts apart."""

    def __init__(self, texts: Sequence[str], words: Words) -> None:
        self._words, self._size = words, len(texts)
        counts = [Counter(words(text)) for text in texts]
        lengths = np.array([sum(count.values()) for count in counts], np.float64)
        relative = 1 - B + B * lengths / max(float(lengths.mean()), 1e-9)
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for word, often in count.items():
                found[word].append((place, often))
        self._weights = {word: self._weigh(hits, relative) for word, hits in found.items()}

    def _weigh(self, hits: Sequence[tuple[int, int]], relative: NDArray[np.float64]) -> _Weights:
        places = np.array([place for place, _ in hits])
        often = np.array([count for _, count in hits], np.float64)
        rarity = math.log(1 + (self._size - len(hits) + 0.5) / (len(hits) + 0.5))
        return places, rarity * often * (K1 + 1) / (often + K1 * relative[places])

    def scores(self, query: str) -> NDArray[np.float64]:
        """One score for each text."""
        total = np.zeros(self._size)
        for word in dict.fromkeys(self._words(query)):
            if word in self._weights:
                places, weights = self._weights[word]
                total[places] += weights
        return total


def best(scores: NDArray[np.float64], lots: NDArray[np.int64], *, above: float = -math.inf) -> list[int]:
    """The places of the highest scores, best first, at most 100; of equal ones that with the lower of ``lots`` first.

    ``lots`` has one number for each place: an order drawn at random, since that of a pool may tell what is right.
    """
    order = np.lexsort((lots, -scores))[:KEPT]
    return [int(place) for place in order if scores[place] > above]


def reciprocal_rank_fusion(*lists: Sequence[int], lots: NDArray[np.int64]) -> list[int]:
    """Places by the sum of 1 / (60 + rank) over ``lists``; equal ones as in `best`.

    Sums are often equal: two that one list has first and second, the other second and first, always are.
    """
    total: dict[int, float] = defaultdict(float)
    for found in lists:
        for rank, place in enumerate(found, 1):
            total[place] += 1 / (RRF_K + rank)
    return sorted(total, key=lambda place: (-total[place], lots[place]))
