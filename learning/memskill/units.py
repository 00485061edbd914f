"""What is remembered is made of: pieces of text (units), the spans they stand in, and queries about them.

A unit is a sentence, a turn of a conversation or a step of an episode. ``source`` names it for evidence: a turn's id,
or ``EPISODE#STEP``. Its terms are the stems of its words and, where a pattern applies, the stem of a word that tells
what kind of thing it holds (``number``, ``date``, ``name`` …): so a skill that asks for dates finds them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from prowess.learning.rendering import count_tokens
from prowess.learning.text import terms

__all__ = [
    "KIND_STEMS",
    "MAX_TEXT",
    "Query",
    "Span",
    "Trace",
    "Unit",
    "Vector",
    "Vectors",
    "make_query",
    "make_span",
    "make_unit",
    "make_units",
    "terms_of",
    "unit_vector",
]

Vector: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"
Vectors = Callable[[Sequence[str]], Vector]
"""Texts to rows of length 1, shape (n, dim), float32."""

MAX_TEXT = 600  # characters of a unit; the embedding model reads about 1,200

_DATE = (
    r"\b(?:\d{4}-\d\d-\d\d|(?:19|20)\d\d|yesterday|today|tonight|tomorrow|ago|weekend|(?:last|next|this) "
    r"(?:week|month|year|night|summer|winter|spring|fall)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|"
    r"march|april|june|july|august|september|october|november|december)\b"
)
# A word that a skill may use to what it stands for in a unit.
_PATTERNS: dict[str, str] = {
    "number": r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|twice)\b",
    "date": _DATE,
    "question": r"\?",
    "greeting": r"^(?:\w+: )?(?:hey|hi|hello|bye|good (?:morning|night)|wow|thanks?|thank you|you're welcome)\b",
    "plan": r"\b(?:will|going to|gonna|plan(?:s|ned|ning)?|want to|hope to|can't wait|looking forward)\b",
    "preference": r"\b(?:likes?|loves?|hates?|prefers?|favou?rite|enjoys?|fan of)\b",
    "error": r"\b(?:error|exception|traceback|failed|failure|fatal|denied|not found|no such|invalid)\b",
    "path": r"(?:^|[\s'\"=])(?:[\w.~-]*/)+[\w.-]+",
    "command": r"(?:^|\s)-{1,2}[a-z][\w-]*(?=[\s=]|$)| \| ",
    "quote": r"\"[^\"]{3,}\"",
}
_COMPILED = {word: re.compile(pattern, re.IGNORECASE | re.MULTILINE) for word, pattern in _PATTERNS.items()}
_NAME = re.compile(r"(?<=[a-z,;'\u2019] )[A-Z][a-z]+\b")
# With the plural, whose stem may be another one (greeting, greetings).
_STEMS = {word: tuple(terms(f"{word} {word}s")) for word in (*_PATTERNS, "name")}
KIND_STEMS = {word: stems[0] for word, stems in _STEMS.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One piece of text. ``sources`` has one name, or several where a model made one text of more; ``lost`` are terms
    of the text that it is an excerpt of and does not hold.
    """

    text: str
    sources: tuple[str, ...]
    terms: frozenset[str]
    tokens: int
    vector: Vector
    lost: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Units that are looked at together. ``first`` says that it begins an episode or a conversation."""

    units: tuple[Unit, ...]
    vector: Vector
    first: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What memory will be asked. Each member of ``evidence`` is a set of sources of which any one will do."""

    text: str
    vector: Vector
    terms: frozenset[str]
    evidence: tuple[frozenset[str], ...]
    answer: str = ""
    answer_terms: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What one memory is made from, in order, and what it is asked at the end."""

    id: str
    spans: tuple[Span, ...]
    queries: tuple[Query, ...]


def terms_of(text: str) -> frozenset[str]:
    """Stems of the words of ``text``, and of the words for what it holds."""
    kinds = [stem for word, pattern in _COMPILED.items() if pattern.search(text) for stem in _STEMS[word]]
    if _NAME.search(text):
        kinds += _STEMS["name"]
    return frozenset(terms(text)).union(kinds)


def make_units(texts: Sequence[str], sources: Sequence[str], vectors: Vectors) -> tuple[Unit, ...]:
    """One unit for each text."""
    cut = [text[:MAX_TEXT] for text in texts]
    return tuple(make_unit(*each) for each in zip(cut, ((source,) for source in sources), vectors(cut), strict=True))


def make_unit(text: str, sources: tuple[str, ...], vector: Vector) -> Unit:
    """A unit with the vector of its text."""
    return Unit(text, sources, terms_of(text), count_tokens(text), vector)


def make_span(units: Sequence[Unit], *, first: bool = False) -> Span:
    """A span of these units, at least one."""
    return Span(tuple(units), unit_vector(np.mean([unit.vector for unit in units], axis=0)), first)


def make_query(text: str, evidence: Sequence[frozenset[str]], vector: Vector, answer: str = "") -> Query:
    """A query with the vector of its text."""
    return Query(text, vector, terms_of(text), tuple(evidence), answer, terms_of(answer))


def unit_vector(vector: Vector) -> Vector:
    """``vector`` at length 1; a zero one stays as it is."""
    length = float(np.linalg.norm(vector))
    return (vector / length if length > 0 else vector).astype(np.float32)
