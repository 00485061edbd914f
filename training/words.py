"""Which words tell one set of units from another: a logistic regression over words, read off in two tiers.

Words rather than vectors, because a memory skill is text; a regression rather than counts, because words come in
company and only one of the company is the reason. docs/memskill.md has what the tiers lose against the whole weights.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prowess.learning.memskill.units import Unit
from prowess.learning.text import terms

__all__ = ["Telling", "owner_of", "telling_words"]

FIRST, SECOND = 10, 20  # words of the first and the second tier
LEAST_UNITS = 5  # a rarer word is chance
# A word must be that of several episodes or conversations, half of them where there are few: what one alone says is its
# own affair, maybe a secret, and a name that two share tells nothing of a third.
FEWEST_OWNERS, ENOUGH_OWNERS = 2, 5
PENALTY = 0.002  # on the squared weights, per unit
RATE, ROUNDS = 2.0, 300
LEAST_WEIGHT = 0.1
MOST_UNITS = 20_000  # of the larger side; more change nothing that a word says

_PLAIN = re.compile(r"[a-z]{3,20}")


@dataclass(frozen=True, slots=True)
class Telling:
    """Words, most telling first: ``wanted`` speak for the positives, ``unwanted`` against them."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()


def owner_of(unit: Unit, trace: str) -> str:
    """Whose a unit is: its episode, or the trace where sources are not those of steps."""
    episode, mark, _ = unit.sources[0].rpartition("#")
    return episode if mark else trace


def telling_words(positives: Sequence[Unit], negatives: Sequence[Unit], owners: Mapping[int, str]) -> Telling:
    """The telling words of ``positives``. ``owners`` has for each unit (by ``id``) whose it is."""
    negatives = negatives[:: -(-len(negatives) // MOST_UNITS) or 1]
    units = [*positives, *negatives]
    words = _vocabulary(units, owners)
    if not positives or not negatives or not words:
        return Telling()
    places = {stem: column for column, stem in enumerate(words)}
    has = np.zeros((len(units), len(words) + 1), np.float32)
    for row, unit in zip(has, units, strict=True):
        row[[places[stem] for stem in unit.terms if stem in places]] = 1.0
        row[-1] = unit.tokens / 50  # long units have more of all words: not a merit of each
    wanted = np.zeros(len(units), np.float32)
    wanted[: len(positives)] = 1.0
    weights = _regress(has, wanted)[:-1]
    order = np.argsort(-weights, kind="stable")
    shown = list(words.values())
    most = FIRST + SECOND
    return Telling(
        tuple(shown[index] for index in order[:most] if weights[index] > LEAST_WEIGHT),
        tuple(shown[index] for index in order[::-1][:most] if weights[index] < -LEAST_WEIGHT),
    )


def _vocabulary(units: Sequence[Unit], owners: Mapping[int, str]) -> dict[str, str]:
    """Stem to its commonest word, of stems common enough that are plain words."""
    counts: Counter[str] = Counter()
    whose: defaultdict[str, set[str]] = defaultdict(set)
    spelled: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for unit in units:
        counts.update(unit.terms)
        for stem in unit.terms:
            whose[stem].add(owners[id(unit)])
        for stem, word in terms(unit.text).items():
            spelled[stem][word] += 1
    count = len({owners[id(unit)] for unit in units})
    least = min(max(FEWEST_OWNERS, -(-count // 2)), ENOUGH_OWNERS, count)
    found: dict[str, str] = {}
    for stem in sorted(counts):
        word = _spelling(stem, spelled[stem])
        if counts[stem] >= LEAST_UNITS and len(whose[stem]) >= least and word:
            found[stem] = word
    return found


def _spelling(stem: str, seen: Counter[str]) -> str:
    """The commonest word with this stem, or the name of the kind of thing; "" where it is no plain word."""
    kind = _KIND_WORDS.get(stem)
    word = kind or min(seen, key=lambda each: (-seen[each], each), default="")
    return word if _PLAIN.fullmatch(word) else ""


_KIND_WORDS = {
    next(iter(terms(word))): word
    for word in (
        "numbers dates questions greetings plans preferences errors paths commands quotes names".split()  # noqa: SIM905
    )
}


def _regress(has: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Weights of a logistic regression, by plain gradient descent from zero: deterministic, and the loss is convex."""
    weights, offset = np.zeros(has.shape[1], np.float32), np.float32(0)
    for _ in range(ROUNDS):
        wrong = 1 / (1 + np.exp(-(has @ weights + offset))) - wanted
        weights -= RATE * (has.T @ wrong / len(wanted) + PENALTY * weights)
        offset -= RATE * wrong.mean()
    return weights
