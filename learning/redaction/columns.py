"""Secrets that no name stands before: in a column of a table, or among the values of a Kubernetes secret.

In CSV, in a terminal's or Markdown's table and in SQL's ``INSERT`` a heading has the name, the rows have the values.
"""

from __future__ import annotations

import itertools
import re

from prowess.learning.redaction.values import could_stand_bare, is_placeholder, is_strong, is_wordy, lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    Place = tuple[int, int]  # start, end

__all__ = ["in_columns", "of_kubernetes"]

LONGEST_ROW = 2_048  # bytes
LONGEST_RESOURCE = 16_384  # bytes on each side of what tells that it is a secret
DEEPEST = 32  # spaces before an item of a list
LONGEST_VALUES = 8_192  # bytes of a row of SQL
LEAST = 6  # bytes of a value in a column
LEAST_TOLD = 4  # bytes of a value that is told to be a secret

_NAME = lazy(
    rb"(?i)(?:[\w.-]{1,32}[_. -])?"
    rb"(?:pass(?:word|wd|phrase|code)s?|pwd|secret|(?:api|access|secret|auth)[_ -]?(?:key|token))"
)
_HEADING = lazy(rb"[A-Za-z][\w.-]{0,31}(?: [\w.-]{1,31}){0,2}")
_RULE = lazy(rb"[-+|:= \t]{3,4096}")
_INSERT = lazy(rb"(?i)insert\s{1,8}into\s{1,8}[\w.\"`\[\]]{1,128}\s{0,8}\(([^()]{1,2000})\)\s{0,8}values\s{0,8}(?=\()")
# Each sign can be read in one way only: of a row without an end every other way would be tried, which has no end.
_TEXT = rb"'(?:[^'\\]|\\.){0,1000}+'"  # of "it''s" the two halves
_CALL = rb"\((?:" + _TEXT + rb"|[^()']){0,64}+\)"
_ROW = lazy(rb"(?s)\s{0,32},?\s{0,32}\(((?:" + _TEXT + rb"|" + _CALL + rb"|[^()']){1,2048}+)\)")
_FIELD = lazy(rb"(?s)(?:" + _TEXT + rb"|" + _CALL + rb"|[^,'()])+|(?<=,)(?=,)")
_QUOTED = lazy(rb"(?s)'(?:[^'\\]|''|\\.)*+'")
_PATH = lazy(rb"[\w.~-]{0,64}/[\w./-]{1,128}")
_KIND = rb"kind(?:\\{0,15}\")?\s{0,3}:\s{0,3}(?:\\{0,15}\")?Secret\b"
_SECRET_KIND = lazy(_KIND)
_BRACE_OR_KIND = lazy(rb"[{}]|" + _KIND)
_INDENT = lazy(rb"[^\n]*\n(?: *\n)*( *)(?=[^\s])")
_BLOCK = lazy(rb"(?m)(?:^|(?<=: \"))( {0,16}(?:- )?)(?:data|stringData):[ \t]*$")
_LINE = lazy(
    rb"(?m)^(?P<indent> *)(?:[\w.-]{1,128}:[ \t]*"
    rb"(?:(?P<block>[|>][+-]?)[ \t\r]{0,8}$|'(?P<single>[^\n']{4,8192})'|\"(?P<double>[^\n\"]{4,8192})\""
    rb"|(?P<bare>[^\s\"'|>](?:[^\r\n\"']|[\"'](?=\w)){3,8192}))|(?=\S))"
)
_JSON_END = lazy(rb"\"\s{0,3}[,}\]]")  # of the text that the last line stands in
_OBJECT = lazy(rb"\\{0,15}\"(?:data|stringData)\\{0,15}\"\s{0,8}:\s{0,8}\{([^{}]{0,16384})\}")
_MEMBER = lazy(rb"\\{0,15}\"[\w.-]{1,128}\\{0,15}\"\s{0,8}:\s{0,8}\\{0,15}\"([^\"\\\n]{4,8192})")


def in_columns(raw: bytes, names: Iterable[int]) -> Iterator[Place]:
    """Secrets in columns of which the name has a word at one of the places ``names``, in order."""
    done = -1
    for at in names:
        if at < done:
            continue
        start = raw.rfind(b"\n", max(0, at - LONGEST_ROW), at) + 1
        end = raw.find(b"\n", at, at + LONGEST_ROW)
        if end < 0 or at - start > LONGEST_ROW or (start == 0 and at > LONGEST_ROW):
            continue
        done = yield from _table(raw, start, end)
    for insert in _INSERT.finditer(raw) if b"nto" in raw or b"NTO" in raw else ():
        yield from _inserted(raw, insert)


def _table(raw: bytes, start: int, end: int) -> Generator[Place, None, int]:
    """What stands below the heading from ``start`` to ``end``, if it is one; returns where that ends."""
    heading = raw[start:end].rstrip(b"\r").rpartition(b': "')[2]  # the first line of a text in JSON
    for sign in (b"|", b"\t", b",", b";"):
        if sign not in heading:
            continue
        names = [name.strip(b" \"'*") for name in heading.split(sign)]
        chosen = [column for column, name in enumerate(names) if _NAME.fullmatch(name)]
        shown = [*filter(None, names)] if sign == b"|" else names  # a row may begin and end with "|"
        indented = sign != b"|" and heading[:1].isspace()  # as code is
        if chosen and not indented and len(shown) > 1 and all(map(_HEADING.fullmatch, shown)):
            return (yield from _rows(raw, end + 1, sign, len(names), chosen))
        break
    return end


def _rows(raw: bytes, at: int, sign: bytes, columns: int, chosen: list[int]) -> Generator[Place, None, int]:
    while at < len(raw):
        end = raw.find(b"\n", at, at + LONGEST_ROW)
        if end < 0:
            end = min(len(raw), at + LONGEST_ROW + 1)
            if sign != b"," or raw.count(sign, at, end) != columns - 1:  # quoted fields end as JSON's do
                end = _line_end(raw, at, end)
        row = raw[at:end]
        if _RULE.fullmatch(row.strip()) is None:
            cells = row.split(sign)
            if len(row) > LONGEST_ROW or len(cells) != columns:
                return at
            starts = [*itertools.accumulate((len(cell) + 1 for cell in cells), initial=at)]
            yield from (place for column in chosen for place in _cell(cells[column], starts[column]))
        at = end + 1
    return at


def _cell(cell: bytes, at: int) -> Iterator[Place]:
    value = cell.strip(b" \r\"'`}]")
    likely = len(value) >= LEAST and b" " not in value and could_stand_bare(value)
    path = _PATH.fullmatch(value) is not None and not is_strong(value)
    if likely and not path and not is_wordy(value) and not is_placeholder(value):
        start = at + cell.find(value)
        yield start, start + len(value)


def _inserted(raw: bytes, insert: re.Match[bytes]) -> Iterator[Place]:
    names = [name.strip(b' \t\r\n"`[]') for name in insert[1].split(b",")]
    chosen = [column for column, name in enumerate(names) if _NAME.fullmatch(name)]
    at = insert.end()
    while chosen and (row := _ROW.match(raw, at, at + LONGEST_VALUES)) is not None:
        at = row.end()
        fields = [(field.start(), field[0]) for field in _FIELD.finditer(row[1]) if field[0].strip() or not field[0]]
        for column in chosen:
            if column < len(fields):
                start, field = fields[column]
                text = _QUOTED.search(field)  # N'value', crypt('value', …)
                at_text, cell = (text.start(), text[0]) if text is not None else (0, field)
                yield from _cell(cell, row.start(1) + start + at_text)


def of_kubernetes(raw: bytes) -> Iterator[Place]:
    """The values of what is told to be of the kind ``Secret``, in YAML or in JSON."""
    last, whole = 0, False
    objects = _objects(raw) if b"{" in raw else {}
    for kind in _SECRET_KIND.finditer(raw):
        if whole and kind.start() < last:
            continue  # of what a resource names beside its own kind
        start = max(last, kind.start() - LONGEST_RESOURCE)
        start = max(start, raw.rfind(b"\n---", start, kind.start()))
        end = raw.find(b"\n---", kind.end(), kind.end() + LONGEST_RESOURCE)
        end = min(len(raw), kind.end() + LONGEST_RESOURCE) if end < 0 else end
        if (own := objects.get(kind.start())) is not None:
            start, end, whole = max(start, own[0]), min(end, own[1]), True
        elif kind.start() >= last:
            start, end, whole = _own(raw, kind, start, end)
        last = max(last, end)
        for value in itertools.chain(_of_yaml(raw, start, end), _of_json(raw, start, end)):
            if value[1] - value[0] >= LEAST_TOLD and not is_placeholder(raw[slice(*value)]):
                yield value


def _own(raw: bytes, kind: re.Match[bytes], start: int, end: int) -> tuple[int, int, bool]:
    """What of that is the same item of a YAML list: the others may be of kinds that hold no secrets; and whether it is
    one.

    An item's lines stand deeper than its first, whose "-" may have been taken for a diff's.
    """
    line = raw.rfind(b"\n", 0, kind.start()) + 1
    lead = raw[line : kind.start()]
    behind = _INDENT.match(raw, kind.end())
    depth = max(len(lead), 0 if behind is None else len(behind[1]))
    if not lead or depth > DEEPEST or lead.strip(b" -"):
        return start, end, False
    first = re.compile(rb"(?m)^ {0,%d}(?=\S)" % (depth - 1))
    if len(lead) == depth and b"-" not in lead:
        begins = [found.start() for found in first.finditer(raw, start, max(start, line))]
        start = begins[-1] if begins else start
    else:
        start = max(start, line)
    following = first.search(raw, kind.end(), end)
    return (start, end, False) if following is None else (start, following.start(), True)


def _objects(raw: bytes) -> dict[int, Place]:
    """The JSON object that each ``kind`` stands in, by where that stands; one that does not end reaches to the end."""
    found: dict[int, Place] = {}
    opened: list[tuple[int, list[int]]] = []  # braces, with the kinds behind each
    for part in _BRACE_OR_KIND.finditer(raw):
        if part[0] == b"{":
            opened.append((part.start(), []))
        elif not opened:
            continue
        elif part[0] == b"}":
            begin, kinds = opened.pop()
            found |= dict.fromkeys(kinds, (begin, part.end()))
        else:
            opened[-1][1].append(part.start())
    return {kind: (begin, len(raw)) for begin, kinds in opened for kind in kinds} | found


def _of_yaml(raw: bytes, start: int, end: int) -> Iterator[Place]:
    for block in _BLOCK.finditer(raw, start, end):
        text = None  # how far the name of a text of several lines is indented
        for line in _LINE.finditer(raw, block.end() + 1, end):
            indent = len(line["indent"])
            if indent <= len(block[1]):
                break
            if text is not None and indent > text:
                yield line.end("indent"), _line_end(raw, line.end("indent"), end)
                continue
            text = indent if line["block"] is not None else None
            if line.lastgroup in ("single", "double", "bare"):
                yield line.span(line.lastgroup)


def _line_end(raw: bytes, start: int, end: int) -> int:
    at = raw.find(b"\n", start, end)
    if at >= 0:
        return at
    closed = _JSON_END.search(raw, start, end)
    return end if closed is None else closed.start()


def _of_json(raw: bytes, start: int, end: int) -> Iterator[Place]:
    for data in _OBJECT.finditer(raw, start, end):
        yield from (member.span(1) for member in _MEMBER.finditer(raw, data.start(1), data.end(1)))
