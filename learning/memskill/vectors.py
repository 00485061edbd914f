"""Vectors for texts where no embedding model is wanted, and a cache in front of one."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from prowess.learning.memskill.units import Vector, Vectors, terms_of

__all__ = ["HASHED", "HASHED_DIM", "Cached", "hashed"]

HASHED = "hashed-words-1"  # the name of the vectors that need no model

HASHED_DIM = 256


def hashed(texts: Sequence[str]) -> Vector:
    """One row per text: its terms, each hashed to three places with a sign (feature hashing), at length 1.

    Texts that share no word are near to orthogonal. A text without words gets the first axis.
    """
    rows = np.zeros((len(texts), HASHED_DIM), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for term in terms_of(text):
            for seed in (1, 2, 3):
                place = zlib.crc32(term.encode(), seed)
                row[place % HASHED_DIM] += 1.0 if place >> 31 else -1.0
        if not row.any():
            row[0] = 1.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


class Cached:
    """Vectors that are made once per text, as many at a time as are asked for."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._known: dict[str, Vector] = {}

    def __call__(self, texts: Sequence[str]) -> Vector:
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, self._vectors(missing), strict=True))
        if not texts:
            return self._vectors([])
        return np.stack([self._known[text] for text in texts])
