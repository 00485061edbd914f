"""Nearest vectors, exactly: one matrix product over all of them.

At 10,000 rows of 384 this takes under 1 ms and at 100,000 about 10 ms, less than an approximate index costs to keep.

BLAS makes the product of all rows. Its last digits hang on the processor and on a row's place, so it only tells which
rows may be among the best; those are compared once more, each by itself, and that is their score.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "VectorIndex"]

Matrix = NDArray[np.float32]

SMALLEST = 64
"""Rows that are set aside at first; the room doubles when it is used up."""

BLOCK = 1_024 * 384
"""Numbers that several questions are compared with in turn: 1.5 MB, which stay in the processor's cache meanwhile. With
more OpenBLAS would start threads of its own, which keep turning for long after their work."""

SHARED = 8 * BLOCK
"""Numbers from which on two threads compare half of the rows each: more than a millisecond for one of them."""

ROUNDING = 2.0**-24
"""The share by which one float32 product or sum may be off."""


class VectorIndex:
    """Unit vectors by id, each with the project it belongs to; searched by cosine.

    Not locked: writers and readers take turns. A deleted row's place is taken by the last row, so that the matrix
    has no holes.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._matrix: Matrix = np.empty((SMALLEST, dim), dtype=np.float32)
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._projects: list[str] = []
        self._masks: dict[str, NDArray[np.bool_]] = {}
        self._beside: ThreadPoolExecutor | None = None  # its thread ends with it

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def upsert(self, ids: Sequence[str], matrix: Matrix, projects: Sequence[str] | None = None) -> None:
        """Add or replace rows: ``matrix`` is (len(ids), dim), ``projects`` "" for all where not given."""
        if matrix.shape != (len(ids), self.dim):
            raise ValueError(f"vectors of shape {matrix.shape} for {len(ids)} ids of dimension {self.dim}")
        rows = [self._row(key) for key in ids]
        self._reserve(len(self._ids))
        for row, project in zip(rows, projects or [""] * len(ids), strict=True):
            self._projects[row] = project
        self._matrix[rows] = _unit(matrix)
        self._masks.clear()

    def delete(self, key: str) -> None:
        """Take a row out, if it is there."""
        row = self._rows.pop(key, None)
        if row is None:
            return
        last_id, last_project = self._ids.pop(), self._projects.pop()
        if row < len(self._ids):
            self._matrix[row] = self._matrix[len(self._ids)]
            self._ids[row], self._projects[row], self._rows[last_id] = last_id, last_project, row
        self._masks.clear()

    def search(self, vector: Matrix, k: int, *, project: str | None = None) -> list[tuple[str, float]]:
        """The ``k`` nearest ids with their cosines, best first; of ``project`` and those for all projects if given."""
        return self.searches(vector.reshape(1, self.dim), [k], project=project)[0]

    def searches(
        self, vectors: Matrix, limits: Sequence[int], *, project: str | None = None
    ) -> list[list[tuple[str, float]]]:
        """``search`` for each of ``vectors`` (n, dim), the matrix read once for all of them."""
        norms = [float(np.linalg.norm(vector)) for vector in vectors]
        useful = [
            place
            for place, (norm, k) in enumerate(zip(norms, limits, strict=True))
            if self._ids and 0 < norm < np.inf and k > 0
        ]
        units = [(vectors[place] / norms[place]).astype(np.float32) for place in useful]
        found: list[list[tuple[str, float]]] = [[] for _ in limits]
        for place, unit, rough in zip(useful, units, self._rough(units), strict=True):
            found[place] = self._best(rough, unit, limits[place], project)
        return found

    def _rough(self, units: Sequence[Matrix]) -> Matrix:
        """(len(units), rows): of each with every row, off by no more than ``_slack`` allows for."""
        count = len(self._ids)
        scores = np.empty((len(units), count), dtype=np.float32)
        if count * self.dim < SHARED:
            self._compare(units, scores, range(count))
            return scores
        self._beside = self._beside or ThreadPoolExecutor(1, "prowess-vectors")
        rest = self._beside.submit(self._compare, units, scores, range(count // 2, count))
        self._compare(units, scores, range(count // 2))
        rest.result()
        return scores

    def _compare(self, units: Sequence[Matrix], scores: Matrix, rows: range) -> None:
        """Fill in the scores of ``rows``, a block at a time."""
        size = max(1, BLOCK // self.dim)
        for begin in range(rows.start, rows.stop, size):
            block = slice(begin, min(begin + size, rows.stop))
            for place, unit in enumerate(units):
                np.dot(self._matrix[block], unit, out=scores[place, block])

    def _best(self, rough: Matrix, unit: Matrix, k: int, project: str | None) -> list[tuple[str, float]]:
        if project is not None:
            rough = np.where(self._mask(project), rough, -np.inf)
        rows = _near(rough, k, self._slack)
        scores = self._exact(rows, unit)
        order = np.argsort(-scores, kind="stable")[:k]  # equal ones in the order of the rows
        return [(self._ids[rows[place]], float(scores[place])) for place in order]

    @property
    def _slack(self) -> float:
        """The most by which two rows' rough scores can be apart though their true order is the other one.

        Each of four sums, two rough and two true, is off by at most ``dim`` roundings (and those of two unit lengths).
        """
        return 4 * (self.dim + 8) * ROUNDING

    def _exact(self, rows: NDArray[np.intp], unit: Matrix) -> Matrix:
        """The scores of ``rows``, the same to the last digit wherever a row stands."""
        scores = np.empty(len(rows), dtype=np.float32)
        size = max(1, BLOCK // self.dim)
        for begin in range(0, len(rows), size):
            block = slice(begin, begin + size)
            np.einsum("ij,j->i", self._matrix[rows[block]], unit, out=scores[block])
        return scores

    def cosines(self, vectors: Matrix, ids: Sequence[str]) -> Matrix:
        """(len(vectors), len(ids)): of unit ``vectors`` (n, dim) with those of ``ids``; NaN where one has none."""
        found = np.full((len(vectors), len(ids)), np.nan, dtype=np.float32)
        known = [place for place, key in enumerate(ids) if key in self._rows]
        if known:
            rows = self._matrix[[self._rows[ids[place]] for place in known]]
            found[:, known] = np.einsum("ij,kj->ik", vectors, rows)
        return found

    def vectors(self, ids: Sequence[str]) -> dict[str, Matrix]:
        """The unit vectors (dim,) of those of ``ids`` that have one."""
        return {key: self._matrix[self._rows[key]].copy() for key in ids if key in self._rows}

    def _row(self, key: str) -> int:
        row = self._rows.setdefault(key, len(self._ids))
        if row == len(self._ids):
            self._ids.append(key)
            self._projects.append("")
        return row

    def _reserve(self, count: int) -> None:
        room = len(self._matrix)
        if count > room:
            grown = np.empty((max(count, 2 * room), self.dim), dtype=np.float32)
            grown[:room] = self._matrix
            self._matrix = grown

    def _mask(self, project: str) -> NDArray[np.bool_]:
        if project not in self._masks:
            visible = [name in ("", project) for name in self._projects]
            self._masks[project] = np.array(visible, dtype=np.bool_)
        return self._masks[project]


def _unit(matrix: Matrix) -> Matrix:
    values = np.asarray(matrix, dtype=np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
    return (values / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)


def _near(rough: Matrix, k: int, slack: float) -> NDArray[np.intp]:
    """Rows, in their order, that may be among the ``k`` best; those at minus infinity are not."""
    least = -np.inf
    if k < len(rough):
        least = float(np.partition(rough, len(rough) - k)[len(rough) - k]) - slack
    return np.flatnonzero(rough >= least) if least > -np.inf else np.flatnonzero(rough > -np.inf)
