"""What speaks for a candidate beyond its single words: phrases that it shares with a question, and what it lists.

An Agent Skill tells in a paragraph when it is of use: "asks why leads are down, wants a review of search terms". So a
question may say one clause of many in the same words, frequent ones such as "what do you need" among them.

Texts are kept as numbers, so that those of all candidates are looked through at once. All functions are pure.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from prowess.learning.arrays import Floats, Ints
from prowess.learning.remembered import remembered
from prowess.learning.text import words

__all__ = ["Wording", "clauses_of", "listed", "shared_phrases", "wording"]

# Whatever ends a clause; an apostrophe or a hyphen within a word does not.
_SIGNS = '!"#$%&()*+,./:;<=>?@[\\]^`{|}~'
_DASH = re.compile(r"\s-+\s")
_BREAK = re.compile(rf"[{re.escape(_SIGNS)}“”„«»…·•。，；：！？、（）—–]+|{_DASH.pattern}")  # noqa: RUF001 - texts have them
_CUT = bytes.maketrans(_SIGNS.encode(), b"|" * len(_SIGNS))  # of ASCII, a tenth of the time
_FILTER = 1 << 16  # places of a table that tells nearly all words apart that a question does not have

Numbers = NDArray[np.uint32]


class Wording(NamedTuple):
    """Of a text, clause by clause, the numbers of its words in order, and of its different stems: as the bytes of
    32-bit integers, with a 0 behind each clause."""

    said: bytes
    meant: bytes


def clauses_of(text: str) -> list[list[str]]:
    """The words of each clause that has any."""
    if text.isascii() and not ("-" in text and _DASH.search(text)):
        parts = text.encode().translate(_CUT).decode().split("|")
    else:
        parts = _BREAK.split(text)
    return [found for part in parts if part and (found := words(part))]


def wording(clauses: Sequence[Sequence[str]], stems: Sequence[Sequence[str]]) -> Wording:
    """``clauses`` and the ``stems`` of each as numbers."""
    said: list[int] = []
    meant: list[int] = []
    for clause, its_stems in zip(clauses, stems, strict=True):
        said += map(_number, clause)
        said.append(0)
        meant += map(_number, dict.fromkeys(its_stems))
        meant.append(0)
    return Wording(array("I", said).tobytes(), array("I", meant).tobytes())


@remembered(16_384)
def _number(word: str) -> int:
    return crc32(word.encode("utf-8", "replace")) or 1


def shared_phrases(question: str, found: Sequence[Wording]) -> Floats:
    """For each text the runs of two and of three words that ``question`` has as well, by their rarity among the texts.

    No run reaches beyond a clause. The sum's logarithm: 0 for a text that shares none.
    """
    asked = [[*map(_number, clause)] for clause in clauses_of(question)]
    pairs = [[*pairwise(clause)] for clause in asked]
    place_of_pair = {pair: place for place, pair in enumerate(sorted({*chain(*pairs)}))}
    if not (found and place_of_pair):
        return np.zeros(len(found))
    vocabulary = sorted({*chain(*place_of_pair)})
    place_of = {number: place for place, number in enumerate(vocabulary)}
    codes = np.array([place_of[left] * len(vocabulary) + place_of[right] for left, right in place_of_pair])
    longer = {
        place_of_pair[one] * len(codes) + place_of_pair[next_] for clause in pairs for one, next_ in pairwise(clause)
    }
    said, rows = _joined([text.said for text in found])
    at, which = _known(said, np.array(vocabulary, np.uint32))
    at, which = _among(*_neighbours(at, which, len(vocabulary)), codes)
    at_longer, which_longer = _among(*_neighbours(at, which, len(codes)), np.array(sorted(longer), np.int64))
    width = len(codes) + len(longer)
    runs = np.concatenate([rows[at] * width + which, rows[at_longer] * width + len(codes) + which_longer])
    has, run = np.divmod(np.unique(runs), width)
    often = np.bincount(run, minlength=width)
    rarity = np.log1p((len(found) - often + 0.5) / (often + 0.5))
    return np.log1p(np.bincount(has, rarity[run], len(found)))


def listed(rare: Mapping[str, float], found: Sequence[Wording]) -> Floats:
    """How much of the question each text's clauses have, by rarity, each the more the more of the clause it is.

    ``rare`` has the rarity of the question's words by stem; words that it has not are as rare as its own on average.
    The sum's logarithm.
    """
    top = max(rare.values(), default=0.0)
    if not (found and top):
        return np.zeros(len(found))
    vocabulary, worth = zip(*sorted((_number(stem), rarity / top) for stem, rarity in rare.items()), strict=True)
    weights = np.array(worth)
    meant, rows = _joined([text.meant for text in found])
    at, which = _known(meant, np.array(vocabulary, np.uint32))
    ends = np.flatnonzero(meant == 0)
    if not len(ends):
        return np.zeros(len(found))
    clause = np.searchsorted(ends, at)
    mass = np.bincount(clause, weights[which], len(ends))
    missing = -np.bincount(clause, minlength=len(ends))
    missing[0] += ends[0]
    missing[1:] += ends[1:] - ends[:-1] - 1
    share = mass / np.maximum(mass + missing * (weights.sum() / len(weights)), 1e-9)
    return np.log1p(np.bincount(rows[ends], mass * share**2, len(found)))


def _joined(texts: Sequence[bytes]) -> tuple[Numbers, Ints]:
    """All numbers of ``texts`` in one row, and for each which text it is of."""
    rows = np.repeat(np.arange(len(texts)), [len(text) // 4 for text in texts])
    return np.frombuffer(b"".join(texts), np.uint32), rows


def _known(numbers: Numbers, vocabulary: Numbers) -> tuple[Ints, Ints]:
    """The places at which ``numbers`` has one of ``vocabulary``, which is sorted, and which one."""
    table = np.zeros(_FILTER, np.bool_)
    table[vocabulary & (_FILTER - 1)] = True
    places = np.flatnonzero(table[numbers & (_FILTER - 1)])
    return _among(places, numbers[places], vocabulary)


def _neighbours(places: Ints, which: Ints, count: int) -> tuple[Ints, Ints]:
    """Where two of ``places`` follow each other, and what both are, of ``count``, as one number."""
    left = np.flatnonzero(places[1:] - places[:-1] == 1)
    return places[left], which[left] * count + which[left + 1]


def _among(places: Ints, values: Ints | Numbers, chosen: Ints | Numbers) -> tuple[Ints, Ints]:
    """Those of ``places`` whose value is one of ``chosen``, which is sorted, and which one."""
    if not len(chosen):
        return places[:0], places[:0]
    which = np.minimum(np.searchsorted(chosen, values), len(chosen) - 1)
    right = chosen[which] == values
    return places[right], which[right]
