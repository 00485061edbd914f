"""Times as the store writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["format_time", "not_before", "parse_time"]


def format_time(moment: datetime) -> str:
    """``moment`` (aware) in the store's notation."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The aware moment that ``text`` tells; ISO 8601 with a zone, else ValueError. So is what UTC has no year for."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no zone: add Z or an offset such as +01:00")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"time {text!r} is outside of the years 1 to 9999") from error


def not_before(last: str, at: str) -> str:
    """``at``, or just after ``last`` where the clock was set back since then, or is another one.

    Also ``at`` where nothing can be after ``last``: it is the end of time, or none.
    """
    if at >= last:
        return at
    try:
        return format_time(parse_time(last) + timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        return at
