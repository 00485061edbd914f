"""What a setting's value may be: text or a TOML value in, the value that ``Settings`` has out, or ValueError."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from prowess.server.shim import places

__all__ = ["amount", "count", "days", "level", "names", "path", "price", "share", "switch", "text", "tokens", "whole"]

MOST_TOKENS = 20_000  # that find_skill may be asked for
MOST_WITHHELD = 0.5  # a skill that is shown less often than not is no help

N = TypeVar("N", int, float)


def text(value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise ValueError("text is expected")  # noqa: TRY004 - one kind of error for all values
    return str(value).strip()


def path(value: Any) -> Path:
    expanded = places.expanded(str(value) if isinstance(value, Path) else text(value))
    if expanded.startswith("~"):
        raise ValueError("nobody knows the folder that ~ means")
    return Path(expanded)


def _number(value: Any, kind: type[N], low: int, high: int, expected: str) -> N:
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{expected} is expected") from None
    if isinstance(value, bool):  # `keep_days = true` would keep one day
        raise ValueError(f"{expected} is expected")  # noqa: TRY004 - one kind of error for all values
    if not low <= number <= high or (isinstance(value, float) and number != value):  # 0.5 days are not 0, for ever
        raise ValueError(f"{expected} is expected")
    return number


def amount(value: Any) -> float:
    return _number(value, float, 0, 1_000_000, "a number from 0 to 1000000")


def whole(value: Any) -> int:
    return _number(value, int, 0, 10**12, "a whole number from 0 to 1000000000000")


def days(value: Any) -> int:
    return _number(value, int, 0, 100_000, "a whole number from 0 to 100000")  # with more, no date is so far back


def share(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if not 0 <= number <= MOST_WITHHELD:
        raise ValueError(f"a share from 0 to {MOST_WITHHELD} is expected")
    return number


def tokens(value: Any) -> int:
    return _number(value, int, 0, MOST_TOKENS, f"a whole number from 0 to {MOST_TOKENS}")


def count(value: Any) -> int:
    return _number(value, int, 1, 1000, "a whole number from 1 to 1000")


def price(value: Any) -> tuple[float, float]:
    parts = value if isinstance(value, list | tuple) else text(value).split(",")
    if len(parts) != 2:
        raise ValueError("two numbers, such as 0.8,4, are expected")
    return amount(parts[0]), amount(parts[1])


def names(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else text(value).split(",")
    return tuple(name for part in parts if (name := text(part)))


def switch(value: Any) -> bool:
    told = str(value).strip().lower()
    if told not in ("true", "false", "1", "0", "yes", "no"):
        raise ValueError("true or false is expected")
    return told in ("true", "1", "yes")


def level(value: Any) -> str:
    told = text(value).upper()
    if told not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ValueError("one of DEBUG, INFO, WARNING, ERROR is expected")
    return told
