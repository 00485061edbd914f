"""Search by words: FTS5 with BM25.

A frequent word says little and costs much: among 100,000 skills BM25 takes 30 ms to rank the matches of one that half
of them have. So a query is reduced to its rarest words, as many as stay within a budget of matches.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from prowess.storage.catalog.adapter import Connection, Row
from prowess.storage.catalog.vectors import Kind
from prowess.storage.catalog.words import words

__all__ = ["Lexical"]

CHARACTERS_READ = 20_000
"""Of a query; what an agent asks is shorter, and what it pastes says at the beginning what it is about."""

WORDS_READ = 64
"""Distinct words of a query that are looked for; a longer text repeats itself."""

MATCHES = 5000
"""Rows that are ranked at most, about 1 µs each."""

FIRST = 4
"""Times as many matches as are wanted are looked at before any is left out for its status or project."""

REMEMBERED = 50_000
"""Word frequencies of a kind kept in memory."""

TABLES: dict[Kind, str] = {"skill": "skills", "episode": "episodes", "memory": "memories"}

# The plus signs keep conditions out of the index search, which would probe once for each of their values; all that is
# read of a match stands in the index. Materialised, since bm25() works only where the table is read, not in an
# aggregate around it. The cap takes the newest, and matters only where every word is frequent.
# 4096 is words.TEXTS_PER_EPISODE.
SEARCHES: dict[Kind, str] = {
    "skill": (
        "WITH hits AS MATERIALIZED (SELECT t.num, bm25(skill_words, 2.0, 1.0) AS cost FROM skill_words"
        " CROSS JOIN skills t INDEXED BY skills_visible ON t.num = skill_words.rowid"
        " WHERE skill_words MATCH ? AND +t.status IN ('draft', 'active')"
    ),
    "memory": (
        "WITH hits AS MATERIALIZED (SELECT t.num, bm25(memory_words) AS cost FROM memory_words"
        " CROSS JOIN memories t INDEXED BY memories_visible ON t.num = memory_words.rowid WHERE memory_words MATCH ?"
    ),
    "episode": (
        "WITH hits AS MATERIALIZED (SELECT t.num, bm25(episode_words, 2.0, 1.0) AS cost FROM episode_words"
        " CROSS JOIN episodes t INDEXED BY episodes_visible ON t.num = episode_words.rowid / 4096"
        " WHERE episode_words MATCH ?"
    ),
}
BEST = (
    " ORDER BY {kind}_words.rowid DESC LIMIT ?),"
    " best AS MATERIALIZED (SELECT num, {cost} ORDER BY cost, num LIMIT ?)"
    " SELECT t.id, b.cost FROM best b JOIN {table} t ON t.num = b.num ORDER BY b.cost, b.num"
)
BEST_OF_ALL = (
    " ORDER BY cost, t.num LIMIT ?)"
    " SELECT t.id, h.cost FROM hits h JOIN {table} t ON t.num = h.num ORDER BY h.cost, h.num"
)
# Of skills. To look up whether a match may be seen takes a third of the time, so the best of all come first: where
# enough of them may be seen, no other match matters.
BEST_FIRST = (
    "WITH first AS MATERIALIZED (SELECT rowid AS num, bm25(skill_words, 2.0, 1.0) AS cost FROM skill_words"
    " WHERE skill_words MATCH ? ORDER BY cost, num LIMIT ?)"
    " SELECT t.id, f.cost, (SELECT count(*) FROM first) FROM first f"
    " CROSS JOIN skills t INDEXED BY skills_visible ON t.num = f.num WHERE +t.status IN ('draft', 'active')"
)
BEST_FIRST_ENDS = " ORDER BY f.cost, f.num LIMIT ?"
OF_PROJECT = " AND +t.project IN (?, '')"
COSTS: dict[Kind, str] = {
    "skill": "cost FROM hits",
    "memory": "cost FROM hits",
    "episode": "min(cost) AS cost FROM hits GROUP BY num",  # of its texts the best
}
FREQUENCY = "SELECT count(*) FROM {kind}_words WHERE {kind}_words MATCH ?"


class Lexical:
    """Word search over one connection."""

    _db: Connection
    _frequencies: dict[Kind, dict[str, int]]
    """By kind, until one of its texts changes."""
    _narrow: set[tuple[str, ...]]
    """Projects that see few of the best skills, so that it is not tried again until one changes."""

    def lexical(self, kind: Kind, query: str, limit: int, project: str | None = None) -> list[tuple[str, float]]:
        """(id, score) of what shares words with ``query``, best first; a higher score is a better match.

        Any text is a query; one without words finds nothing. Skills that are retired or archived are left out. What
        belongs to all projects is found from every ``project``.
        """
        wanted = list(dict.fromkeys(words(query[:CHARACTERS_READ])))[:WORDS_READ]
        frequencies = {word: count for word in wanted if (count := self._frequency(kind, word))}
        if not frequencies or limit <= 0:
            return []
        expression = _expression(frequencies)
        # Only where even the rarest word is too frequent can there be more matches than are ranked.
        whole = kind != "episode" and min(frequencies.values()) <= MATCHES
        scope = [] if project is None else [project]
        found = self._best_first(expression, scope, limit) if whole and kind == "skill" else None
        if found is None:
            found = self._best(kind, expression, scope, limit, whole)
        return [(key, -cost) for key, cost, *_ in found]

    def _best(self, kind: Kind, expression: str, scope: Sequence[str], limit: int, whole: bool) -> list[Row]:
        """(id, cost) of the best matches, of all that may be seen (``whole``) or of the newest of those."""
        statement = SEARCHES[kind] + (OF_PROJECT if scope else "")
        statement += (BEST_OF_ALL if whole else BEST).format(kind=kind, table=TABLES[kind], cost=COSTS[kind])
        return self._db.execute(statement, [expression, *scope, *([] if whole else [MATCHES]), limit])

    def _best_first(self, expression: str, scope: Sequence[str], limit: int) -> list[Row] | None:
        """The same of all skills that may be seen, or None where too few of the best matches may be to tell."""
        if tuple(scope) in self._narrow:
            return None
        statement = BEST_FIRST + (OF_PROJECT if scope else "") + BEST_FIRST_ENDS
        found = self._db.execute(statement, [expression, FIRST * limit, *scope, limit])
        if len(found) == limit or (found and found[0][2] < FIRST * limit):
            return found
        if found:
            self._narrow.add(tuple(scope))
        return None

    def frequencies(self, kind: Kind, texts: Sequence[str]) -> tuple[dict[str, int], int]:
        """How many texts have each of ``texts``' words (of one taken apart the most frequent), and how many there are.

        Both only about: what was forgotten may still count.
        """
        [[total]] = self._db.execute(f"SELECT coalesce(max(num), 0) FROM {TABLES[kind]}")  # noqa: S608
        return {text: max((self._frequency(kind, word) for word in words(text)), default=0) for text in texts}, total

    def _frequency(self, kind: Kind, word: str) -> int:
        """How many texts have ``word``; remembered, since only the order of magnitude matters."""
        known = self._frequencies.setdefault(kind, {})
        if word not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            [[known[word]]] = self._db.execute(FREQUENCY.format(kind=kind), (_quoted(word),))
        return known[word]

    def _forget_frequencies(self, kinds: Collection[Kind]) -> None:
        for kind in kinds:
            self._frequencies.pop(kind, None)
        if "skill" in kinds:
            self._narrow.clear()


def _expression(frequencies: dict[str, int]) -> str:
    """An FTS5 expression for the rarest words: any of them, or all where even the rarest is too frequent."""
    rarest = sorted(frequencies, key=lambda word: frequencies[word])
    if frequencies[rarest[0]] > MATCHES:
        return " AND ".join(map(_quoted, rarest[:2]))
    used: list[str] = []
    matches = 0
    for word in rarest:
        matches += frequencies[word]
        if matches > MATCHES:
            break
        used.append(word)
    return " OR ".join(map(_quoted, used))


def _quoted(word: str) -> str:
    """Quoted, so that nothing in a word is syntax; words have no quotes in them."""
    return f'"{word}"'
