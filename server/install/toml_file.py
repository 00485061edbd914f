"""Our tables in a TOML configuration (Codex): put in, looked for, taken out.

A table is added at the end as text and cut out as text; tomlkit changes what stands inside of other values. Either way
the result is parsed and compared with what it has to be, so that no other value can have changed.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from prowess.server.install.errors import Unreadable
from prowess.server.install.wants import Document, Entry, State, Want, prefixes

__all__ = ["install", "is_empty", "state", "strip"]

_HEADER = re.compile(r"^[ \t]*\[[^\[\n][^\n]*$", re.MULTILINE)
_ANY_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_LINE = re.compile(r"line (\d+)")


def install(document: Document, wants: Sequence[Want]) -> None:
    """Put in what is missing and mend what is outdated. Raises ``Unreadable``."""
    for want in wants:
        if isinstance(want, Entry):
            document.made.add(want.path)
            document.text = _with_entry(document.text, want)


def _with_entry(text: str, want: Entry) -> str:
    found = state(text, want)
    if found == "ok":
        return text
    if found == "foreign":
        said = f"{'.'.join(want.path)} is there and is not an entry of Prowess"
        raise Unreadable(said, _line_of(text, want.path), mend="give that entry another name")
    _check(text, want)
    expected = _changed(_load(text), lambda root: _lay(root, want))
    ways: list[Callable[[], str]] = [lambda: _inside(text, lambda root: _lay(root, want))]
    if found == "missing":
        ways.insert(0, lambda: _appended(text, want))
    return _first_right(text, expected, ways)


def _check(text: str, want: Entry) -> None:
    """Every container on the way is a table."""
    value: Any = _load(text)
    for path in prefixes(want.path):
        value = value.get(path[-1], {})
        if not isinstance(value, dict):
            found = re.search(rf"^[^#\n]*\b{re.escape(path[-1])}\b", text, re.MULTILINE)
            line = text.count("\n", 0, found.end()) + 1 if found else 1
            raise Unreadable(f"{'.'.join(path)} is not a table", line)


def _lay(root: Any, want: Entry) -> None:
    """Set the values, in plain dicts or in tomlkit's document."""
    for key in want.path[:-1]:
        if key not in root:
            root[key] = {}
        root = root[key]
    if want.path[-1] in root:
        for key, value in want.value.items():
            root[want.path[-1]][key] = value
    else:
        table = tomlkit.inline_table()
        table.update(want.value)
        root[want.path[-1]] = table


def _changed(value: dict[str, Any], change: Callable[[Any], None]) -> dict[str, Any]:
    value = copy.deepcopy(value)
    change(value)
    return value


def _appended(text: str, want: Entry) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    header = ".".join(part if re.fullmatch(r"[\w-]+", part, re.ASCII) else _quoted(part) for part in want.path)
    lines = [f"[{header}]", *(f"{key} = {_quoted(value)}" for key, value in want.value.items()), ""]
    return text + (newline if text else "") + newline.join(lines)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which TOML wants escaped and JSON not


def _inside(text: str, change: Callable[[Any], None]) -> str:
    try:
        root = tomlkit.parse(text)
        change(root)
        return tomlkit.dumps(root)
    except TOMLKitError as error:
        raise Unreadable(str(error), 1) from error


def _first_right(text: str, expected: dict[str, Any], ways: Sequence[Callable[[], str]]) -> str:
    for way in ways:
        made = way()
        try:
            if tomllib.loads(made) == expected:
                return made
        except tomllib.TOMLDecodeError:
            continue
    raise Unreadable(
        "the place of our tables cannot be edited without changing what else is there",
        1,
        mend="write mcp_servers and hooks as [tables]",
    )


def strip(document: Document, wants: Sequence[Want]) -> None:
    """Take out what is ours, and the other tables that we added. Raises ``Unreadable``."""
    ours = {want.path for want in wants if isinstance(want, Entry) and state(document.text, want) != "foreign"}
    known = {want.path for want in wants if isinstance(want, Entry)}
    for path in sorted(ours | (document.made - known)):
        document.text = _without(document.text, path)


def _without(text: str, path: Sequence[str]) -> str:
    if _at(_load(text), path) is None:
        return text
    expected = _changed(_load(text), lambda root: _drop(root, path))
    cut = _cut(text, path)
    # An empty table above ours may have been there before.
    if _parses(cut) and _without_empty(_load(cut), path) == _without_empty(copy.deepcopy(expected), path):
        return cut
    return _first_right(text, expected, [lambda: _inside(text, lambda root: _drop(root, path))])


def _drop(root: Any, path: Sequence[str]) -> None:
    """Delete, and what is left empty above as well."""
    for length in range(len(path), 0, -1):
        parent = _at(root, path[: length - 1])
        del parent[path[length - 1]]
        if len(parent):
            break


def _without_empty(value: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    for length in range(len(path) - 1, 0, -1):
        if _at(value, path[:length]) == {}:
            del _at(value, path[: length - 1])[path[length - 1]]
    return value


def _cut(text: str, path: Sequence[str]) -> str:
    """Without the tables at and below ``path``; comments and blank lines that follow them stay."""
    for start, end in reversed(list(_spans(text, path))):
        before, after = text[:start], text[end:]
        newline = "\r\n" if before.endswith("\r\n") else "\n"
        shorter = before.removesuffix(newline)
        if shorter.endswith("\n") or after[:1] in ("", "\r", "\n"):
            before = shorter
        text = before + after
    return text


def _spans(text: str, path: Sequence[str]) -> Iterator[tuple[int, int]]:
    for header in _HEADER.finditer(text):
        if _header_path(header[0])[: len(path)] != list(path) or not _parses(text[: header.start()]):
            continue
        others = (other.start() for other in _ANY_HEADER.finditer(text, header.end()))
        following = next((start for start in others if _parses(text[:start])), len(text))
        body = text[header.end() : following]
        lines = body.splitlines(keepends=True)
        while lines and lines[-1].strip()[:1] in ("", "#"):
            lines.pop()
        yield header.start(), header.end() + len("".join(lines) or body[: body.find("\n") + 1])


def _parses(text: str) -> bool:
    """Whether the text is whole: what precedes a header does, unless that header is a line of a string."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _header_path(line: str) -> list[str]:
    try:
        value: Any = tomllib.loads(line + "\n")
    except tomllib.TOMLDecodeError:
        return []
    path = []
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        path.append(key)
    return path


def _line_of(text: str, path: Sequence[str]) -> int:
    return next((text.count("\n", 0, start) + 1 for start, _ in _spans(text, path)), 1)


def state(text: str, want: Want) -> State:
    """How ``want`` stands in the text. Raises ``Unreadable``."""
    assert isinstance(want, Entry)
    present = _at(_load(text), want.path)
    if present is None:
        return "missing"
    if not want.ours(present):
        return "foreign"
    return "ok" if all(present.get(key) == value for key, value in want.value.items()) else "outdated"


def _load(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        raise Unreadable(str(error), int(line[1]) if line else text.count("\n") + 1) from error


def _at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_empty(text: str, wants: Sequence[Want]) -> bool:
    """Nobody has anything in the text."""
    return not text.strip()
