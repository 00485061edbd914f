"""Search by words: FTS5 with BM25."""

from __future__ import annotations

from prowess.storage.catalog.adapter import Connection
from prowess.storage.catalog.vectors import Kind
from prowess.storage.catalog.words import words

__all__ = ["Lexical"]

MOST_WORDS = 12
"""Only the rarest words of a long query are looked for."""

SEARCHES: dict[str, str] = {
    "skill": (
        "SELECT t.id, bm25(skill_words, 2.0, 1.0) AS cost FROM skill_words JOIN skills t ON t.num = skill_words.rowid"
        " WHERE skill_words MATCH ? AND t.status IN ('draft', 'active')"
    ),
    "memory": (
        "SELECT t.id, bm25(memory_words) AS cost FROM memory_words JOIN memories t ON t.num = memory_words.rowid"
        " WHERE memory_words MATCH ?"
    ),
    # Materialised, since bm25() works only where the table is read, not in an aggregate around it.
    "episode": (
        "WITH hits AS MATERIALIZED (SELECT rowid AS text, bm25(episode_words, 2.0, 1.0) AS cost FROM episode_words"
        " WHERE episode_words MATCH ?) SELECT t.id, min(h.cost) AS cost FROM hits h"
        " JOIN episodes t ON t.num = h.text / 4096 WHERE TRUE"  # TEXTS_PER_EPISODE
    ),
}


class Lexical:
    """Word search over one connection."""

    _db: Connection

    def lexical(self, kind: Kind, query: str, limit: int, project: str | None = None) -> list[tuple[str, float]]:
        """(id, score) of what shares words with ``query``, best first; a higher score is a better match.

        Any text is a query; one without words finds nothing. Skills that are retired or archived are left out. What
        belongs to all projects is found from every ``project``.
        """
        wanted = list(dict.fromkeys(words(query)))[:MOST_WORDS]
        if not wanted or limit <= 0:
            return []
        statement, params = SEARCHES[kind], [_match(wanted)]
        if project is not None:
            statement += " AND t.project IN (?, '')"
            params.append(project)
        if kind == "episode":
            statement += " GROUP BY t.id"
        found = self._db.execute(f"{statement} ORDER BY cost, t.num LIMIT ?", [*params, limit])
        return [(key, -cost) for key, cost in found]


def _match(wanted: list[str]) -> str:
    """An FTS5 expression of plain words: quoted, so that nothing in them is syntax."""
    return " OR ".join(f'"{word}"' for word in wanted)
