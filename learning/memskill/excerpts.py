"""Sentences of a unit, and a unit made of some of them: what a skill that wants less than the whole keeps.

The vector of an excerpt is that of the whole it was taken from: it says what the sentence was about, and no text is
embedded twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from prowess.learning.memskill.units import Unit, terms_of
from prowess.learning.rendering import count_tokens

__all__ = ["excerpt", "sentences_of"]

# Where a sentence ends; in a step's line what was called ends where what came back begins. Only before a capital, so
# that a dot in a path or an option is no end.
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(\[])|\s+(?=\[|-> |error: )")
_LABEL = re.compile(r"[A-Za-z]\w{0,20}: ")  # who speaks, or that it is the task


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a unit's text in order, the speaker's name before the first only."""
    return tuple(part for part in _END.split(text) if part.strip()) or (text,)


def excerpt(unit: Unit, sentences: Sequence[str], kept: Sequence[int]) -> Unit:
    """``unit`` with the sentences at the places ``kept`` only, in their order, under the name of who speaks.

    What it lost is noted: evidence of which the answer's words are gone is no longer evidence.
    """
    label = _LABEL.match(unit.text)
    text = " ".join(sentences[place] for place in sorted(kept))
    if label and not text.startswith(label[0]):
        text = label[0] + text
    terms = terms_of(text)
    return Unit(text, unit.sources, terms, count_tokens(text), unit.vector, unit.lost | (unit.terms - terms))
