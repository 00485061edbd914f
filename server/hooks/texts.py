"""Texts of an event made small and free of secrets, before they leave the process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["MAX_ARGS", "MAX_OBSERVATION", "MAX_PROMPT", "as_json", "bounded", "masked", "safe"]

MAX_OBSERVATION = 64_000  # characters, as are the following; masking more would cost too much of a hook's time
MAX_PROMPT = 16_000
MAX_ARGS = 64_000
MAX_VALUE = 4_000  # of one argument where all of them are too long
MARGIN = 2_000  # masked and then dropped at a cut, so that none of a secret's halves is left there
DEEPEST = 40


def safe(text: str, limit: int) -> str:
    """``text`` without secrets, its beginning and end where it is longer than ``limit``."""
    if len(text) <= limit:
        return str(_redaction().mask(text))
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(text) - head - tail
    first, last = _redaction().mask_many([text[: head + MARGIN], text[-tail - MARGIN :]])
    marker = f"[… cut by prowess: {left_out} of {len(text)} characters left out …]"
    return f"{first[: len(first) - MARGIN][:head]}\n{marker}\n{last[MARGIN:][-tail:]}"


def masked(value: Any) -> Any:
    """A JSON value without secrets."""
    return _redaction().mask_value(value)


def bounded(args: dict[str, Any]) -> dict[str, Any]:
    """Arguments without secrets, long values cut where all together are longer than ``MAX_ARGS``."""
    if len(as_json(args)) <= MAX_ARGS:
        return dict(masked(args))
    short = {name[:200]: _short(value) for name, value in list(args.items())[:200]}
    return short if len(as_json(short)) <= MAX_ARGS else {"input": safe(as_json(short), MAX_ARGS // 2)}


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else as_json(value)
    return masked(value) if len(text) <= MAX_VALUE else safe(text, MAX_VALUE)


def as_json(value: Any) -> str:
    """Compact JSON; text for what is nested too deep."""
    import json

    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return "[a value that cannot be written as JSON]"


def _redaction() -> Any:
    from prowess.learning import redaction

    return redaction
