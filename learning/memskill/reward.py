"""What a memory is worth: how much of the evidence that queries need it finds, and how near its words are to answers.

Evidence recall@k is the share of a query's evidence among the sources of the first k items that fit into the answer's
token budget. Answer F1 is the F1 of tokens (Rajpurkar et al. 2016, 2.3) between the gold answer and an extracted one:
the words of the best unit of the first item that are not in the question. It needs no model; a reader would do better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from prowess.learning.memskill.memory import Item, MemoryBank
from prowess.learning.memskill.units import Query, Span, Unit
from prowess.learning.remembered import remembered
from prowess.learning.text import words

__all__ = ["Asked", "Budget", "Worth", "answering", "credit", "judge", "mean", "tells", "token_f1"]

ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """At most ``k`` items and ``tokens`` tokens may answer a query; recall counts 1 - ``f1_share``, F1 the rest."""

    k: int = 10
    tokens: int = 1_000
    f1_share: float = 0.2


@dataclass(frozen=True, slots=True)
class Asked:
    """How one query went. ``missed`` are the members of its evidence that were not found, ``held`` those of them that
    are in memory all the same; ``found`` the sources of its evidence that were. ``f1`` is None for a query without an
    answer, and counts ``f1_share`` of the reward.
    """

    query: Query
    recall: float
    f1: float | None
    reward: float
    missed: tuple[frozenset[str], ...] = ()
    held: tuple[frozenset[str], ...] = ()
    found: frozenset[str] = frozenset()
    f1_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Worth:
    """Means over queries; 0 without queries."""

    reward: float
    recall: float
    f1: float
    asked: tuple[Asked, ...] = ()


def judge(memory: MemoryBank, queries: Sequence[Query], budget: Budget) -> Worth:
    """Ask ``memory`` all ``queries``."""
    asked = tuple(_ask(memory, query, budget) for query in queries)
    if not asked:
        return Worth(0.0, 0.0, 0.0)
    f1 = [each.f1 for each in asked if each.f1 is not None]
    return Worth(mean([each.reward for each in asked]), mean([each.recall for each in asked]), mean(f1), asked)


def _ask(memory: MemoryBank, query: Query, budget: Budget) -> Asked:
    """Ask one query, which has some evidence."""
    found = answering(memory, query, budget)
    sources = _told(found, query)
    missed = tuple(group for group in query.evidence if not group & sources)
    recall = 1 - len(missed) / len(query.evidence)
    everything = _told(memory.items.values(), query) if missed else sources
    held = tuple(group for group in missed if group & everything)
    f1 = token_f1(_extracted(found, query), query.answer) if query.answer else None
    share = budget.f1_share if f1 is not None else 0.0
    needed = frozenset[str]().union(*query.evidence) & sources
    return Asked(query, recall, f1, (1 - share) * recall + share * (f1 or 0.0), missed, held, needed, share)


def _told(items: Iterable[Item], query: Query) -> frozenset[str]:
    """The sources that ``items`` still tell of as far as the query needs."""
    return frozenset[str]().union(
        *(
            frozenset(source for unit in item.units if tells(unit, query) for source in unit.sources)
            if item.lost
            else item.sources
            for item in items
        )
    )


def tells(unit: Unit, query: Query) -> bool:
    """Whether an excerpt has all that its whole had of the answer's words, or where it had none, of the question's.

    So an excerpt of another sentence than the one that answers is no evidence. A unit that is whole always tells.
    """
    needed = query.answer_terms & (unit.terms | unit.lost) or query.terms
    return not needed & unit.lost


def answering(memory: MemoryBank, query: Query, budget: Budget) -> list[Item]:
    """The items that may answer, the best first, as far as they fit into the budget."""
    found = [each.item for each in memory.search(query.vector, query.terms, budget.k)]
    tokens = accumulate(item.tokens for item in found)
    return [item for item, so_far in zip(found, tokens, strict=True) if so_far <= budget.tokens]


def _extracted(found: Sequence[Item], query: Query) -> str:
    if not found:
        return ""
    best = max(found[0].units, key=lambda unit: _fit(unit, query))
    asked = _tokens(query.text)
    return " ".join(word for word in _tokens(best.text) if word not in asked)


def _fit(unit: Unit, query: Query) -> float:
    return float(unit.vector @ query.vector) + len(unit.terms & query.terms) / (1 + len(query.terms))


def token_f1(said: str, gold: str) -> float:
    """Harmonic mean of precision and recall of tokens, in [0, 1]; articles and case don't count."""
    given, wanted = (Counter(word for word in _tokens(text) if word not in ARTICLES) for text in (said, gold))
    common = sum((given & wanted).values())
    return 2 * common / (given.total() + wanted.total()) if common else 0.0


@remembered(32_768)
def _tokens(text: str) -> tuple[str, ...]:
    """The words of a text, kept: the same questions are asked of many memories."""
    return tuple(words(text))


def credit(spans: Sequence[Span], worth: Worth) -> list[float]:
    """A trace's reward over its spans: to each what the evidence from it, found at the end, earned.

    Evidence that was kept and then dropped earns nothing, so a span is paid for what lasts. What no single span earned
    (answer F1) is spread evenly. The sum is the reward.
    """
    place = {source: at for at, span in enumerate(spans) for unit in span.units for source in unit.sources}
    earned = np.zeros(len(spans))
    for asked in worth.asked:
        share = (asked.reward - (asked.f1 or 0.0) * asked.f1_share) / len(worth.asked)
        groups = [[place[source] for source in sorted(group & asked.found)] for group in asked.query.evidence]
        found = [places for places in groups if places]
        for places in found:
            np.add.at(earned, places, share / len(found) / len(places))
    earned += (worth.reward - earned.sum()) / max(len(spans), 1)
    return [float(each) for each in earned]


def mean(values: Sequence[float]) -> float:
    """0 without values."""
    return sum(values) / len(values) if values else 0.0
