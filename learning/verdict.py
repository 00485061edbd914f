"""What a person's next words say of what was done before: that it failed, that it worked, or nothing.

Most prompts say nothing of it. So only the beginning counts, and of that only what is a statement: a request tells what
to do next, and words such as "error" or "fixed" in it tell nothing of what was done.
"""

from __future__ import annotations

import re
from typing import Literal

from prowess.learning.outcomes import judge
from prowess.learning.verdict_forms import (
    ASKS,
    BEFORE,
    BLAMES,
    DECLINES,
    DENIED,
    FAULT,
    LIMITS,
    LIMITS_HERE,
    NEGATED,
    POLITE,
    PRAISES,
    SENTENCE_END,
    SPACES,
    SUPPOSES,
    TAKEN_BACK,
    THEN_BACK,
)

__all__ = ["undoes", "verdict_of"]

READ = 240  # characters: what follows says what to do next
PASTED = 500  # characters in which output that somebody pasted shows its error
SENTENCES = 2  # "Hm. Still the same."
COMPLAINTS = 4  # clauses behind praise in which it may be taken back


def verdict_of(said: str) -> Literal["positive", "negative"] | None:
    """Whether ``said`` says of what was done before that it worked or that it failed; None for neither, or both."""
    text = _plain(said)
    if (praise := _praises(text)) is not None:
        return "positive" if praise else "negative" if _takes_back(text) else None
    return "negative" if _blames(text) or judge(observation=said[:PASTED]) == "failure" else None


def undoes(said: str) -> bool:
    """Whether ``said`` blames what was done before by taking it back: to go on with something else mends nothing."""
    text = _plain(said)
    if verdict_of(said) != "negative":
        return False
    points = [_point(sentence) for sentence in SENTENCE_END.split(text) if sentence.strip()][:SENTENCES]
    return _takes_back(text) or any(TAKEN_BACK.match(point) or THEN_BACK.match(point) for point in points)


def _plain(said: str) -> str:
    """The beginning in small letters and with every negation written out."""
    text = said.strip()[:READ].lower().replace("\u2019", "'").replace("\u00b4", "'")
    return SPACES.sub(" ", NEGATED.sub(r"\1 not", text).replace("ca not", "can not").replace("wo not", "will not"))


def _point(sentence: str) -> str:
    before = BEFORE.match(sentence)
    return sentence[before.end() :] if before else sentence


def _praises(text: str) -> bool | None:
    """True for praise, False for praise with a "but", None where there is none."""
    point = _point(text)
    praise = None if ASKS.match(point) else PRAISES.match(point)
    if praise is None or DECLINES.match(text) or "?" in re.split(r"[.!\n]", point, maxsplit=1)[0]:
        return None
    after = point[praise.end() : praise.end() + 100]
    return not (LIMITS.search(after) or LIMITS_HERE.match(after) or _complains(point[praise.end() :]))


def _takes_back(text: str) -> bool:
    """Whether a clause of what begins with praise takes the work back: "nice try, but undo that"."""
    parts = re.split(r"[.!?\n,;]|\bbut\b", text)[:COMPLAINTS]
    return any(TAKEN_BACK.fullmatch(POLITE.sub("", _point(part).strip())) for part in parts)


def _complains(after: str) -> bool:
    """Whether what follows praise finds fault: "nice. The footer is gone". What is asked for next does not."""
    first, *others = SENTENCE_END.split(after)
    clauses = [*re.split(r"[,;:]| and ", first)[1:], *others][:COMPLAINTS]
    for clause in (_point(clause) for clause in clauses):
        if (ASKS.match(clause) and not TAKEN_BACK.match(clause)) or SUPPOSES.match(clause) or "?" in clause:
            continue
        if (TAKEN_BACK.match(clause) or BLAMES.match(clause) or FAULT.match(clause)) and not DENIED.match(clause):
            return True
    return False


def _blames(text: str) -> bool:
    """Whether a sentence does. What follows a request belongs to it; to take the work back is the one that blames."""
    for sentence in [part for part in SENTENCE_END.split(text) if part.strip()][:SENTENCES]:
        point = _point(sentence)
        if TAKEN_BACK.match(point):
            return True
        if ASKS.match(point):
            return False
        if THEN_BACK.match(point):
            return True
        if BLAMES.match(point) and not DENIED.match(point):
            return True
    return False
