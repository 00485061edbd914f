"""How text becomes the words that lexical search compares.

Text of skills, tasks and steps is full of identifiers (``find_user_by_email``, ``getUserDetails``), so words are split
at case and underscores; accents and case are dropped; Chinese, Japanese and Korean runs become pairs of characters,
since they have no spaces. Plurals lose their ending; on sets of skills and tools that finds as much as a full stemmer.
The same function serves what is stored and what is asked.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["STOP_WORDS", "TEXTS_PER_EPISODE", "TEXT_STEPS", "words"]

TEXT_STEPS = 32
"""Steps whose actions make one searchable text of an episode: what is written again when a step is added."""

TEXTS_PER_EPISODE = 4096
"""Text ``i`` of episode ``num`` has the row id ``num * TEXTS_PER_EPISODE + i``; later steps are not searchable."""

LONGEST_WORD = 40
"""Longer runs are hashes and encoded data: they are cut, since nobody searches for their ends."""

STOP_WORDS = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it
    its me my no nor of on or our please shall she should so some such than that the their them then there these they
    this those to too us was we were what when where which while who whom why will with would you your
    """.split()  # noqa: SIM905 - seventy quoted words would be no easier to read
)

_RUN = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def words(text: str) -> list[str]:
    """The words of ``text`` in order, repeats included, without stop words. Any text will do."""
    if not text.isascii():
        text = _folded(text)
    found: list[str] = []
    for run in _RUN.findall(text):
        found += _of_run(run)
    return found


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join([c for c in decomposed if unicodedata.category(c) != "Mn"]))


@lru_cache(maxsize=65536)
def _of_run(run: str) -> tuple[str, ...]:
    if not run.isascii() and _CJK.search(run):
        return _of_mixed(run)
    parts = _CAMEL.split(run) if not (run.islower() or run.isupper()) else [run]
    lowered = [part.casefold()[:LONGEST_WORD] for part in parts]
    return tuple(_stem(word) for word in lowered if word not in STOP_WORDS)


def _of_mixed(run: str) -> tuple[str, ...]:
    found: list[str] = []
    end = 0
    for match in _CJK.finditer(run):
        found += [*(_of_run(run[end : match.start()]) if match.start() > end else ()), *_pairs(match[0])]
        end = match.end()
    return (*found, *(_of_run(run[end:]) if end < len(run) else ()))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _stem(word: str) -> str:
    """``word`` without the ending of an English plural."""
    if len(word) < 4 or not word.isascii() or not word.isalpha() or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]
