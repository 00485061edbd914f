"""What speaks for each candidate: words weighted by rarity and field, and cosines, for a question and its parts.

A question often asks for several things, sentence by sentence, and a skill that is right for one of them shares little
with the rest. So each sentence is compared on its own beside the whole.

All functions are pure. Numbers of one call may be compared with each other only, unless they say otherwise.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from prowess.learning.arrays import Flags, Floats
from prowess.learning.counting import tally
from prowess.learning.remembered import remembered
from prowess.learning.text import stems, stems_of, terms, words

__all__ = ["Document", "Evidence", "gather", "parts_of", "rarity", "standing", "words_of"]

MOST_PARTS = 6  # each costs one more embedding and search; later sentences seldom ask for something new
LEAST_WORDS = 3  # of a sentence: fewer are an interjection
LONGEST_PART = 600  # characters, about as much as the model reads well

# How much a word counts by where it stands, and how much a long field waters its words down (BM25F).
NAME, TEXT, MORE = 2.0, 1.0, 0.25
NAME_LENGTH, LENGTH = 0.5, 0.75
_WEIGHTS, _SLOPES = np.array([NAME, TEXT, MORE]), np.array([NAME_LENGTH, LENGTH, LENGTH])
SATURATION = 0.5  # BM25's k1; a paragraph that says a word again says hardly more
PADDING = 3.0  # words as rare as the question's rarest; 2 to 4 do as well

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_PATH = re.compile(r"(?<![\w:/])(?:~|\.{1,2})?(?:/[\w.<>{}*@+-]+){2,}/?")
# A question that speaks of neither who asks nor who answers, and of what was: a memory answers it, no skill does.
# Why and how are left out: they may ask for a cause to be found, or for a way to do it.
_ASKS = frozenset(["what", "when", "where", "which", "who", "whom", "whose", "did", "was", "were", "had"])
_ADDRESSED = frozenset(["i", "me", "my", "mine", "we", "us", "our", "you", "your", "please"])
_WAS = frozenset(["did", "was", "were", "had"])
_OPENING = 4  # words in which a question says when
_FILE = re.compile(r"\.[A-Za-z0-9]{1,5}\Z")


class Document(NamedTuple):
    """What can be found: ``name`` and ``text`` say what it is for, ``more`` are its steps and parameters."""

    id: str
    name: str
    text: str
    more: str = ""


class Evidence(NamedTuple):
    """By candidate. ``lexical`` and ``cosines`` are (parts, candidates), the whole question first; ``lexical_told`` is
    that of the whole question by name and text alone.

    ``covered`` is the share of the question's words, by rarity, that a candidate has, and ``covered_part`` the largest
    such share of any part, each lengthened by ``PADDING`` words that nobody has: to have all of two words says less
    than to have most of ten. ``named`` is the share of its name's words, ``told`` of its text's, that the question has.
    ``together`` tells how many words are neighbours in the question and in its name or text as well, by rarity.
    """

    lexical: Floats
    lexical_told: Floats
    cosines: Floats | None
    covered: Floats
    covered_part: Floats
    named: Floats
    told: Floats
    together: Floats
    length: int
    """Of the question, in different words."""
    text_length: float
    """Of the candidates' texts, in words, on average."""
    of_the_past: bool
    """Whether it asks what was, or what somebody did, rather than for something to be done."""


def parts_of(text: str) -> list[str]:
    """The question without the folders of its paths, then its sentences where it has more than one."""
    whole = _PATH.sub(_file_name, text).strip() or text
    sentences = [part.strip()[:LONGEST_PART] for part in _SENTENCE.split(whole)]
    telling = [part for part in sentences if len(terms(part)) >= LEAST_WORDS]
    return [whole, *(telling[:MOST_PARTS] if len(telling) > 1 else [])]


def _file_name(path: re.Match[str]) -> str:
    """What of a path says something about the task: the file, not where this machine keeps it."""
    last = path[0].rstrip("/").rsplit("/", 1)[-1]
    return last if _FILE.search(last) else " "


def rarity(counts: Mapping[str, int], total: int) -> dict[str, float]:
    """BM25's inverse document frequency of each word, by how many of ``total`` texts have it."""
    return {word: float(np.log1p((max(total - count, 0) + 0.5) / (count + 0.5))) for word, count in counts.items()}


def gather(
    parts: Sequence[str], documents: Sequence[Document], cosines: Floats | None, rare: Mapping[str, float]
) -> Evidence:
    """The evidence for each of ``documents``, in their order.

    ``cosines`` is (parts, documents); ``rare`` has the rarity of the question's words, by stem as ``terms`` makes it.
    """
    asked = [list(terms(part)) for part in parts]
    columns = {stem: place for place, stem in enumerate(dict.fromkeys(stem for part in asked for stem in part))}
    weights = np.array([rare.get(stem, 0.0) for stem in columns])
    found = [_analysed(document) for document in documents]
    counts = _counts(found, columns)
    sizes = np.frombuffer(b"".join([text.sizes for text in found])).reshape(-1, 6)
    lengths, distinct = sizes[:, :3], sizes[:, 3:]
    in_name, in_text = counts[:, 0] > 0, counts[:, 1] > 0
    by_field = _frequencies(lengths, counts)
    told, frequencies = by_field[:, :2].sum(1), by_field.sum(1)
    scores = _saturated(frequencies) * weights
    has = (frequencies > 0) * weights
    chosen = [[columns[stem] for stem in part] for part in asked]
    masses, found_of = [float(weights[part].sum()) for part in chosen], [has[:, part].sum(1) for part in chosen]
    padding = PADDING * float(weights.max(initial=0.0))
    return Evidence(
        np.stack([scores[:, part].sum(1) for part in chosen]),
        (_saturated(told[:, chosen[0]]) * weights[chosen[0]]).sum(1),
        cosines,
        found_of[0] / max(masses[0], 1e-9),
        np.stack([one / max(mass + padding, 1e-9) for one, mass in zip(found_of, masses, strict=True)]).max(0),
        _named(found, distinct[:, 0], in_name, weights, _runs(parts[0])),
        _shares(distinct[:, 1], in_text, (in_text * weights).sum(1), weights),
        _together(found, told, parts[0], columns, weights),
        len(asked[0]),
        float(lengths[:, 1].mean()) if len(lengths) else 0.0,
        _of_the_past(parts[0]),
    )


def standing(values: Floats) -> Floats:
    """How far each stands out of its row, in the row's standard deviations."""
    spread = values.std(-1, keepdims=True)
    scaled: Floats = (values - values.mean(-1, keepdims=True)) / (spread + 1e-6)
    return scaled


def _of_the_past(question: str) -> bool:
    said = words(question)
    asks = bool(said) and said[0] in _ASKS and _ADDRESSED.isdisjoint(said)
    return asks and not _WAS.isdisjoint(said[:_OPENING])


class _Analysed(NamedTuple):
    """``fields`` are name, text and more: how often each stem is there. ``sizes`` are how many are in each of them, and
    then how many different ones, as the bytes of six floats: so those of all documents become one array at once.

    ``told`` has the stems of the name and of the text in order, a space around each.
    """

    fields: tuple[Mapping[str, int], ...]
    sizes: bytes
    stems: frozenset[str]
    joined: str
    told: str


@remembered(8192)
def _analysed(document: Document) -> _Analysed:
    named = words(document.name)
    name, text, more = stems_of(named), stems_of(words(document.text)), stems_of(words(document.more))
    fields = tally(name), tally(text), tally(more)
    sizes = array("d", (len(name), len(text), len(more), len(fields[0]), len(fields[1]), len(fields[2]))).tobytes()
    told = f" {' '.join(name)} | {' '.join(text)} "
    return _Analysed(fields, sizes, frozenset().union(*fields), "".join(named), told)


def words_of(document: Document) -> frozenset[str]:
    """The stems of its name and text."""
    name, text, _ = _analysed(document).fields
    return frozenset(name) | frozenset(text)


def _counts(found: Sequence[_Analysed], columns: Mapping[str, int]) -> Floats:
    """(documents, fields, columns): how often each has each."""
    width = len(columns)
    table = np.zeros((len(found), 3, width))
    cells, asked = table.reshape(-1).data, frozenset(columns)
    for row, text in enumerate(found):
        if asked.isdisjoint(text.stems):
            continue
        for place, field in enumerate(text.fields, 3 * row):
            for stem in asked & field.keys():
                cells[place * width + columns[stem]] = field[stem]
    return table


def _frequencies(lengths: Floats, counts: Floats) -> Floats:
    """(documents, fields, columns): how often each has each, shortened where the field is longer than the others'.

    ``lengths`` is (documents, fields).
    """
    relative = lengths / np.maximum(lengths.mean(0), 1e-9) if len(lengths) else lengths
    scale = _WEIGHTS / (1 - _SLOPES + _SLOPES * relative)
    scaled: Floats = counts * scale[:, :, None]
    return scaled


def _saturated(frequencies: Floats) -> Floats:
    scaled: Floats = frequencies * (SATURATION + 1) / (frequencies + SATURATION)
    return scaled


def _runs(text: str) -> frozenset[str]:
    """The question's words that the analysis takes apart, so that ``RDKit`` names the skill ``rdkit``.

    What it leaves whole counts by its rarity: ``fix`` names no skill.
    """
    return frozenset(run.lower() for run in re.findall(r"[^\W_]+", text)) - frozenset(words(text))


def _named(found: Sequence[_Analysed], sizes: Floats, has: Flags, weights: Floats, runs: frozenset[str]) -> Floats:
    """How much of each name the question has. That it has a frequent word, such as ``build``, says little."""
    said = (has * weights).sum(1)
    rarest = said / max(weights.max(initial=0.0), 1e-9)
    shares: Floats = _shares(sizes, has, said, weights) * np.minimum(rarest, 1.0)
    return np.where([text.joined in runs for text in found], 1.0, shares) if runs else shares


def _shares(sizes: Floats, has: Flags, said: Floats, weights: Floats) -> Floats:
    """How much of a field, of so many stems, the question has, by rarity; words that it has not are as rare as its own
    on average. ``has`` is (documents, columns), ``said`` the rarity of those that each has."""
    mean = weights.sum() / max(len(weights), 1)
    missing = sizes - has.sum(1)
    return np.where(has.any(1), said / np.maximum(said + missing * mean, 1e-9), 0.0)


def _together(
    found: Sequence[_Analysed], told: Floats, question: str, columns: Mapping[str, int], weights: Floats
) -> Floats:
    """The words that are neighbours in the question and in each text as well: a pair counts as its words do on average.

    ``told`` is (documents, columns), above 0 where name or text has the word.
    """
    pairs = [*dict.fromkeys(pairwise(stems(question)))]
    left, right = ([columns[pair[side]] for pair in pairs] for side in (0, 1))
    worth = (weights[left] + weights[right]) / 2 / max(float(weights.max(initial=0.0)), 1e-9)
    near = np.zeros(len(found))
    rows, places = np.nonzero((told[:, left] > 0) & (told[:, right] > 0))
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        if f" {pairs[place][0]} {pairs[place][1]} " in found[row].told:
            near[row] += worth[place]
    return np.log1p(near)
