"""Text as agents send it made fit to store: valid Unicode, no NUL, bounded in length and depth."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from prowess.learning.redaction.masking import mask
from prowess.tools.errors import ToolError

__all__ = ["clean", "clean_text", "cut", "cut_note", "quote", "to_json"]

# NUL ends a C string in the catalog's client, and lone surrogates have no UTF-8.
_UNFIT = re.compile("[\x00\ud800-\udfff]")
MAX_DEPTH = 64
_MAX_INTEGER = 2**63
_REACH = 8_192  # characters on either side of a cut in which a secret may lie across it; the longest are private keys


def clean_text(text: str) -> str:
    """``text`` with NUL and lone surrogates replaced by U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNFIT.sub("\ufffd", text)


def clean(value: Any, depth: int = 0) -> Any:
    """A JSON value with fit texts; numbers that no store can hold become text.

    Raises ``ToolError`` where it is nested deeper than 64 levels.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        return _big_number(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict | list | tuple):
        return _clean_nested(value, depth + 1)
    return value


def _big_number(value: int) -> str:
    # Python refuses to print integers beyond some thousand digits.
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _clean_nested(value: dict[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ToolError(f"a value is nested deeper than {MAX_DEPTH} levels", hint="Send it flatter, or as text.")
    if isinstance(value, dict):
        return {clean_text(str(key)): clean(item, depth) for key, item in value.items()}
    return [clean(item, depth) for item in value]


def cut(text: str, limit: int) -> str:
    """``text`` itself, or its beginning and end (3 : 1, an error mostly stands last) around a marker that says so.

    A secret that lies across an edge is masked: half of it would be known as one no more.
    """
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    marker = f"[… cut by prowess: {len(text) - head - tail} of {len(text)} characters left out …]"
    return f"{_up_to(text, head)}\n{marker}\n{_from(text, len(text) - tail)}"


def cut_note(field: str, text: str, limit: int) -> list[str]:
    """What to note on a ``field`` whose ``text`` is ``cut``; nothing where it is not."""
    if len(text) <= limit:
        return []
    return [f"{field} of {len(text)} characters was cut to {limit}: beginning and end were kept"]


def _up_to(text: str, end: int) -> str:
    kept, beyond = text[max(0, end - _REACH) : end], text[end : end + _REACH]
    masked = mask(kept + beyond)
    if masked == mask(kept) + mask(beyond):
        return text[:end]
    return text[: end - len(kept)] + masked[: max(0, min(len(kept), len(masked) - len(beyond)))]


def _from(text: str, start: int) -> str:
    beyond, kept = text[max(0, start - _REACH) : start], text[start : start + _REACH]
    masked = mask(beyond + kept)
    if masked == mask(beyond) + mask(kept):
        return text[start:]
    return masked[max(len(beyond), len(masked) - len(kept)) :] + text[start + len(kept) :]


def quote(value: Any, limit: int = 60) -> str:
    """``value`` as an error message shows it: one short line, without secrets."""
    shown = to_json(value) if isinstance(value, dict | list) else repr(value)
    shown = mask(shown[: limit + _REACH])  # what is cut first would be known as a secret no more
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def to_json(value: Any) -> str:
    """Compact JSON; what JSON cannot say is said as text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
