"""JSON with comments as text: where each value stands, and edits that leave every other byte as it is.

Accepts what editors and clients write: JSON, comments (``//`` and ``/* */``) and trailing commas. No library was found
that edits such a text without writing the whole of it anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from prowess.server.install.errors import Unreadable

__all__ = ["Node", "Path", "find", "parse", "remove", "set_value", "value_at"]

Path = tuple[str | int, ...]

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")

_SPACE = " \t\r\n"
_DEEPEST = 200  # containers in one another; no client writes more, and each is a frame of ours


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and the like, which Python reads and clients do not


_STANDARD = json.JSONDecoder(parse_constant=_refuse)


class Node:
    """A value: ``text[start:end]``. ``keys`` and ``begins`` (of key or item) run along ``children``."""

    def __init__(self, start: int, end: int, value: Any, look: Callable[[], _Parts]) -> None:
        self.start = start
        self.end = end
        self.value = value
        self._look = look

    @cached_property
    def _parts(self) -> _Parts:
        return self._look()

    @property
    def keys(self) -> list[str]:
        return self._parts.keys

    @property
    def begins(self) -> list[int]:
        return self._parts.begins

    @property
    def children(self) -> list[Node]:
        return self._parts.children

    def child(self, key: str | int) -> Node | None:
        """The member or item at ``key``; of a key that stands twice the last, as parsers take it."""
        if isinstance(key, int):
            return self.children[key] if isinstance(self.value, list) and key < len(self.children) else None
        places = [i for i, name in enumerate(self.keys) if name == key]
        return self.children[places[-1]] if places else None


@dataclass(slots=True)
class _Parts:
    """What is in a container, and where it ends."""

    end: int = 0
    keys: list[str] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


def parse(text: str) -> Node:
    """The value of the whole text. Raises ``Unreadable``."""
    reader = _Reader(text)
    node = reader.value(reader.skip(0), 0)
    end = reader.skip(node.end)
    if end < len(text):
        raise reader.bad(end, "something follows after the end of the document")
    return node


class _Reader:
    """Containers without comments are read by the standard library, which is fast, and looked into when asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    def bad(self, at: int, what: str) -> Unreadable:
        return Unreadable(what, self.text.count("\n", 0, at) + 1)

    def skip(self, at: int) -> int:
        found = _TRIVIA.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> Node:
        first = self.text[at : at + 1]
        if depth > _DEEPEST:
            raise self.bad(at, f"more than {_DEEPEST} values in one another")
        if first in ("{", "["):
            return self.container(at, depth)
        if first == '"':
            told, end = self.string(at)
            return Node(at, end, told, _Parts)
        scalar = _SCALAR.match(self.text, at)
        if not scalar:
            raise self.bad(at, "a value is expected" if first else "the text ends where a value is expected")
        return Node(at, scalar.end(), json.loads(scalar[0]), _Parts)

    def string(self, at: int) -> tuple[str, int]:
        try:
            told, end = _STANDARD.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise self.bad(at, f"a string that is none ({error.msg})") from None
        return told, end

    def container(self, at: int, depth: int) -> Node:
        look = self.object if self.text[at] == "{" else self.array
        try:
            value, end = _STANDARD.raw_decode(self.text, at)
        except (ValueError, RecursionError):  # a comment, a comma too many, or no JSON
            parts = look(at, depth)
            values = [child.value for child in parts.children]
            value = dict(zip(parts.keys, values, strict=True)) if look == self.object else values
            return Node(at, parts.end, value, lambda: parts)
        return Node(at, end, value, lambda: look(at, depth))

    def object(self, start: int, depth: int) -> _Parts:
        parts = _Parts()
        at = self.skip(start + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise self.bad(at, 'a name in "quotes" or } is expected')
            key, after = self.string(at)
            colon = self.skip(after)
            if self.text[colon : colon + 1] != ":":
                raise self.bad(colon, f": is expected after {json.dumps(key)}")
            child = self.value(self.skip(colon + 1), depth + 1)
            parts.keys.append(key)
            parts.begins.append(at)
            parts.children.append(child)
            at = self.next(child.end, "}")
        parts.end = at + 1
        return parts

    def array(self, start: int, depth: int) -> _Parts:
        parts = _Parts()
        at = self.skip(start + 1)
        while self.text[at : at + 1] != "]":
            child = self.value(at, depth + 1)
            parts.begins.append(at)
            parts.children.append(child)
            at = self.next(child.end, "]")
        parts.end = at + 1
        return parts

    def next(self, at: int, closing: str) -> int:
        at = self.skip(at)
        found = self.text[at : at + 1]
        if found == ",":
            return self.skip(at + 1)
        if found != closing:
            raise self.bad(at, f", or {closing} is expected")
        return at


def find(root: Node, path: Sequence[str | int]) -> Node | None:
    node: Node | None = root
    for key in path:
        node = node.child(key) if node else None
    return node


def value_at(root: Node, path: Sequence[str | int]) -> Any:
    """The value at ``path``; None where there is none (or a null)."""
    node = find(root, path)
    return node.value if node else None


def set_value(text: str, path: Path, value: Any) -> str:
    """The text with ``value`` at ``path``: in place of what is there, else added at the end of its container.

    A last key that is an index one past the end adds an item. Containers that are missing are made.
    """
    root = parse(text)
    present = find(root, path)
    if present:
        before = _line_indent(text, present.start)
        return text[: present.start] + _Style(text, root).render(value, before) + text[present.end :]
    depth = max(i for i in range(len(path)) if find(root, path[:i]))
    for key in reversed(path[depth + 1 :]):
        value = {key: value} if isinstance(key, str) else [value]
    container = find(root, path[:depth])
    assert container is not None
    return _add(text, root, container, path[depth], value)


def remove(text: str, path: Path) -> str:
    """The text without the member or item at ``path`` and the comma that it needed."""
    container = find(parse(text), path[:-1])
    assert container is not None
    key = path[-1]
    index = key if isinstance(key, int) else len(container.keys) - 1 - container.keys[::-1].index(key)
    end = container.children[index].end
    comma = _comma(text, end)
    if comma is None and index > 0:
        comma = _comma(text, container.children[index - 1].end)
    start = len(text[: container.begins[index]].rstrip(_SPACE))
    if comma is not None and comma < start:
        # Without white space in between, what precedes is that comma.
        cut = text[:comma] + text[comma + 1 : start] + text[end:]
    elif comma is not None:
        cut = text[:start] + text[end:comma] + text[comma + 1 :]
    else:
        cut = text[:start] + text[end:]
    return _closed(cut, path[:-1]) if len(container.children) == 1 else cut


def _closed(text: str, path: Path) -> str:
    """An emptied container that spans lines is closed again: that is how it was when the first was added."""
    node = find(parse(text), path)
    assert node is not None
    inner = text[node.start + 1 : node.end - 1]
    return text if inner.strip(_SPACE) or "\n" not in inner else text[: node.start + 1] + text[node.end - 1 :]


def _comma(text: str, at: int) -> int | None:
    found = _TRIVIA.match(text, at)
    after = found.end() if found else at
    return after if text[after : after + 1] == "," else None


def _add(text: str, root: Node, container: Node, key: str | int, value: Any) -> str:
    style = _Style(text, root)
    name = f"{json.dumps(key, ensure_ascii=False)}{style.colon}" if isinstance(key, str) else ""
    if not container.children:
        return _add_first(text, style, container, name, value)
    last, begin = container.children[-1].end, container.begins[0]
    above = text[container.start : begin]
    lead = style.newline + _line_indent(text, begin) if "\n" in above else style.gap
    comma = _comma(text, last)
    at = _end_of_remarks(text, last if comma is None else comma + 1)
    if "//" in text[last:at] and "\n" not in lead:
        lead = style.newline
    item = lead + name + style.render(value, lead.lstrip("\r\n")) if "\n" in lead else lead + name + style.flat(value)
    if comma is not None:
        return text[:at] + item + "," + text[at:]
    return text[:last] + "," + text[last:at] + item + text[at:]


def _add_first(text: str, style: _Style, container: Node, name: str, value: Any) -> str:
    at = container.end - 1
    inner = text[container.start + 1 : at]
    at -= len(inner) - len(inner.rstrip(_SPACE))
    rest = text[at:]
    if not style.lines and "\n" not in inner:
        return text[:at] + name + style.flat(value) + rest
    base = _line_indent(text, container.start)
    if "\n" not in inner[len(inner.rstrip(_SPACE)) :]:
        rest = style.newline + base + rest.lstrip(_SPACE)
    indent = base + style.unit
    return text[:at] + style.newline + indent + name + style.render(value, indent) + rest


def _end_of_remarks(text: str, at: int) -> int:
    """The end of the comments that follow on the same line: they belong to what stands before ``at``."""
    found = re.compile(r"(?:[ \t]*(?:/\*[^\n]*?\*/|//[^\r\n]*))*").match(text, at)
    return found.end() if found else at


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


class _Style:
    """How a text is laid out."""

    def __init__(self, text: str, root: Node) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        inner = text[root.start : root.end]
        self.lines = "\n" in inner or not root.children
        self.unit = self._unit(text, root)
        spaced = self.lines or re.search(r'"\s*:\s', inner) is not None
        self.colon, self.gap = (": ", " ") if spaced else (":", "")

    @staticmethod
    def _unit(text: str, root: Node) -> str:
        if root.begins and "\n" in text[root.start : root.begins[0]]:
            return _line_indent(text, root.begins[0]) or "  "
        return "  "

    def render(self, value: Any, indent: str) -> str:
        if not self.lines:
            return self.flat(value)
        return json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + indent)

    def flat(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=("," + self.gap, self.colon))
