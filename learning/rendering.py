"""How many tokens an answer costs."""

from __future__ import annotations

import re

from prowess.learning.remembered import remembered

__all__ = ["count_tokens"]

_RUN = re.compile(r"[a-z]+|[A-Z]+[a-z]*|\d+|[^\W\d_]+|[^\w\s]|_+|\n+")


def count_tokens(text: str) -> int:
    """About how many tokens a language model reads ``text`` as, without its tokenizer.

    A run of ASCII letters counts 1 for up to 7 of them and 1 for each further 4, digits 1 for each 3, a sign, a line
    break and a wide (Chinese, Japanese, Korean) character 1 each, other letters 1 for each 3.
    """
    return sum(map(_cost, _RUN.findall(text)))


@remembered(8192)
def _cost(run: str) -> int:
    first = run[0]
    if first in "\n_" or len(run) == 1:
        return 1
    if first.isdigit():
        return -(-len(run) // 3)
    if run.isascii():
        return 1 if len(run) <= 7 else 1 + -(-(len(run) - 7) // 4)
    return len(run) if first >= "\u2e80" else -(-len(run) // 3)
