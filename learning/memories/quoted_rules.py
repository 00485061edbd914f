"""What of a prompt an agent quotes as a rule that is to last: the sentence that the person typed, not the agent's own.

An agent understands what no form tells ("I can read the diff myself"), but it may have read a page that wants to be
remembered. So its word counts for which sentence is a rule, and the prompt for what the rule says.
"""

from __future__ import annotations

import re

from prowess.learning.memories.standing_rules import SENTENCE_END, may_hold_rules

__all__ = ["quoted"]

LEAST_LETTERS = 4  # "ok" stands in every other prompt
_WORD = re.compile(r"\w+")
_MARKED = re.compile(r"^(?:[#>*-]+|\d+[.)])\s+")  # a heading or an item of a list
# What leads up to a clause that stands by itself: "fix the header, and …"
_PARTED = re.compile(r"(?:[,;:]|\s[-\u2013\u2014])\s*(?:(?:also|and|but|please|so|then)\s+)*$", re.IGNORECASE)
# What turns a clause into another, or says when or where it holds: "never, and I mean it, push to main", "if CI is red,
# don't merge", "in the API module: use camel case".
_TURNS = re.compile(
    r"(?:\b(?:after|at|avoid|before|by|cannot|don|during|except|for|from|if|in|inside|instead|neither|never|no|nobody|nor"
    r"|not|nothing|on|once|only|outside|rather|stop|than|under|unless|until|when|whenever|where|while|with|within"
    r"|without)\b|n[\u2019']?t\b)",
    re.IGNORECASE,
)


def quoted(words: str, said: str) -> str:
    """The sentences of ``said``, one prompt as it was typed, that have ``words`` in this order, on one line.

    Letter case and signs may differ. What stands before the quote in its sentence is left out only where it is a clause
    that cannot change the meaning; what stands behind it belongs to it. "" where the words are not there, or where the
    prompt was pasted or is a program's.
    """
    wanted = [found[0].casefold() for found in _WORD.finditer(words)]
    if sum(map(len, wanted)) < LEAST_LETTERS or not may_hold_rules(said):
        return ""
    there = list(_WORD.finditer(said))
    typed = [found[0].casefold() for found in there]
    for place in range(len(typed) - len(wanted) + 1):
        if typed[place : place + len(wanted)] == wanted:
            return _sentences(said, there[place].start(), there[place + len(wanted) - 1].end())
    return ""


def _sentences(said: str, begin: int, end: int) -> str:
    breaks = list(SENTENCE_END.finditer(said))
    first = max((found.end() for found in breaks if found.end() <= begin), default=0)
    last = min((found.start() for found in breaks if found.start() >= end), default=len(said))
    lead = said[first:begin]
    if _PARTED.search(lead) and not _TURNS.search(lead):
        first = begin
    return _MARKED.sub("", " ".join(said[first:last].split())).rstrip(" ;")
