"""Our entries in a JSON configuration: put in, looked for, taken out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prowess.server.install.errors import Unreadable
from prowess.server.install.jsontext import Path, find, parse, remove, set_value, value_at
from prowess.server.install.wants import Default, Document, Entry, Handler, State, Want, prefixes

__all__ = ["handlers", "install", "is_empty", "state", "strip"]


def install(document: Document, wants: Sequence[Want]) -> None:
    """Put in what is missing and mend what is outdated. Raises ``Unreadable``."""
    if not document.text.strip():
        document.text = "{}\n"
    for old in _elsewhere(document.text, wants):
        document.text = _stripped(document, old)
    for want in wants:
        if isinstance(want, Entry | Handler | Default):
            _check(document.text, want)
            _note_made(document, want)
            _install(document, want)


def _elsewhere(text: str, wants: Sequence[Want]) -> list[Handler]:
    """Our hooks on events that we use no longer."""
    known = {want.path: want for want in wants if isinstance(want, Handler)}
    pattern = next(iter(known.values()), None)
    events = value_at(parse(text), pattern.path[:-1]) if pattern else None
    if pattern is None or not isinstance(events, dict):
        return []
    paths = [(*pattern.path[:-1], event) for event in events]
    return [Handler(path, pattern.item, pattern.ours, pattern.inner) for path in paths if path not in known]


def _install(document: Document, want: Entry | Handler | Default) -> None:
    if isinstance(want, Entry):
        document.text = _with_entry(document.text, want)
    elif isinstance(want, Handler):
        document.text = _with_handler(document.text, want)
    elif find(parse(document.text), want.path) is None:
        document.text = set_value(document.text, want.path, want.value)


def _check(text: str, want: Entry | Handler | Default) -> None:
    """Every container on the way is an object, and a hook's place a list."""
    root = parse(text)
    for path in ((), *prefixes(want.path)):
        node = find(root, path)
        if node and not isinstance(node.value, dict):
            raise _unexpected(text, path, node.start, "an object")
    last = find(root, want.path)
    if isinstance(want, Handler) and last and not isinstance(last.value, list):
        raise _unexpected(text, want.path, last.start, "a list")


def _unexpected(text: str, path: Sequence[str], at: int, what: str) -> Unreadable:
    return Unreadable(f"{'.'.join(path) or 'the document'} is not {what}", text.count("\n", 0, at) + 1)


def _note_made(document: Document, want: Entry | Handler | Default) -> None:
    root = parse(document.text)
    mine = (*prefixes(want.path), *((want.path,) if not isinstance(want, Entry) else ()))
    document.made.update(path for path in mine if find(root, path) is None)


def _with_entry(text: str, want: Entry) -> str:
    present = find(parse(text), want.path)
    if present is None:
        return set_value(text, want.path, want.value)
    if not want.ours(present.value):
        at = text.count("\n", 0, present.start) + 1
        said = f"{'.'.join(want.path)} is there and is not an entry of Prowess"
        raise Unreadable(said, at, mend="give that entry another name")
    for key, value in want.value.items():
        if present.value.get(key) != value:
            text = set_value(text, (*want.path, key), value)
    return text


def _with_handler(text: str, want: Handler) -> str:
    found = _found(parse(text).value, want)
    if not found:
        return set_value(text, (*want.path, len(value_at(parse(text), want.path) or [])), want.item)
    for double in reversed(found[1:]):
        text = _without(text, want, double)
    if value_at(parse(text), (*found[0], "command")) != want.command:
        text = set_value(text, (*found[0], "command"), want.command)
    return text


def _found(value: Any, want: Handler) -> list[Path]:
    """Where the hooks of ours are, in the order of the text."""
    for key in want.path:
        value = value.get(key) if isinstance(value, dict) else None
    items = value if isinstance(value, list) else []
    if not want.inner:
        return [(*want.path, i) for i, item in enumerate(items) if want.ours(item)]
    groups = [item.get(want.inner) if isinstance(item, dict) else None for item in items]
    return [
        (*want.path, i, want.inner, j)
        for i, group in enumerate(groups)
        for j, handler in enumerate(group if isinstance(group, list) else [])
        if want.ours(handler)
    ]


def _without(text: str, want: Handler, path: Path) -> str:
    """A group that only our hook was in goes with it."""
    alone = want.inner and len(value_at(parse(text), path[:-1])) == 1
    return remove(text, path[:-2] if alone else path)


def strip(document: Document, wants: Sequence[Want]) -> None:
    """Take out what is ours. Raises ``Unreadable``."""
    if not document.text.strip():
        return
    for want in (*wants, *_elsewhere(document.text, wants)):
        document.text = _stripped(document, want)
    for path in sorted(document.made, key=len, reverse=True):
        node = find(parse(document.text), path)
        if node and node.value in ({}, []) and not document.text[node.start + 1 : node.end - 1].strip():
            document.text = remove(document.text, path)


def _stripped(document: Document, want: Want) -> str:
    text = document.text
    value = parse(text).value
    if isinstance(want, Handler):
        for path in reversed(_found(value, want)):
            text = _without(text, want, path)
    elif isinstance(want, Entry):
        present = find(parse(text), want.path)
        return remove(text, want.path) if present and want.ours(present.value) else text
    elif isinstance(want, Default) and want.path in document.made and value_at(parse(text), want.path) == want.value:
        return remove(text, want.path)
    return text


def state(text: str, want: Want) -> State:
    """How ``want`` stands in the text. Raises ``Unreadable``."""
    root = parse(text if text.strip() else "{}")
    if isinstance(want, Handler):
        found = _found(root.value, want)
        told = [value_at(root, (*path, "command")) for path in found]
        return "missing" if not found else "ok" if told == [want.command] else "outdated"
    assert isinstance(want, Entry | Default)
    present = find(root, want.path)
    if present is None:
        return "missing"
    if isinstance(want, Default):
        return "ok"
    if not want.ours(present.value):
        return "foreign"
    return "ok" if all(present.value.get(key) == value for key, value in want.value.items()) else "outdated"


def handlers(text: str, want: Handler) -> list[tuple[Path, dict[str, Any]]]:
    """The hooks of ours that are there, with their places."""
    root = parse(text if text.strip() else "{}")
    return [(path, value_at(root, path)) for path in _found(root.value, want)]


def is_empty(text: str, wants: Sequence[Want]) -> bool:
    """Nobody has anything in the text."""
    return not text.strip() or text.strip() == "{}"
