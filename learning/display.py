"""Stored text as it may be shown: to a model, on a terminal, in a file. One rule for every way out.

What was stored came from anywhere: web pages, tool results, strangers who share a remote. Shown as it is, it could hide
words from a person that a model reads, turn the direction of writing, steer a terminal, or pose as the frame that a
client puts around what it says itself. So of all text that is shown

- what cannot be seen stands as an escape as JSON has it (``\\u202e``): controls, marks of direction, letters without
  width, variation selectors, tag characters, private use;
- the ``<`` (or ``[``) of what a client or a model takes for its own frame, such as ``</system-reminder>``, ``<system>``
  or ``<|im_start|>``, stands as ``\\u003c`` (``\\u005b``).

All else stays as it is: letters of every script, emoji with their joiners and selectors, the joiners that Persian and
Indic words need, code such as ``List<User>`` and ``<div>``. Within JSON the escapes mean the same text, so that a value
can be run as it was; elsewhere they can be seen, and nothing is lost. To show a text twice changes nothing more.

The invisible are Unicode's Default_Ignorable_Code_Point, controls and private use. What is unassigned is not among
them, since newer emoji are to an older Python.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

__all__ = ["replaced", "shown", "shown_value"]

_UNSEEN = (
    r"\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
)
# The flags of England, Scotland and Wales: the only ones that Unicode recommends of those spelled with tags.
_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
    "\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_LONGEST_FLAG = 7
_DEEPEST = 20  # frames within each other: of one, 200 characters are looked at, and an escaped one has at least 11

# Tags by which clients (Claude Code, Codex, Cursor) and models tell whose words follow.
_SPEAKER = "system|assistant|human|user|developer|instructions?|reminder|invoke|think(?:ing)?"
_COMPOUND = (
    r"system[-_:][\w-]+|[\w-]{1,40}[-_](?:reminders?|instructions?|hook|notification)"
    r"|tool[-_](?:use|call|result|response|output)\w*|function[-_](?:call|result)s?|antml:[\w-]+"
    r"|(?:start|end)_of_\w+|local-command-[\w-]+|command-(?:name|message|args|contents)|bash-(?:input|stdout|stderr)|persisted-output"
    r"|environment_context|user_(?:query|info|shell_command)|ide_\w+|new-diagnostics|turn_aborted|additional_data"
)
_SEEN = r"[^\W\u115f\u1160\u3164\uffa0]"  # of words; four letters of Korean are blanks
# What is behind a letter is a type's argument; those of an escape within JSON are none.
_APART = rf"(?:(?<!{_SEEN})|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{{4}}))"
# However far apart its signs are; a second run of blanks only behind the slash, or looking would take their square.
_BEGINS, _ENDS = r"<\s*(?:/\s*)?", r"<\s*/\s*"
_FRAME = re.compile(
    rf"{_ENDS}(?:{_SPEAKER})(?!-|{_SEEN})"
    rf"|{_BEGINS}(?:{_COMPOUND})(?!-|{_SEEN})"
    rf"|{_ENDS}[a-z][^\W_]*[-_][\w-]+\s*>"  # what frame a client of tomorrow uses, at its end
    rf"|{_APART}<(?:{_SPEAKER})(?:\s|\\[nrt])[^<>]{{0,200}}>"
    rf"|{_APART}<\s*(?:{_SPEAKER})\s*(?:/\s*)?>"
    # special words of models, some with wide bars
    r"|<[|\uff5c][\w\u2581-]{1,40}[|\uff5c]>|<</?sys>>"
    r"|(?-i:\[/?(?:INST|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT))\])",
    re.IGNORECASE,
)


class _Suspects:
    """What has to be looked at: a class of characters alone is found quickly, a small one the more so."""

    def __init__(self, controls: str) -> None:
        self._ascii = re.compile(rf"[<\[\x7f{controls}]")
        self._any = re.compile(rf"[<\[{controls}{_UNSEEN}]")

    def within(self, text: str) -> re.Pattern[str] | None:
        """What finds them in ``text``, if there is any."""
        pattern = self._ascii if text.isascii() else self._any
        return pattern if pattern.search(text) else None


_IN_LINES = _Suspects(r"\x00-\x08\x0b-\x1f")
_IN_A_LINE = _Suspects(r"\x00-\x1f")
_IN_A_VALUE = _Suspects("")  # JSON escapes the controls wherever it is written

_SELECTORS = "\ufe0e\ufe0f"
_KEYS = "0123456789#*"  # of a telephone, with the sign of a key behind them
_SELECTED = "\u203c\u2049\u2139\u3030"  # of what is drawn as an emoji, what is no symbol
_JOINERS = "\u200c\u200d"
_JOINING = (("\u0900", "\u0dff"), ("\u1000", "\u109f"), ("\u1780", "\u17b3"), ("\u1820", "\u18aa"))
_MARKS = "\u061c\u200e\u200f"


def shown(text: str, *, line: bool = False) -> str:
    """``text`` as it may be shown. Its line breaks and tabs stay; as a ``line`` they are escaped like all else."""
    return _replaced(text, _IN_A_LINE if line else _IN_LINES, _escape)


def shown_value(value: Any) -> Any:
    """A JSON value with all of its texts, names too, as they may be shown. What JSON escapes itself (C0) stays."""
    if isinstance(value, str):
        return _replaced(value, _IN_A_VALUE, _escape)
    if isinstance(value, dict):
        return {shown_value(name): shown_value(part) for name, part in value.items()}
    return [shown_value(part) for part in value] if isinstance(value, list | tuple) else value


def replaced(text: str, instead: Callable[[str], str]) -> str:
    """``text`` with what ``instead`` gives for each character that may not be shown as it is in a line."""
    return _replaced(text, _IN_A_LINE, instead)


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if char in "<[\x7f" else json.dumps(char)[1:-1]


def _replaced(text: str, suspects: _Suspects, instead: Callable[[str], str]) -> str:
    pattern = suspects.within(text)
    if pattern is None:
        return text

    def one(found: re.Match[str]) -> str:
        char, at = found[0], found.start()
        stays = _FRAME.match(text, at) is None if char in "<[" else _is_needed(text, at)
        return char if stays else instead(char)

    for _ in range(_DEEPEST):
        safe = pattern.sub(one, text)
        # Without the sign of a frame within it, what stands around it may be one itself.
        done, text = safe.count("<") == text.count("<"), safe
        if done:
            break
    return text


def _is_needed(text: str, at: int) -> bool:
    """Whether the character does what it is for: it follows what it belongs to, so that no two stand in a row."""
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if not before or char < "\u034f":
        return False
    if char in _SELECTORS:
        return _is_symbol(before) or before in _SELECTED or (before in _KEYS and after == "\u20e3")
    if char in _JOINERS:
        return _joins_emoji(text, at, after) or _joins_letters(before)
    if char in _MARKS:
        return any(near not in _MARKS and unicodedata.bidirectional(near) in ("R", "AL") for near in before + after)
    if "\u180b" <= char <= "\u180f":
        return "\u1820" <= before <= "\u18aa"  # how a Mongolian letter is written
    return "\U000e0061" <= char <= "\U000e007f" and _is_of_a_flag(text, at)


def _is_of_a_flag(text: str, at: int) -> bool:
    begin = text.rfind("\U0001f3f4", max(0, at - _LONGEST_FLAG), at)
    found = _FLAG.match(text, begin) if begin >= 0 else None
    return found is not None and at < found.end()


def _is_symbol(char: str) -> bool:
    if char.isascii():
        return False
    return unicodedata.category(char) in ("So", "Sm", "Sk") or "\U0001f000" <= char <= "\U0001faff"


def _joins_emoji(text: str, at: int, after: str) -> bool:
    before = text[at - 1]
    is_emoji = _is_needed(text, at - 1) if before == "\ufe0f" else _is_symbol(before)
    return text[at] == "\u200d" and bool(after) and is_emoji and _is_symbol(after)


def _joins_letters(before: str) -> bool:
    """Whether ``before`` is of a script in which joiners decide how letters look: Arabic's kin, India's and others."""
    is_arabic = unicodedata.bidirectional(before) == "AL" and before not in _MARKS
    return is_arabic or any(first <= before <= last for first, last in _JOINING)
