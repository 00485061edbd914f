"""Times as agents send them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from prowess.storage.models import format_time, parse_time
from prowess.tools.text import quote

__all__ = ["as_time"]

_EXAMPLE = "send ISO 8601 with a zone, e.g. 2026-11-29T13:50:01Z"


def as_time(value: Any) -> str:
    """The store's notation of an ISO time with a zone, or of seconds or milliseconds since 1970.

    Raises ValueError that says what to send.
    """
    try:
        return format_time(_since_1970(value) or parse_time(str(value).strip()))
    except (ValueError, OverflowError, OSError) as error:
        reason = str(error) if "has no zone" in str(error) else f"{quote(value)} is not a time"
        raise ValueError(f"{reason}; {_EXAMPLE}") from None


def _since_1970(value: Any) -> datetime | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    seconds = number / 1000 if number > 1e11 else number
    if not 1e8 < seconds < 1e11:
        raise ValueError("neither seconds nor milliseconds since 1970")
    return datetime.fromtimestamp(seconds, UTC)
