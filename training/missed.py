"""What memory missed, and what nobody asks for: the two sides that a designer's words are to tell apart.

Where most of the missed units hold in one sentence what was asked of them, the sides are sentences: the ones that
answer, against all others. So the length that a skill keeps comes from the evidence, as its words do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prowess.learning.memskill.excerpts import excerpt, sentences_of
from prowess.learning.memskill.reward import tells
from prowess.learning.memskill.units import Query, Trace, Unit
from prowess.training.words import owner_of

__all__ = ["Missed", "answering", "missed_of"]

# Of the missed units with several sentences: the share that must answer in one of them, and how many are enough to say.
ENOUGH, LEAST_LONG = 0.7, 10
LONG = 5  # terms from which a sentence's length speaks against it


@dataclass(slots=True)
class Missed:
    """``wanted`` was missed, ``idle`` is asked for by no query; ``owners`` has whose each is, by ``id``.

    ``brief`` tells that they are sentences, since one of each is enough.
    """

    brief: bool = False
    wanted: list[Unit] = field(default_factory=list)
    idle: list[Unit] = field(default_factory=list)
    owners: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A unit of a trace, and the queries that missed it; ``needed`` tells whether any query at all needs it."""

    unit: Unit
    owner: str
    queries: list[Query]
    needed: bool


def missed_of(missed: Mapping[str, Mapping[int, frozenset[str]]], traces: Mapping[str, Trace]) -> Missed:
    """The two sides, given for each trace by name and query by place the sources that were missed."""
    asked = [each for name in sorted(missed.keys() & traces.keys()) for each in _units(traces[name], missed[name])]
    long = [(each.unit, query) for each in asked for query in each.queries if len(sentences_of(each.unit.text)) > 1]
    answered = sum(answering(unit, query) is not None for unit, query in long)
    found = Missed(brief=len(long) >= LEAST_LONG and answered >= ENOUGH * len(long))
    for each in asked:
        wanted, idle = _sides(each, found.brief)
        found.wanted += wanted
        found.idle += idle
        found.owners.update((id(unit), each.owner) for unit in (*wanted, *idle))
    return found


def _units(trace: Trace, missed: Mapping[int, frozenset[str]]) -> Iterator[_Asked]:
    needed = {source for query in trace.queries for group in query.evidence for source in group}
    for unit in (unit for span in trace.spans for unit in span.units):
        queries = [trace.queries[place] for place in sorted(missed) if missed[place].intersection(unit.sources)]
        yield _Asked(unit, owner_of(unit, trace.id), queries, bool(needed.intersection(unit.sources)))


def _sides(asked: _Asked, brief: bool) -> tuple[list[Unit], list[Unit]]:
    """What of a unit was missed, and what is idle: a missed unit that answers in no single sentence is missed whole."""
    if not brief:
        return ([asked.unit], []) if asked.queries else ([], [] if asked.needed else [asked.unit])
    if not asked.queries:
        return [], [] if asked.needed else _apart(asked.unit)
    answers = [answering(asked.unit, query) for query in asked.queries]
    wanted = {each.text: each for each in answers if each is not None}
    if not wanted:
        return [asked.unit], []
    return list(wanted.values()), [each for each in _apart(asked.unit) if each.text not in wanted]


def answering(unit: Unit, query: Query) -> Unit | None:
    """The one sentence of ``unit`` that has all that the query needs of it, of several the one nearest to the query."""
    fitting = [each for each in _apart(unit) if tells(each, query)]
    asked = query.terms | query.answer_terms
    return max(fitting, key=lambda each: len(each.terms & asked) / (LONG + len(each.terms)), default=None)


def _apart(unit: Unit) -> list[Unit]:
    sentences = sentences_of(unit.text)
    return [excerpt(unit, sentences, [place]) for place in range(len(sentences))] if len(sentences) > 1 else [unit]
