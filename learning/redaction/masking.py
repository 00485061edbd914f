"""Mask secrets in text and JSON, before it is written and again before it is shown.

The provider rules are a maintained detector's (``rules.py``, see ``scripts/``); the general ones
(``general.py``, and ``checks.py`` for whether a match is a secret) know headers, URLs, keys,
cookies, options, assignments and the shape of tokens. Only the standard library is needed, so that a hook can use them.

A secret becomes ``[masked:rule]``. Masking is stable: a masked text stays as it is. A rule runs only near one of its
keywords, or where a word has a token's shape, on bytes (where ``re`` reads letters and boundaries as ASCII, as the
rules' authors meant it), and every repetition is bounded, so the time is linear in the text.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys

from prowess.learning.redaction.checks import passes
from prowess.learning.redaction.columns import in_columns, of_kubernetes
from prowess.learning.redaction.fields import masked_value, tells_nothing
from prowess.learning.redaction.general import EXTRA, GENERAL, LIKELY, LONG, SHAPED
from prowess.learning.redaction.programs import PIPED
from prowess.learning.redaction.rules import RULES
from prowess.learning.redaction.values import MARK, is_dummy, is_name, lazy
from prowess.learning.redaction.views import behind_escapes, laid_out, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    Span: TypeAlias = tuple[int, int, str]  # start, end, rule
    Rule: TypeAlias = tuple[str, tuple[str, ...], str, int, float, int]  # as in rules.py

__all__ = ["mask", "mask_fields", "mask_many", "mask_value", "ready"]

PASSES = 8  # each pass masks what the one before uncovered; two are the rule
FEW = 8  # looks for keywords; a process that takes no more, as a hook does, spends less on each than on an index
SMALL = 512  # bytes; below, a list of the distinct words is no shorter than the text
GRAM = 4  # bytes of a machine's "unsigned int"
SEPARATOR = b"\n\x00\n"
ANYWHERE = b""  # the keyword of a rule that no literal wakes, but a word of ``LIKELY`` form
ASSIGNMENT = "secret-assignment"  # woken wherever a secret's name stands
SHORTEST_LIKELY = 23  # bytes of such a word

_looks = itertools.count()
_REST = lazy(rb"[^\s\"'`,;(){}\[\]<>\\]*+")
COLUMN, KUBERNETES = "secret-column", "kubernetes-secret"
_GENERAL_NAMES = frozenset((*(rule[0] for rule in (*GENERAL, *SHAPED)), COLUMN, KUBERNETES))
# In every match of ``LIKELY``, and faster.
_LONG_RUN = lazy(rb"[-_.](?:(?=[a-z]{0,40}[0-9])[a-z0-9]{12}|(?<=[tk].)[0-9a-z-]{0,5}[0-9a-f]{8}-)")
_COMMON_FIRST = b" etaoinsrhld0123_.-=:cumfp4567gwybvk89xj~qz"  # bytes of ordinary text, roughly
_WORDS = bytes(byte if chr(byte) in "abcdefghijklmnopqrstuvwxyz0123456789-_.:=~" else 32 for byte in range(256))


class _Rule:
    """A rule with those of its keywords that were found. No named tuple, which takes a hook longer to import."""

    __slots__ = ("entropy", "general", "group", "keywords", "name", "pattern", "reach")

    def __init__(self, number: int, keywords: tuple[bytes, ...]) -> None:
        self.name, words, self.pattern, self.group, self.entropy, self.reach = _rules()[number]
        self.keywords = tuple(word for word in map(str.encode, words) if word in keywords)
        self.general = number >= len(RULES) + len(EXTRA)


def mask(text: str) -> str:
    """``text`` with every secret that a rule knows replaced by ``[masked:rule]``."""
    return mask_many([text])[0]


def ready() -> None:
    """Make the index of keywords, for which the ninth look would take 20 to 40 ms more: a server has it before."""
    _index()


def mask_many(texts: Sequence[str]) -> list[str]:
    """``mask`` of each text; cheaper than one call for each, as the keywords are looked for once."""
    raw = [text.encode("utf-8", "surrogatepass") for text in texts]
    found = _keywords_in(SEPARATOR.join(map(_readings, raw)).lower())
    if not found:
        return list(texts)
    return [
        text if masked is before else masked.decode("utf-8", "surrogatepass")
        for text, before in zip(texts, raw, strict=True)
        for masked in [_masked(before, found if len(raw) == 1 else _those_in(before, found))]
    ]


def mask_value(value: Any) -> Any:
    """A JSON value with its texts masked; under a key such as ``password`` or ``api_key`` the whole value is.

    So is what another field of the object names so, and what follows such an option in a command's list of words.
    """
    return masked_value(value, mask_many, mask)


def mask_fields(value: Any) -> Any:
    """A JSON value with what its shape tells to be a secret masked, and no other text, which the store masks."""
    return value if tells_nothing(value) else masked_value(value, list, mask)


@functools.cache
def _rules() -> tuple[Rule, ...]:
    shaped = ((name, ("",), pattern) for name, pattern in SHAPED)
    return (*RULES, *EXTRA, *((name, words, pattern, 0, 0.0, 0) for name, words, pattern in (*GENERAL, *shaped)))


class _Index:
    """How to find keywords.

    ``grams`` has the keywords by four bytes of theirs, read as a number (all of them: ``numbers``); ``short`` are those
    with fewer than three bytes in a row that belong to a word; ``parted`` are those that no single word holds.
    """

    def __init__(self, keywords: Sequence[bytes]) -> None:
        self.grams: dict[int, list[bytes]] = {}
        for keyword in keywords:
            for gram in _grams_of(keyword):
                self.grams.setdefault(int.from_bytes(gram, sys.byteorder), []).append(keyword)
        self.numbers = frozenset(self.grams)
        self.short = [keyword for keyword in keywords if not _grams_of(keyword)]
        self.parted = frozenset(keyword for keyword in keywords if b" " in keyword.translate(_WORDS))


@functools.cache
def _by_keyword() -> dict[bytes, list[int]]:
    """Which rules each keyword wakes."""
    rules: dict[bytes, list[int]] = {}
    for number, rule in enumerate(_rules()):
        for word in rule[1]:
            rules.setdefault(word.encode(), []).append(number)
    return rules


@functools.cache
def _literals() -> tuple[bytes, ...]:
    """The keywords that are looked for as they are."""
    return tuple(keyword for keyword in _by_keyword() if keyword != ANYWHERE)


@functools.cache
def _index() -> _Index:
    return _Index(_literals())


def _grams_of(keyword: bytes) -> list[bytes]:
    """Four bytes, as rare as can be, one of which occurs wherever ``keyword`` does; none if it is too short."""
    piece = max(keyword.translate(_WORDS).split(), key=len, default=b"")
    if len(piece) == GRAM - 1:
        return [piece + bytes([byte]) for byte in sorted({*_WORDS})]
    choices = [piece[at : at + GRAM] for at in range(len(piece) - GRAM + 1)]
    return [max(choices, key=lambda gram: sum(map(_COMMON_FIRST.find, gram)))] if choices else []


@functools.cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(behind_escapes(pattern).encode("latin-1"))


def _keywords_in(lower: bytes) -> list[bytes]:
    """The keywords that occur in ``lower``."""
    words = lower.translate(_WORDS)
    anywhere = [ANYWHERE] if _has_likely(distinct := {*words.split()}) else []
    if len(lower) > SMALL:
        # Looking through the distinct words is several times faster than through the text.
        words = b" ".join(distinct)
    if next(_looks) < FEW:
        return anywhere + sorted(word for word in _perhaps_in(words) if word in lower)
    index = _index()
    grams = itertools.chain.from_iterable(map(index.numbers.intersection, _grams_in(words)))
    likely = {keyword for gram in grams for keyword in index.grams[gram]}
    found = sorted(word for word in likely.union(index.short) if word in (lower if word in index.parted else words))
    return anywhere + found


def _perhaps_in(words: bytes) -> Iterator[bytes]:
    """The keywords whose first four bytes occur in ``words``, and those of which that does not tell."""
    grams = set[int]().union(*_grams_in(words))
    for keyword in _literals():
        first = keyword[:GRAM]
        if len(first) < GRAM or int.from_bytes(first, sys.byteorder) in grams or b" " in first.translate(_WORDS):
            yield keyword


def _has_likely(words: Iterable[bytes]) -> bool:
    """Whether one of ``words`` has the form of a token that no keyword tells."""
    long = b" ".join(filter(_LONG_RUN.search, (word for word in words if len(word) >= SHORTEST_LIKELY)))
    return bool(long) and _compiled(LIKELY).search(long) is not None


def _grams_in(text: bytes) -> Iterator[memoryview]:
    """Any four bytes of ``text`` and its end as numbers: comparing these beats a pattern of so many branches."""
    view = memoryview(text + b" " * GRAM)
    for start in range(GRAM):
        yield view[start : len(view) - (len(view) - start) % GRAM].cast("I")


@functools.lru_cache(maxsize=512)
def _woken(keywords: tuple[bytes, ...]) -> tuple[_Rule, ...]:
    """The rules with one of ``keywords``, each with those it has."""
    awake = _by_keyword()
    numbers = sorted({number for keyword in keywords for number in awake[keyword]})
    return tuple(_Rule(number, keywords) for number in numbers)


def _readings(raw: bytes) -> bytes:
    """``raw`` and, where it has escapes, what it means without them."""
    view = view_of(raw)
    return raw if view is None else raw + SEPARATOR + view.text


def _those_in(raw: bytes, keywords: Sequence[bytes]) -> list[bytes]:
    lower = _readings(raw).lower()
    found = [keyword for keyword in keywords if keyword in lower]
    if ANYWHERE in found and not _has_likely({*lower.translate(_WORDS).split()}):
        found.remove(ANYWHERE)
    return found


def _masked(raw: bytes, keywords: Sequence[bytes]) -> bytes:
    """``raw`` without the secrets of the rules that ``keywords`` wake."""
    rules = _woken(tuple(keywords))
    for _ in range(PASSES if rules else 0):
        spans = _merged(_all_spans(raw, rules))
        if not spans:
            break
        pieces, at = [], 0
        for start, end, rule in spans:
            pieces += [raw[at:start], f"[masked:{rule}]".encode()]
            at = end
        raw = b"".join([*pieces, raw[at:]])
    return raw


def _all_spans(raw: bytes, rules: Sequence[_Rule]) -> Iterator[Span]:
    yield from _spans(raw, rules)
    if (view := view_of(raw)) is not None:
        yield from ((*view.span(start, end), rule) for start, end, rule in _spans(view.text, rules))
    general = [rule for rule in rules if rule.general or rule.name == PIPED[0]]  # a provider's token needs no line
    if general and (view := laid_out(raw)) is not None:
        yield from ((*view.span(start, end), rule) for start, end, rule in _spans(view.text, general))


def _spans(raw: bytes, rules: Sequence[_Rule]) -> Iterator[Span]:
    lower = raw.lower()
    places = {word: _places(lower, word) for word in {word for rule in rules for word in rule.keywords} if word}
    for rule in rules:
        if rule.keywords == (ANYWHERE,):
            yield from _anywhere(raw, rule)
        else:
            starts = sorted(at for word in rule.keywords for at in places[word])
            if rule.name == ASSIGNMENT:
                yield from ((start, end, COLUMN) for start, end in in_columns(raw, starts))
            yield from _around(raw, starts, rule) if rule.reach else _beginning(raw, starts, rule)
    if places.get(b"secret") and b"kind" in raw:
        yield from ((start, end, KUBERNETES) for start, end in of_kubernetes(raw))


def _anywhere(raw: bytes, rule: _Rule) -> Iterator[Span]:
    """Secrets that no keyword tells."""
    yield from filter(None, (_span(raw, rule, match) for match in _compiled(rule.pattern).finditer(raw)))


def _beginning(raw: bytes, starts: Sequence[int], rule: _Rule) -> Iterator[Span]:
    """Secrets whose match begins with a keyword. What was found needs no second look, which bounds repeated text."""
    pattern = _compiled(rule.pattern)
    done = 0
    for at in starts:
        if at >= done and (match := pattern.match(raw, at)) and (span := _span(raw, rule, match)):
            done = span[1]
            yield span


def _around(raw: bytes, starts: Sequence[int], rule: _Rule) -> Iterator[Span]:
    """Secrets whose match holds a keyword somewhere."""
    pattern = _compiled(rule.pattern)
    for start, end in _windows(starts, rule.reach, len(raw)):
        for match in pattern.finditer(raw, start, end):
            # At the window's edge "end of text" is not true; the window of the next keyword decides.
            if (match.end() < end or end == len(raw)) and (span := _span(raw, rule, match)):
                yield span


def _windows(starts: Sequence[int], reach: int, size: int) -> Iterator[tuple[int, int]]:
    """Stretches that hold every match around a keyword, in order, not overlapping."""
    start, end = 0, -1
    for at in starts:
        left, right = max(0, at - reach), min(size, at + 2 * reach + 64)
        if left > end:
            if end >= 0:
                yield start, end
            start = left
        end = max(end, right)
    if end >= 0:
        yield start, end


def _places(lower: bytes, word: bytes) -> list[int]:
    places = []
    at = lower.find(word)
    while at >= 0:
        places.append(at)
        at = lower.find(word, at + len(word))
    return places


def _span(raw: bytes, rule: _Rule, match: re.Match[bytes]) -> Span | None:
    start, end = match.span(_group(rule, match))
    secret = raw[start:end]
    if not secret or _is_masked(secret) or (rule.entropy and _entropy(secret) <= rule.entropy):
        return None
    if is_dummy(secret) or not (passes(rule.name, match, secret) if rule.general else not is_name(secret)):
        return None
    if rule.general and len(secret) >= LONG and not rule.name.startswith("url-"):  # whose host stays
        end = _REST.match(raw, end).end()  # type: ignore[union-attr]
    return (*_whole_characters(raw, start, end), rule.name)


def _group(rule: _Rule, match: re.Match[bytes]) -> int:
    """A general rule's secret is its last group, a provider's the group it names, else the first that took part."""
    taking_part = [number for number, text in enumerate(match.groups(), 1) if text] or [0]
    return rule.group or taking_part[-1 if rule.general else 0]


def _whole_characters(raw: bytes, start: int, end: int) -> tuple[int, int]:
    while start > 0 and raw[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(raw) and raw[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _is_masked(secret: bytes) -> bool:
    """Nothing but marks, and what may stand around them, is left of ``secret``."""
    return b"[masked:" in secret and not MARK.sub(b"", secret).strip(b" \t\r\n\"'`,;:=")


def _entropy(secret: bytes) -> float:
    """Shannon entropy, bits per byte."""
    size, counts = len(secret), map(secret.count, dict.fromkeys(secret))
    return -sum(count / size * math.log2(count / size) for count in counts)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans joined; a joined span is named for the provider's rule, if one is in it."""
    merged: list[Span] = []
    for start, end, rule in sorted(spans):
        if merged and start < merged[-1][1]:
            begin, last, name = merged[-1]
            name = rule if name in _GENERAL_NAMES and rule not in _GENERAL_NAMES else name
            merged[-1] = begin, max(last, end), name
        else:
            merged.append((start, end, rule))
    return merged
