"""Whether a prompt asks for an answer alone, and for no work."""

from __future__ import annotations

import re

__all__ = ["only_asks"]

LONGEST = 300  # characters; who says more tells of work

_BEFORE = r"(?:(?:also|and|btw|but|hello|hey|hi|hmm?|no|ok(?:ay)?|so|sorry|thanks?|thx|wait|yes)\b[\s,.!]*)*"
_PEOPLE = r"(?:I|people|they|u|we|you)"
_SUBJECT = rf"(?:{_PEOPLE}|he|it|she|that|there|this)"
_REST = r"[^.!?;\n]*(?:\.\w[^.!?;\n]*)*"  # of a sentence; a file's name has a dot
_TO_TELL = r"(?:please |pls )?(?:describe|explain|remind|tell)\b"
_POLITE = re.compile(rf"\b(?:can|could|would) (?:you|u) {_TO_TELL}", re.IGNORECASE)
# What is worded as a question and wants work: a proposal, a plea, a second clause that says what to do, and a failure,
# which is asked about to have it mended.
_WANTS = re.compile(
    r"\b(?:(?:how|what) about|what if|why (?:not|(?:can|don|won)['\u2019]?t)|be possible|possible to|you mind"
    r"|please|pls|(?:can|could|would|will) (?:we|you|u)"
    r"|(?:can|could) [^,]* be (?:\w+ed|built|made|run|sped|split)"
    r"|(?:and|so|then|,) (?:then )?(?:add|change|clean|commit|create|do|fix|implement|make|mend|push|refactor|remove"
    r"|rename|repair|replace|revert|run|ship|update|write)"
    r"|broken|crash(?:e[ds]|ing)?|errors?|fail(?:ed|ing|s|ures?)?|flaky|hang(?:ing|s)?)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    rf"{_BEFORE}(?:(?:"
    rf"(?:can|could|would) (?:you|u) {_TO_TELL}"
    r"|what(?:'?s)?|why|how|which|whose|who(?:'?s)?|where(?:'?s)?"
    r"|when (?:are|can|did|do|does|is|should|was|were|will)"
    rf"|(?:do|have) {_PEOPLE}|(?:am|are|did|does|had|has|is|should|was|were) {_SUBJECT}"
    rf"|explain(?! analy)|difference between|remind me|tell me)\b{_REST}[.?!\s]*"
    rf"|(?:are|did|does|is|was|were|(?:can|could|should|would)(?! (?:we|you|u)\b))\b{_REST}\?[?!\s]*)",
    re.IGNORECASE,
)


def only_asks(prompt: str) -> bool:
    """Whether it is one question and nothing else. Of what it is about some is work: why a service is down."""
    if len(prompt) > LONGEST or _ASKS.fullmatch(prompt.strip()) is None:
        return False
    return _WANTS.search(_POLITE.sub("", prompt)) is None
