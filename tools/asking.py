"""Whether a prompt asks for an answer alone, and for no work."""

from __future__ import annotations

import re

__all__ = ["only_asks"]

LONGEST = 300  # characters; who says more tells of work

_BEFORE = r"(?:(?:also|and|btw|but|hello|hey|hi|hmm?|no|ok(?:ay)?|so|sorry|thanks?|thx|wait|yes)\b[\s,.!]*)*"
_PEOPLE = r"(?:I|people|they|u|we|you)"
_SUBJECT = rf"(?:{_PEOPLE}|he|it|she|that|there|this)"
_REST = r"[^.!?;\n]*(?:\.\w[^.!?;\n]*)*"  # of a sentence; a file's name has a dot
_ASKS = re.compile(
    rf"{_BEFORE}(?:(?:"
    r"(?:can|could|would) (?:you|u) (?:please |pls )?(?:describe|explain|remind|tell)"
    r"|what(?:'?s)?|why|how|which|whose|who(?:'?s)?|where(?:'?s)?"
    r"|when (?:are|can|did|do|does|is|should|was|were|will)"
    rf"|(?:do|have) {_PEOPLE}|(?:am|are|did|does|had|has|is|should|was|were) {_SUBJECT}"
    rf"|explain(?! analy)|difference between|remind me|tell me)\b{_REST}[.?!\s]*"
    rf"|(?:are|did|does|is|was|were|(?:can|could|should|would)(?! (?:we|you|u)\b))\b{_REST}\?[?!\s]*)",
    re.IGNORECASE,
)


def only_asks(prompt: str) -> bool:
    """Whether it is one question and nothing else. Of what it is about some is work: why a service is down."""
    return len(prompt) <= LONGEST and _ASKS.fullmatch(prompt.strip()) is not None
