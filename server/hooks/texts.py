"""Texts of an event made small and free of secrets, before they leave the process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["MAX_ARGS", "MAX_OBSERVATION", "MAX_PROMPT", "as_json", "bounded", "masked", "safe", "unprinted"]

MAX_OBSERVATION = 64_000  # characters, as are the following; masking more would cost too much of a hook's time
MAX_PROMPT = 16_000
MAX_ARGS = 64_000
MAX_KEY = 200
MAX_VALUE = 4_000  # of one argument where all of them are too long
MARGIN = 2_000  # masked and then dropped at a cut, so that none of a secret's halves is left there
MAX_MARK = 120
KEY_MARK = "-----BEGIN PRIVATE KEY-----"


def safe(text: str, limit: int) -> str:
    """``text`` without secrets, its beginning and end where it is longer than ``limit``."""
    if not text:
        return ""  # the rules are not even imported
    if len(text) <= limit:
        return str(_redaction().mask(text))
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(text) - head - tail
    first, last = _redaction().mask_many([text[: head + MARGIN], _from(text, len(text) - tail - MARGIN)])
    marker = f"[… cut by prowess: {left_out} of {len(text)} characters left out …]"
    if len(text) > head + MARGIN:
        first = first[: len(first) - MARGIN]
    return f"{first[:head]}\n{marker}\n{last[MARGIN:][-tail:]}"


def _from(text: str, start: int) -> str:
    """``text[start:]``; in the middle of a private key, which may be longer than ``MARGIN``, with its first line."""
    begin = text.rfind("-----BEGIN ", 0, start)
    line = text[begin : begin + MAX_MARK].partition("\n")[0]
    inside = begin >= 0 and "PRIVATE KEY" in line and text.find("-----END ", begin, start) < 0
    return f"{KEY_MARK}\n{text[start:]}" if inside else text[start:]


def masked(value: Any) -> Any:
    """A JSON value without secrets."""
    return _redaction().mask_value(value)


def unprinted(args: dict[str, Any], said: str) -> str:
    """What a tool answered, or a mask where that is a secret by what it was called with."""
    if not said:
        return ""
    from prowess.learning.redaction.printed import hidden

    return hidden(args, said)


def bounded(args: dict[str, Any]) -> dict[str, Any]:
    """Arguments without secrets, long values cut where all together are longer than ``MAX_ARGS``."""
    if len(as_json(args)) <= MAX_ARGS:
        return dict(masked(args))
    short = {str(masked(name[: MAX_KEY + MARGIN]))[:MAX_KEY]: _short(value) for name, value in list(args.items())[:200]}
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
    from prowess.learning.redaction import masking

    return masking
