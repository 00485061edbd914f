"""Mask secrets in text and JSON, before it is written and again before it is shown.

The provider rules are a maintained detector's (``redaction_rules.py``, see ``compile_rules.py``); the general ones
(``redaction_general.py``) know headers, URLs, keys, cookies and assignments. Only the standard library is needed, so
that a hook can use them too.

A secret becomes ``[masked:rule]``. Masking is stable: a masked text stays as it is. A rule runs only near one of its
keywords, on bytes (where ``re`` reads letters and boundaries as ASCII, as the rules' authors meant it), and every
repetition is bounded, so the time is linear in the text.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prowess.learning.redaction_general import GENERAL, LONG, is_dummy, is_secret_field, passes
from prowess.learning.redaction_rules import RULES, SOURCE

__all__ = ["RULES", "SOURCE", "mask", "mask_many", "mask_value"]

PASSES = 8  # each pass masks what the one before uncovered; two are the rule
DEEPEST = 100  # nesting of JSON that is followed; what lies deeper is masked whole
SMALL = 512  # bytes; below, a list of the distinct words is no shorter than the text
END = -1  # marks the end of a word in a trie
SEPARATOR = b"\n\x00\n"

_MARK = re.compile(rb"\[masked:[\w.-]{1,64}\]")
_REST = re.compile(rb"[^\s\"'`,;(){}\[\]<>\\]*+")
_GENERAL_NAMES = frozenset(rule[0] for rule in GENERAL)
_PIECE = re.compile(rb"[a-z0-9]+[-_.:=~]?")


class _Span(NamedTuple):
    start: int
    end: int
    rule: str


class _Rule(NamedTuple):
    name: str
    keywords: tuple[bytes, ...]
    pattern: str
    group: int
    entropy: float
    reach: int
    general: bool


def mask(text: str) -> str:
    """``text`` with every secret that a rule knows replaced by ``[masked:rule]``."""
    return mask_many([text])[0]


def mask_many(texts: Sequence[str]) -> list[str]:
    """``mask`` of each text; cheaper than one call for each, as the keywords are looked for once."""
    raw = [text.encode("utf-8", "surrogatepass") for text in texts]
    rules = _awake(SEPARATOR.join(raw).lower())
    return [
        text if masked is before else masked.decode("utf-8", "surrogatepass")
        for text, before in zip(texts, raw, strict=True)
        for masked in [_masked(before, rules)]
    ]


def mask_value(value: Any) -> Any:
    """A JSON value with its texts masked; under a key such as ``password`` or ``api_key`` the whole value is."""
    texts: list[str] = []
    _collect(value, texts, 0)
    return _rebuild(value, iter(mask_many(texts)), 0)


def _collect(value: Any, texts: list[str], depth: int) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, Mapping) and depth < DEEPEST:
        for key, item in value.items():
            texts.append(str(key))
            _collect(item, texts, depth + 1)
    elif isinstance(value, list | tuple) and depth < DEEPEST:
        for item in value:
            _collect(item, texts, depth + 1)


def _rebuild(value: Any, masked: Iterator[str], depth: int) -> Any:
    if isinstance(value, str):
        return next(masked)
    if isinstance(value, Mapping | list | tuple) and depth >= DEEPEST:
        return "[masked:nesting]"
    if isinstance(value, Mapping):
        pairs = ((next(masked), key, _rebuild(item, masked, depth + 1), item) for key, item in value.items())
        return {name if isinstance(key, str) else key: _field(str(key), new, old) for name, key, new, old in pairs}
    if isinstance(value, list | tuple):
        return [_rebuild(item, masked, depth + 1) for item in value]
    return value


def _field(key: str, masked: Any, value: Any) -> Any:
    if isinstance(value, list | tuple) and isinstance(masked, list):
        return [_field(key, new, old) for new, old in zip(masked, value, strict=True)]
    if isinstance(value, str | int | float) and is_secret_field(key, value):
        return masked if isinstance(masked, str) and _MARK.fullmatch(masked.encode()) else "[masked:secret-field]"
    return masked


@functools.cache
def _rules() -> tuple[_Rule, ...]:
    provider = [
        _Rule(name, tuple(word.encode() for word in words), pattern, group, entropy, reach, general=False)
        for name, words, pattern, group, entropy, reach in RULES
    ]
    general = [
        _Rule(name, tuple(word.encode() for word in words), pattern, 0, 0.0, 0, general=True)
        for name, words, pattern in GENERAL
    ]
    return (*provider, *general)


class _Index(NamedTuple):
    """Which rules each keyword wakes, and the pieces of keywords to look for in a text's vocabulary.

    ``search`` finds at each place the shortest piece; ``keywords`` are those of all pieces that begin with it, and
    under the empty piece those that are made of signs only; ``pieces`` are all pieces of a keyword.
    """

    rules: dict[bytes, list[int]]
    search: re.Pattern[bytes]
    keywords: dict[bytes, list[bytes]]
    pieces: dict[bytes, list[bytes]]


@functools.cache
def _index() -> _Index:
    rules: dict[bytes, list[int]] = {}
    for number, rule in enumerate(_rules()):
        for keyword in rule.keywords:
            rules.setdefault(keyword, []).append(number)
    pieces: dict[bytes, list[bytes]] = {}
    for keyword in rules:
        pieces.setdefault(max(_PIECE.findall(keyword), key=len, default=b""), []).append(keyword)
    keywords = {b"": pieces.pop(b"", [])}
    search = re.compile(b"(?=(%b))" % _trie_pattern(_trie(pieces)))
    for piece, words in pieces.items():
        keywords.setdefault(search.match(piece)[1], []).extend(words)  # type: ignore[index]
    return _Index(rules, search, keywords, {keyword: _PIECE.findall(keyword) for keyword in rules})


_Trie = dict[int, "_Trie"]


def _trie(words: Iterable[bytes]) -> _Trie:
    root: _Trie = {}
    for word in words:
        node = root
        for byte in word:
            node = node.setdefault(byte, {})
        node[END] = {}
    return root


def _trie_pattern(node: _Trie) -> bytes:
    if END in node:
        return b""
    branches = [re.escape(bytes([byte])) + _trie_pattern(child) for byte, child in sorted(node.items())]
    return branches[0] if len(branches) == 1 else b"(?:%b)" % b"|".join(branches)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode("latin-1"))


def _awake(lower: bytes) -> list[_Rule]:
    """The rules with a keyword somewhere in ``lower``, each with the keywords that occur."""
    index, rules = _index(), _rules()
    # Looking through the distinct words is several times faster than through the text.
    vocabulary = b"\n".join({*_PIECE.findall(lower)}) if len(lower) > SMALL else lower
    hits = {b"", *index.search.findall(vocabulary)}
    found = {
        keyword
        for hit in hits
        for keyword in index.keywords[hit]
        if all(piece in vocabulary for piece in index.pieces[keyword]) and keyword in lower
    }
    woken = sorted({number for keyword in found for number in index.rules[keyword]})
    return [rules[n]._replace(keywords=tuple(word for word in rules[n].keywords if word in found)) for n in woken]


def _masked(raw: bytes, rules: Sequence[_Rule]) -> bytes:
    for _ in range(PASSES if rules else 0):
        spans = _merged(_spans(raw, rules))
        if not spans:
            break
        pieces, at = [], 0
        for start, end, rule in spans:
            pieces += [raw[at:start], f"[masked:{rule}]".encode()]
            at = end
        raw = b"".join([*pieces, raw[at:]])
    return raw


def _spans(raw: bytes, rules: Sequence[_Rule]) -> Iterator[_Span]:
    lower = raw.lower()
    for rule in rules:
        yield from _around(raw, lower, rule) if rule.reach else _beginning(raw, lower, rule)


def _beginning(raw: bytes, lower: bytes, rule: _Rule) -> Iterator[_Span]:
    """Secrets whose match begins with a keyword. What was found needs no second look, which bounds repeated text."""
    pattern = _compiled(rule.pattern)
    done = 0
    for at in sorted(at for word in rule.keywords for at in _places(lower, word)):
        if at >= done and (match := pattern.match(raw, at)) and (span := _span(raw, rule, match)):
            done = span.end
            yield span


def _around(raw: bytes, lower: bytes, rule: _Rule) -> Iterator[_Span]:
    """Secrets whose match holds a keyword somewhere."""
    pattern = _compiled(rule.pattern)
    for start, end in _windows(lower, rule):
        for match in pattern.finditer(raw, start, end):
            # At the window's edge "end of text" is not true; the window of the next keyword decides.
            if (match.end() < end or end == len(raw)) and (span := _span(raw, rule, match)):
                yield span


def _windows(lower: bytes, rule: _Rule) -> Iterator[tuple[int, int]]:
    """Stretches that hold every match around a keyword, in order, not overlapping."""
    start, end = 0, -1
    for at in sorted(at for word in rule.keywords for at in _places(lower, word)):
        left, right = max(0, at - rule.reach), min(len(lower), at + 2 * rule.reach + 64)
        if left > end:
            if end >= 0:
                yield start, end
            start = left
        end = max(end, right)
    if end >= 0:
        yield start, end


def _places(lower: bytes, word: bytes) -> Iterator[int]:
    at = lower.find(word)
    while at >= 0:
        yield at
        at = lower.find(word, at + len(word))


def _span(raw: bytes, rule: _Rule, match: re.Match[bytes]) -> _Span | None:
    start, end = match.span(_group(rule, match))
    secret = raw[start:end]
    if not secret or _is_masked(secret) or (rule.entropy and _entropy(secret) <= rule.entropy):
        return None
    if is_dummy(secret) or (rule.general and not passes(rule.name, match, secret)):
        return None
    if rule.general and len(secret) >= LONG:
        end = _REST.match(raw, end).end()  # type: ignore[union-attr]
    return _Span(*_whole_characters(raw, start, end), rule.name)


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
    return b"[masked:" in secret and not _MARK.sub(b"", secret).strip(b" \t\r\n\"'`,;:=")


def _entropy(secret: bytes) -> float:
    """Shannon entropy, bits per byte."""
    size = len(secret)
    return -sum(count / size * math.log2(count / size) for count in Counter(secret).values())


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    """Overlapping spans joined; a joined span is named for the provider's rule, if one is in it."""
    merged: list[_Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            name = span.rule if last.rule in _GENERAL_NAMES and span.rule not in _GENERAL_NAMES else last.rule
            merged[-1] = _Span(last.start, max(last.end, span.end), name)
        else:
            merged.append(span)
    return merged
