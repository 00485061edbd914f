"""Embeddings in the catalog: which texts still lack one, and the index of those that have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from prowess.storage.catalog import rows
from prowess.storage.catalog.adapter import Connection, Row
from prowess.storage.catalog.index import Matrix, VectorIndex
from prowess.storage.errors import InvalidInput

__all__ = ["Embedded", "Kind", "Vectors"]

Kind = Literal["skill", "episode", "memory"]

TEXTS: dict[str, str] = {
    "skill": "SELECT t.id, t.name, t.description, t.keywords, t.updated_seq FROM skills t",
    "episode": "SELECT t.id, t.task, '', '[]', t.updated_seq FROM episodes t",
    "memory": "SELECT t.id, t.text, '', '[]', t.updated_seq FROM memories t",
}
WITHOUT_VECTOR = (
    " LEFT JOIN embeddings e ON e.kind = ? AND e.model = ? AND e.id = t.id"
    " WHERE (e.digest IS NULL OR e.digest != t.digest) AND t.digest != ? AND t.updated_seq > ? AND t.updated_seq <= ?"
    " ORDER BY t.updated_seq DESC, t.num DESC LIMIT ?"
)
SAVE = (
    "INSERT INTO embeddings (kind, model, id, dim, vector, digest) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, model, id) DO UPDATE SET"
    " dim = excluded.dim, vector = excluded.vector, digest = excluded.digest"
)
TABLES: dict[str, str] = {"skill": "skills", "episode": "episodes", "memory": "memories"}
EMPTY = rows.digest("")


class Embedded(NamedTuple):
    """Texts that need not be looked at again until they change: those of which no event after ``complete`` tells, and
    those last changed after ``low`` and up to ``high``. Without the latter, a backlog would be gone through anew for
    each few of it."""

    complete: int = -1
    low: int = -1
    high: int = -1

    def after(self, newer: Sequence[Row], older: Sequence[Row], head: int, limit: int) -> Embedded:
        """The same once up to ``limit`` texts were found to lack a vector, some ``newer`` than ``high``."""
        if len(newer) + len(older) < limit:  # that is all
            last = (*newer, *older)[-1:]
            complete = last[0][-1] - 1 if last else head
            return Embedded(complete, complete, complete)
        if older:
            return Embedded(self.complete, older[0][-1], newer[-1][-1] - 1 if newer else head)
        fresh = newer[0][-1]
        if self.low <= self.complete:
            return Embedded(max(self.complete, self.high), fresh, head)
        return Embedded(self.complete, fresh, head) if head - fresh > self.high - self.low else self


class Vectors:
    """Embeddings of one connection's texts."""

    _db: Connection
    _embedded: dict[tuple[str, str], Embedded]
    """By kind and model."""

    def unembedded(self, kind: Kind, model: str, limit: int) -> list[tuple[str, str]]:
        """(id, text) of texts without a vector of ``model``, or with one of an earlier wording, last changed first."""
        known, head = self._embedded.get((kind, model), Embedded()), self._head()
        newer = self._lacking(kind, model, known.high, head, limit)
        older = self._lacking(kind, model, known.complete, known.low, limit - len(newer))
        self._embedded[kind, model] = known.after(newer, older, head, limit)
        return [(row[0], rows.skill_text(row[1], row[2], rows.texts(row[3]))) for row in (*newer, *older)]

    def _lacking(self, kind: Kind, model: str, after: int, upto: int, limit: int) -> list[Row]:
        if limit == 0 or upto <= after:
            return []
        return self._db.execute(TEXTS[kind] + WITHOUT_VECTOR, (kind, model, EMPTY, after, upto, limit))

    def _head(self) -> int:
        [[seq]] = self._db.execute("SELECT coalesce(max(seq), -1) FROM cursor")
        return int(seq)

    def save_embeddings(
        self, kind: Kind, model: str, ids: Sequence[str], matrix: Matrix, texts: Sequence[str] | None = None
    ) -> list[str]:
        """Keep the rows of ``matrix`` (len(ids), dim); returns the ids that were saved, those that still exist.

        ``texts`` are what was embedded: where the wording has changed since, the text is embedded again later. Without
        them the present wording is taken for granted. Raises InvalidInput if the shapes do not agree.
        """
        values = np.ascontiguousarray(matrix, dtype="<f4")
        if values.ndim != 2 or len(values) != len(ids) or not np.isfinite(values).all():
            raise InvalidInput(
                f"embeddings of shape {values.shape} for {len(ids)} ids, or not finite",
                hint="give one finite vector for each id",
            )
        present = self._digests(kind, ids)
        given = present if texts is None else {key: rows.digest(text) for key, text in zip(ids, texts, strict=True)}
        kept = [(key, row) for key, row in zip(ids, values, strict=True) if key in present]
        with self._db.transaction():
            self._db.many(SAVE, [(kind, model, key, len(row), row.tobytes(), given[key]) for key, row in kept])
        return [key for key, _ in kept]

    def load_index(self, kind: Kind, model: str) -> VectorIndex | None:
        """All vectors of ``model`` for rows that exist; None where there is none."""
        found = self._db.execute(
            f"SELECT e.id, t.project, e.vector, e.dim FROM {TABLES[kind]} t CROSS JOIN embeddings e"  # noqa: S608
            " ON e.kind = ? AND e.model = ? AND e.id = t.id ORDER BY t.num",
            (kind, model),
        )
        if not found:
            return None
        dim = found[-1][3]
        same = [row for row in found if row[3] == dim]
        matrix = np.frombuffer(b"".join(row[2] for row in same), dtype="<f4").reshape(-1, dim)
        index = VectorIndex(dim)
        index.upsert([row[0] for row in same], matrix, [row[1] for row in same])
        return index

    def _digests(self, kind: Kind, ids: Sequence[str]) -> dict[str, bytes]:
        query = f"SELECT digest FROM {TABLES[kind]} WHERE id = ?"  # noqa: S608
        return {key: digest for key in ids for (digest,) in self._db.execute(query, (key,))}

    def project_of(self, kind: Kind, key: str) -> str:
        """The project a row belongs to; "" where there is no such row."""
        found = self._db.execute(f"SELECT project FROM {TABLES[kind]} WHERE id = ?", (key,))  # noqa: S608
        return str(found[0][0]) if found else ""
