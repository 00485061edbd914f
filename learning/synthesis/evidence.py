"""What past tasks like the one at hand took: which moves they made, and how far such tasks tell at all.

From the nearest past successes (*precedents*) two things are estimated: how likely each move is, by the tasks nearest
to the question as a whole and to each of its clauses, and by a ridge regression on their meaning; and which sets of
moves were made together, by a vote. How far to believe it is measured on the precedents themselves: a ridge regression
on their words predicts each of them from the others (its leave-one-out error has a closed form), and where that is
hardly better than guessing their mean, as with stories that begin alike and end differently, the estimate counts for
nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import fsum, log
from typing import NamedTuple

import numpy as np

from prowess.learning.arrays import Floats, Singles
from prowess.learning.remembered import remembered
from prowess.learning.synthesis.calls import is_lookup, words_of
from prowess.learning.text import terms

__all__ = ["Moves", "Outlook", "Precedent", "moves_of", "particular_free"]

# Weights of a log-linear choice, fitted on the build part of BFCL and rounded; docs/quality-skills.md.
OF_WHOLE = 0.15
OF_CLAUSES = 0.15
OF_MEANING = 0.4
OF_VOTE = 0.8
OF_FREQUENCY = -0.4  # a set that is frequent among the precedents collects votes by its number, not by being near
OF_NAMES = 1.3

RIDGE = 0.15
VOTE_WIDTH = 0.2  # of nearness, in which a vote falls to 1/e
WHOLE_WIDTH = 0.1
CLAUSE_WIDTH = 0.15
FLOOR = 0.02  # no move is surer or more excluded than that
SMALL = 0.01  # the vote of a set that nobody cast
UNTOLD, TOLD = 0.08, 0.2  # leave-one-out R²: below the first it is chance, from the second on it counts in full
LEAST_PRECEDENTS = 8  # tasks; from fewer no error can be measured
LOOKS = 2.0  # lookups of a success, on average: from here on tasks are about finding out what to do
MOST_CLAUSES = 6
LOOKED_AT = 4_000  # characters of a task
PIECE = 200_000  # products of one call; from 262,144 on OpenBLAS starts threads, which turn for 25 ms after their work

_QUOTED = re.compile("(?<!\\w)['\"\u2018\u201c].+?['\"\u2019\u201d](?!\\w)")
_RUN = re.compile(r"\S+")
_TAG = re.compile(r"[#@]\w+")
_TO_LAST_DIGIT = re.compile(r".*\d")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z]\w+(?: [A-Z]\w+)*")
_CLAUSES = re.compile(r"(?<=[.!?;])\s+|,? and then |,? then |, and |\n")

Moves = frozenset[str]


class Precedent(NamedTuple):
    """A past success: its task, what the task said, the moves it took in order, and how near it is (0 to 1).

    ``id`` is the episode's, ``vector`` (dim,) is the unit vector of what the task said, None where it has none.
    """

    task_id: str
    text: str
    moves: tuple[str, ...]
    near: float
    id: str = ""
    vector: Singles | None = None


def moves_of(keys: Collection[str]) -> tuple[str, ...]:
    """Keys of calls taken apart: each program of a command line is a move of its own. In order, without repeats."""
    parts = ((key.partition(":")[0], key.partition(":")[2]) for key in keys)
    found = ([f"{tool}:{program}" for program in line.split("|")] if line else [tool] for tool, line in parts)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def particular_free(text: str) -> str:
    """``text`` without what is its own: quotations, names in mid-sentence, tags, and words with digits."""
    return _NAME.sub(" ", _RUN.sub(_common, _QUOTED.sub(" ", text[:LOOKED_AT])))


def _common(run: re.Match[str]) -> str:
    """A run of letters without tags, and without what from between them on has a digit.

    By one pattern a long run would be looked through from each of its letters on: a pasted line of dashes would keep
    the event loop for a second.
    """
    text, at, kept = run[0], 0, ""
    last = found.end() if (found := _TO_LAST_DIGIT.match(text)) else 0
    while at < last:
        if (tag := _TAG.match(text, at)) is None:
            return f"{kept} "
        kept, at = f"{kept} ", tag.end()
    return kept + _TAG.sub(" ", text[at:])


def _words(text: str) -> frozenset[str]:
    return _read(text[:LOOKED_AT])  # so that what is remembered is no larger than what is read


@remembered(4096)
def _read(text: str) -> frozenset[str]:
    return frozenset(terms(particular_free(text)))


class Outlook:
    """What ``precedents`` say about the task that ``query`` words. ``strength`` is how far to believe it, 0 to 1.

    ``vector`` (dim,) is the query's unit vector; without one, meaning is that of words.
    """

    def __init__(self, query: str, precedents: Sequence[Precedent], vector: Singles | None = None) -> None:
        self._asked = _words(query)
        self.precedents = precedents
        self._groups = _by_task(precedents)
        self.moves = sorted({move for found in precedents for move in found.moves})
        self.strength = 0.0
        self._likely = (_Chances({}), _Chances({}), _Chances({}))
        self._probing = sum(map(_looks, precedents)) >= LOOKS * max(len(precedents), 1)
        self._votes: dict[Moves, float] = defaultdict(float)
        self._counts: dict[Moves, float] = defaultdict(float)
        if len(self._groups) >= LEAST_PRECEDENTS and self.moves:
            self._estimate(query, vector)

    def likely(self) -> list[str]:
        """All moves, the likeliest first."""
        whole, by_clause, _ = self._likely
        return sorted(self.moves, key=lambda move: (-whole.of.get(move, 0) - by_clause.of.get(move, 0), move))

    def sets(self) -> list[Moves]:
        """The sets of moves that were made together, the one with most votes first."""
        return sorted(self._votes, key=lambda moves: (-self._votes[moves], sorted(moves)))

    def expected(self) -> Moves:
        """The moves that are likelier than not, or the likeliest."""
        whole, _, _ = self._likely
        return frozenset(move for move, chance in whole.of.items() if chance > 0.5) or frozenset(self.likely()[:1])

    def speaks_of(self, moves: Moves) -> bool:
        """Whether any precedent made one of these moves."""
        return not moves.isdisjoint(self.moves)

    def score(self, moves: Moves) -> float:
        """How well the set fits, as log-odds up to a constant; 0 where the precedents tell nothing."""
        if not self.strength:
            return 0.0
        parts = zip((OF_WHOLE, OF_CLAUSES, OF_MEANING), self._likely, strict=True)
        log_odds = sum(weight * chances.log_likelihood(moves) for weight, chances in parts)
        vote = OF_VOTE * log(self._votes.get(moves, 0.0) + SMALL)
        frequency = OF_FREQUENCY * log(self._counts.get(moves, 0.0) + 0.5)
        return self.strength * (log_odds + vote + frequency + OF_NAMES * self._named(moves))

    def nearest(self, moves: Moves) -> Precedent | None:
        """The nearest precedent that made just these moves."""
        return next((found for group in self._groups for found in group if frozenset(found.moves) == moves), None)

    def beyond(self, moves: Moves) -> Precedent | None:
        """The nearest precedent that made others than these moves; None where there are too few to tell."""
        if len(self._groups) < LEAST_PRECEDENTS:
            return None
        return next((found for group in self._groups for found in group if not moves.issuperset(found.moves)), None)

    def outcome(self, moves: Moves) -> Moves:
        """What tells the set from others: where precedents look at much before they act, what it does to things."""
        return frozenset(move for move in moves if not is_lookup(move)) if self._probing else moves

    def order(self, moves: Moves) -> dict[str, float]:
        """Where in a task each of ``moves`` usually stands, 0 (first) to 1 (last)."""
        return {move: self._places.get(move, 0.5) for move in moves}

    @cached_property
    def _places(self) -> dict[str, float]:
        places: dict[str, list[float]] = defaultdict(list)
        for found in self.precedents:
            for place, move in enumerate(found.moves):
                places[move].append(place / max(len(found.moves) - 1, 1))
        return {move: sum(known) / len(known) for move, known in places.items()}

    def _named(self, moves: Moves) -> float:
        """The share of the words of the moves' names that the query says, on average over the moves."""
        return fsum(_said(move, self._asked) for move in moves) / len(moves) if moves else 0.0

    def _estimate(self, query: str, vector: Singles | None) -> None:
        groups = self._groups
        made = _shares(groups, self.moves)
        clauses = [_words(part) for part in _clauses(query)]
        rows = _vectors([_words(group[0].text) for group in groups], [self._asked, *clauses])
        known, asked = rows[: len(groups)], rows[len(groups) :]
        told = _told(_kernel(known), made)
        self.strength = float(np.clip((told - UNTOLD) / (TOLD - UNTOLD), 0.0, 1.0))
        near = np.array([group[0].near for group in groups])
        whole = _chances(near[:, None], made, WHOLE_WIDTH)
        by_clause = _chances(known @ asked[1:].T, made, CLAUSE_WIDTH)
        meant, of_question = self._meaning(vector) or (known, asked[0])
        by_meaning = _predicted(meant, of_question, made)
        estimates = (whole, by_clause, by_meaning)
        first, second, third = (_Chances(dict(zip(self.moves, one.tolist(), strict=True))) for one in estimates)
        self._likely = (first, second, third)
        self._vote()

    def _meaning(self, vector: Singles | None) -> tuple[Floats, Floats] | None:
        """Vectors (tasks, dim) of the precedents' tasks and that of the question; None where any lacks one."""
        rows = [group[0].vector for group in self._groups]
        if vector is None or any(row is None or row.shape != vector.shape for row in rows):
            return None
        return np.array(rows, dtype=np.float64), vector.astype(np.float64)

    def _vote(self) -> None:
        nearness = np.array([group[0].near for group in self._groups])
        weights = np.exp((nearness - nearness.max()) / VOTE_WIDTH)
        for group, weight in zip(self._groups, (weights / weights.sum()).tolist(), strict=True):
            for found in group:
                self._votes[frozenset(found.moves)] += weight / len(group)
                self._counts[frozenset(found.moves)] += 1 / len(group)


def _by_task(precedents: Sequence[Precedent]) -> list[list[Precedent]]:
    """Attempts at one task together, the nearest first: they say one thing."""
    groups: dict[str, list[Precedent]] = defaultdict(list)
    for found in sorted(precedents, key=lambda one: (-one.near, one.task_id, one.moves)):
        groups[found.task_id].append(found)
    return list(groups.values())


def _looks(found: Precedent) -> int:
    return sum(map(is_lookup, found.moves))


def _shares(groups: Sequence[Sequence[Precedent]], moves: Sequence[str]) -> Floats:
    """(groups, moves): the share of each task's attempts that made each move."""
    column = {move: place for place, move in enumerate(moves)}
    counts = np.zeros((len(groups), len(moves)))
    for row, group in enumerate(groups):
        for found in group:
            counts[row, [column[move] for move in set(found.moves)]] += 1
    shares: Floats = counts / np.array([[len(group)] for group in groups])
    return shares


def _clauses(query: str) -> list[str]:
    parts = [part for part in _CLAUSES.split(query[:LOOKED_AT]) if len(part.split()) > 2]
    return parts[:MOST_CLAUSES] or [query]


@remembered(4096)
def _name(move: str) -> tuple[str, ...]:
    return tuple(terms(" ".join(words_of(move.partition(":")[2] or move.rsplit("__", 1)[-1]))))


def _said(move: str, asked: Collection[str]) -> float:
    words = _name(move)
    return sum(word in asked for word in words) / len(words) if words else 0.0


def _vectors(known: Sequence[Collection[str]], asked: Sequence[Collection[str]]) -> Floats:
    """One unit row per text, of its words' inverse document frequencies; words that no known text has are left out."""
    counts = Counter(chain.from_iterable(known))
    column = {word: place for place, word in enumerate(sorted(counts))}
    weight = {word: float(np.log((len(known) + 1) / (count + 0.5))) for word, count in counts.items()}
    rows = np.zeros((len(known) + len(asked), max(len(column), 1)))
    for row, text in enumerate(chain(known, asked)):
        for word in text:
            if word in column:
                rows[row, column[word]] = weight[word]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows / np.maximum(lengths, 1e-9)
    return unit


def _kernel(rows: Floats) -> Floats:
    """``rows @ rows.T``."""
    found = np.empty((len(rows), len(rows)))
    size = max(1, PIECE // rows.size)
    for begin in range(0, len(rows), size):
        np.dot(rows[begin : begin + size], rows.T, out=found[begin : begin + size])
    return found


def _told(kernel: Floats, made: Floats) -> float:
    """How much of what was made the words tell: the leave-one-out R² of ridge regression, at least 0."""
    count, mean = len(kernel), made.mean(axis=0)
    hat = kernel @ np.linalg.inv(kernel + RIDGE * np.eye(count))
    left_out = (made - mean - hat @ (made - mean)) / np.maximum(1 - np.diag(hat), 0.05)[:, None]
    guessed = ((made - mean) ** 2).sum() * (count / (count - 1)) ** 2
    return max(1 - float((left_out**2).sum() / guessed), 0.0) if guessed > 0 else 0.0


def _predicted(known: Floats, asked: Floats, made: Floats) -> Floats:
    """What ridge regression on the rows ``known`` (tasks, dim) expects of ``asked`` (dim,): a chance for each move."""
    mean = made.mean(axis=0)
    kernel = _kernel(known) + RIDGE * np.eye(len(known))
    chances: Floats = mean + (known @ asked) @ np.linalg.solve(kernel, made - mean)
    return chances


def _chances(similar: Floats, made: Floats, width: float) -> Floats:
    """The chance that any part of a question takes a move, each part judged by the tasks nearest to it.

    ``similar`` is (tasks, parts); at ``width`` below the most similar, as a share of it, a task counts 1/e.
    """
    top = np.maximum(similar.max(axis=0), 1e-9)
    weights = np.exp((similar / top - 1) / width)
    chances = (weights / weights.sum(axis=0)).T @ made
    some: Floats = 1 - np.prod(1 - chances, axis=0)
    return some


class _Chances:
    """The chance of each move, and how likely sets are if each is taken or not independently of the others."""

    def __init__(self, chances: Mapping[str, float]) -> None:
        self.of = chances
        bounded = {move: min(max(chance, FLOOR), 1 - FLOOR) for move, chance in chances.items()}
        self._none = sum(log(1 - chance) for chance in bounded.values())
        self._taken = {move: log(chance / (1 - chance)) for move, chance in bounded.items()}

    def log_likelihood(self, moves: Moves) -> float:
        """Of exactly these moves."""
        # Exact, since sets have another order in each process.
        return self._none + fsum(self._taken.get(move, log(FLOOR)) for move in moves)
