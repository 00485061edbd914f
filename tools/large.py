"""Which values a thread is worth: going through them would hold the event loop for more than a few milliseconds."""

from __future__ import annotations

from itertools import islice
from typing import Any

__all__ = ["is_large"]

_MANY = 200  # items in all
_LONG = 50_000  # characters of a text, which may hold a list


def is_large(value: Any) -> bool:
    """Whether a JSON value takes long to read; looks at no more of it than tells."""
    count, waiting = 0, [value]
    while waiting and count <= _MANY:
        item = waiting.pop()
        if isinstance(item, str) and len(item) > _LONG:
            return True
        if isinstance(item, dict | list):
            count += len(item)
            waiting += islice(item, _MANY)
        if isinstance(item, dict):
            waiting += islice(item.values(), _MANY)
    return count > _MANY
