"""How much a unit is what a memory skill's text asks for.

The words and the meaning of instruction and when-to-use attract, those of the constraints repel; words of a sentence
that says "above all" count twice. Nothing else decides, so what a person or the designer writes there is what is kept.
Two tiers of words do nearly as well as the weights of a regression that they were taken from: docs/memskill.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from prowess.learning.memskill.excerpts import excerpt, sentences_of
from prowess.learning.memskill.skills import Action, MemorySkill, skill_text
from prowess.learning.memskill.units import Unit, Vector, Vectors, terms_of
from prowess.learning.text import terms

__all__ = ["NEUTRAL", "View", "read_limits", "view_skills"]

DEFAULT_MOST = 3  # units of one span, where the constraints don't say

FULL_COSINE = 0.5  # sentences are hardly ever nearer to an instruction; counts as one shared word
ABOVE_ALL = 2.0
# The logistic curve from words to affinity: none gives NEUTRAL, one .42, two .58, four .84; it never quite saturates,
# so that of two units with many wanted words the one with more stays the dearer.
OFFSET, SCALE = -1.0, 1.5
NEUTRAL = 0.27

_MOST = re.compile(r"\bat most (\d{1,3})\b(?! sentence)[^.]*\.?", re.IGNORECASE)
_SENTENCES = re.compile(r"\bat most (\d{1,2}) sentences?\b[^.]*\.?", re.IGNORECASE)
_AGAIN = re.compile(r"[^.]*\bcom(?:es?|ing) again\b[^.]*\.?", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.;:!?\n]+")
# Words of method, which say nothing about what is wanted.
_METHOD = frozenset(
    terms(
        "keep remember store save add join insert update delete remove leave memory memories item items span spans "
        "told tell tells later something anything value matter use used well alone above hold holds"
    )
)


class Stated(NamedTuple):
    """What constraints state beside words: at most so many units of one span, and sentences of each unit (0: all);
    whether what comes again counts for more; and the rest of the text.
    """

    most: int
    sentences: int
    again: bool
    rest: str


@dataclass(slots=True, eq=False)
class View:
    """A memory skill made ready: its vector (of the whole text), what attracts and what repels (stem to weight), and
    how many units of one span it keeps (``most``). With ``again``, what comes again makes the like in memory more
    important. ``everything`` keeps all units, for comparison; ``text`` is for a language model.
    """

    name: str
    action: Action
    vector: Vector
    wanted: Mapping[str, float]
    unwanted: Mapping[str, float]
    toward: Vector
    away: Vector | None
    most: int = DEFAULT_MOST
    sentences: int = 0
    again: bool = False
    everything: bool = False
    text: str = ""
    _known: dict[int, tuple[Unit, float]] = field(default_factory=dict)
    _cut: dict[int, tuple[Unit, Unit]] = field(default_factory=dict)

    def excerpts(self, units: Sequence[Unit]) -> list[Unit]:
        """Of each unit what the skill keeps: the sentences that it asks for most, or the whole."""
        if not self.sentences or self.everything:
            return list(units)
        for unit in units:
            if id(unit) not in self._cut:
                self._cut[id(unit)] = (unit, self._excerpt(unit))
        return [self._cut[id(unit)][1] for unit in units]

    def _excerpt(self, unit: Unit) -> Unit:
        sentences = sentences_of(unit.text)
        if len(sentences) <= self.sentences:
            return unit
        scores = [self._words(terms_of(sentence)) for sentence in sentences]
        best = sorted(range(len(sentences)), key=lambda place: -scores[place])[: self.sentences]
        return excerpt(unit, sentences, best)

    def affinities(self, units: Sequence[Unit]) -> list[float]:
        """For each unit how much it is what the skill asks for, in (0, 1)."""
        missing = [unit for unit in units if id(unit) not in self._known]
        if missing:
            made = zip(missing, self._made(missing), strict=True)
            self._known.update((id(unit), (unit, value)) for unit, value in made)
        return [self._known[id(unit)][1] for unit in units]

    def _made(self, units: Sequence[Unit]) -> list[float]:
        rows = np.stack([unit.vector for unit in units])
        score = np.clip(rows @ self.toward / FULL_COSINE, 0.0, 1.0)
        if self.away is not None:
            score -= np.clip(rows @ self.away / FULL_COSINE, 0.0, 1.0)
        score += np.asarray([self._words(unit.terms) for unit in units], np.float32)
        return [float(value) for value in 1 / (1 + np.exp(-(score / SCALE + OFFSET)))]

    def _words(self, has: frozenset[str]) -> float:
        wanted = sum(self.wanted[stem] for stem in has & self.wanted.keys())
        return wanted - sum(self.unwanted[stem] for stem in has & self.unwanted.keys())


def view_skills(skills: Sequence[MemorySkill], vectors: Vectors) -> list[View]:
    """The skills made ready, in the same order."""
    wanted = [f"{skill.instruction}\n{skill.when_to_use}".strip() for skill in skills]
    stated = [read_limits(skill.constraints) for skill in skills]
    unwanted = [each.rest for each in stated]
    rows = vectors([*(skill_text(skill) for skill in skills), *wanted, *unwanted])
    whole, toward, away = np.split(rows, 3)
    return [
        View(
            name=skill.name,
            action=skill.action,
            vector=whole[index],
            wanted=_weights(wanted[index]),
            unwanted=_weights(unwanted[index]),
            toward=toward[index],
            away=away[index] if unwanted[index] else None,
            most=stated[index].most,
            sentences=stated[index].sentences,
            again=stated[index].again,
            text=" ".join(f"{skill.instruction} {skill.when_to_use} {skill.constraints}".split()),
        )
        for index, skill in enumerate(skills)
    ]


def _weights(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for sentence in _SENTENCE.findall(text):
        weight = ABOVE_ALL if "above all" in sentence.lower() else 1.0
        for stem in terms(sentence).keys() - _METHOD:
            weights[stem] = max(weights.get(stem, 0.0), weight)
    return dict(sorted(weights.items()))


def read_limits(constraints: str) -> Stated:
    """What the constraints limit, and their other sentences."""
    sentences, most = _SENTENCES.search(constraints), _MOST.search(constraints)
    again = _AGAIN.search(constraints) is not None
    rest = _MOST.sub("", _SENTENCES.sub("", _AGAIN.sub("", constraints))).strip()
    return Stated(int(most[1]) if most else DEFAULT_MOST, int(sentences[1]) if sentences else 0, again, rest)
