"""Small things about text that several parts of learning need."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prowess.learning.remembered import remembered

__all__ = [
    "STOP_WORDS", "cut_at_sentence", "cut_at_word", "ends", "entries", "plain", "stems", "stems_of", "table", "terms",
    "words",
]  # fmt: skip

STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been but by can could did do does for from get give had
    has have he help her him his how i if in into is it its just let like make may me more my need new no not now of
    off on one or our out over please shall she should show so some such tell than that the their them then there these
    they this those to too up us use using want was way we were what when where which while who whom why will with
    would you your
    """.split()  # noqa: SIM905 - a hundred quoted words would be no easier to read
)

_LOOSE = " ,;:\u200c\u200d"  # what joins the word that is left out would join nothing
_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[()][A-Z0-9])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WORD = re.compile(r"[^\W_]+")
# Of ASCII a word's characters in small letters, and a space for all else: three times as fast as to look for words.
_SPACED = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def entries(written: str) -> list[str]:
    """The entries of a list that is written in lines, with semicolons between those of one line."""
    return re.split(r"[;\n]\s*", written.strip())


def table(written: str) -> dict[str, str]:
    """``entries`` such as ``git rm: files`` by what stands before the colon."""
    return dict(entry.split(": ", 1) for entry in entries(written))


def plain(text: str) -> str:
    """``text`` without terminal colours and control characters, with ``\\n`` between lines."""
    return _CONTROL.sub("", _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def words(text: str) -> list[str]:
    """Lower-case words in order; ``snake_case`` and ``camelCase`` are taken apart."""
    is_lower = text.islower()
    if not (is_lower or text[1:].islower()):  # else there is no hump, and looking for one takes half the time
        text = _HUMP.sub(" ", text)
    if text.isascii():
        return text.encode().translate(_SPACED).decode().split()
    found: list[str] = _WORD.findall(text)
    return found if is_lower else [word.lower() for word in found]


def terms(text: str) -> dict[str, str]:
    """The words of ``text`` that carry meaning, by stem, in order of appearance: stem to the first word with it."""
    found: dict[str, str] = {}
    for word in words(text):
        if stem := _kept(word):
            found.setdefault(stem, word)
    return found


def stems(text: str) -> list[str]:
    """The stems of the words of ``text`` that carry meaning, in order, repeats included."""
    return stems_of(words(text))


def stems_of(said: Iterable[str]) -> list[str]:
    """The stems of those lower-case words that carry meaning, in order, repeats included."""
    return [*filter(None, map(_kept, said))]


@remembered(16_384)
def _kept(word: str) -> str:
    """The stem of ``word``, "" where it carries no meaning."""
    return _stem(word) if len(word) > 1 and word not in STOP_WORDS and not word.isdigit() else ""


def _stem(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending, least in (("ing", 6), ("ed", 5), ("es", 5), ("s", 4), ("e", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def ends(text: str, size: int) -> str:
    """The first and last ``size`` characters: where a program says what went wrong."""
    return text if len(text) <= 2 * size else f"{text[:size]}\n{text[-size:]}"


def cut_at_word(text: str, most: int) -> str:
    """``text``, or its beginning of up to ``most`` characters that ends with a whole word, and "…".

    A word that takes more than a third of the room is cut in its middle.
    """
    if len(text) <= most:
        return text
    head = text[: most - 1]
    cut = head if text[most - 1].isspace() else head[: head.rfind(" ")] if head.rfind(" ") > most * 2 // 3 else head
    return f"{cut.rstrip(_LOOSE)}…"


def cut_at_sentence(text: str, most: int) -> str:
    """Like ``cut_at_word``, but without a sentence that would be cut, where whole ones stand before it."""
    if len(text) <= most:
        return text
    end = text[:most].rfind(". ")
    return text[: end + 1] if end > 0 else cut_at_word(text, most)
