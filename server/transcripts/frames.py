"""Text that a program wrote in the user's name: it stands whole between two tags that no person types."""

from __future__ import annotations

import re

__all__ = ["is_framed"]

_BEGINNING = re.compile(r"\s{0,99}<([A-Za-z]{1,40}(?:[_-][A-Za-z]{1,40}){1,6})(?=[\s>])")


def is_framed(text: str) -> bool:
    """Whether ``text`` is one element, named with ``_`` or ``-`` as clients name theirs and HTML hardly does."""
    found = _BEGINNING.match(text)
    return found is not None and text.rstrip().endswith(f"</{found[1]}>")
