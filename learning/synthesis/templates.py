"""Templates of arguments: values with ``{placeholder}`` in them, filling them in and matching them against real values.

A string that is one placeholder alone stands for a value of any type; inside a longer string it stands for a piece of
it. ``{{name}}`` is the literal text ``{name}``; other braces are themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

__all__ = ["canonical", "escape", "fill", "is_open", "match", "placeholders", "rename", "substitute"]

_TOKEN = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def canonical(value: Any) -> bytes:
    """One encoding per JSON value, to compare and to hash; 1 and 1.0 and True differ."""
    return msgspec.json.encode(value, order="sorted")


def escape(value: Any) -> Any:
    """``value`` as a template that matches only itself."""
    if isinstance(value, str):
        return re.sub(r"\{([A-Za-z_]\w*)\}", r"{{\1}}", value)
    return _over(value, escape)


def placeholders(template: Any) -> list[str]:
    """The names in ``template``, in order of first appearance."""
    return list(dict.fromkeys(_names(template)))


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """``template`` with its placeholders replaced; one without a value stays as it is."""
    return _replaced(template, values, r"{%s}")


def substitute(template: Any, templates: Mapping[str, Any]) -> Any:
    """``template`` with templates in the place of placeholders: the result is a template still."""
    return _replaced(template, templates, r"{{%s}}")


def _replaced(template: Any, values: Mapping[str, Any], literal: str) -> Any:
    """``template`` with values in the place of placeholders, and what is literally ``{name}`` in the form given."""
    if not isinstance(template, str):
        return _over(template, lambda part: _replaced(part, values, literal))
    if (name := _alone(template)) is not None:
        return values.get(name, template)

    def piece(token: re.Match[str]) -> str:
        if token[1] is not None:
            return literal % token[1]
        return _text(values[token[2]]) if token[2] in values else token[0]

    return _TOKEN.sub(piece, template)


def is_open(template: Any) -> bool:
    """Whether ``template`` is one placeholder and nothing else."""
    return isinstance(template, str) and _alone(template) is not None


def rename(template: Any, names: Mapping[str, str]) -> Any:
    """``template`` with placeholders called otherwise."""
    return substitute(template, {name: "{" + new + "}" for name, new in names.items()})


def match(template: Any, value: Any, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the placeholders must be for ``template`` to be ``value``, given what is ``known``; None if they cannot."""
    if isinstance(template, str):
        return _match_text(template, value, known)
    if isinstance(template, dict):
        if not isinstance(value, dict) or template.keys() != value.keys():
            return None
        return _match_all([(part, value[key]) for key, part in template.items()], known)
    if isinstance(template, list | tuple):
        if not isinstance(value, list | tuple) or len(template) != len(value):
            return None
        return _match_all(zip(template, value, strict=True), known)
    return dict(known) if canonical(template) == canonical(value) else None


def _match_all(pairs: Iterable[tuple[Any, Any]], known: Mapping[str, Any]) -> dict[str, Any] | None:
    bound: dict[str, Any] | None = dict(known)
    for template, value in pairs:
        if bound is None:
            return None
        bound = match(template, value, bound)
    return bound


def _match_text(template: str, value: Any, known: Mapping[str, Any]) -> dict[str, Any] | None:
    name = _alone(template)
    if name is not None:
        return _bind(known, name, value)
    if not isinstance(value, str):
        return None
    return _match_pieces(_parts(template), value, dict(known))


def _parts(template: str) -> list[tuple[str, str | None]]:
    """The template as (literal, None) and ("", placeholder) in order; neighbouring literals are one."""
    parts: list[tuple[str, str | None]] = []
    literal, end = "", 0
    for token in _TOKEN.finditer(template):
        literal += template[end : token.start()]
        end = token.end()
        if token[1] is not None:
            literal += "{" + token[1] + "}"
        else:
            parts += [(literal, None), ("", token[2])]
            literal = ""
    return [*parts, (literal + template[end:], None)]


def _match_pieces(parts: list[tuple[str, str | None]], value: str, bound: dict[str, Any]) -> dict[str, Any] | None:
    """Each piece ends where the text after it first occurs: linear where a regular expression could take for ever."""
    at = 0
    for index, (literal, name) in enumerate(parts):
        if name is not None and name not in bound:
            following = parts[index + 1][0]
            last = index + 2 == len(parts)
            end = len(value) - len(following) if last else value.find(following, at + 1)
            if end <= at:
                return None
            bound[name] = value[at:end]
        text = literal if name is None else _text(bound[name])
        if not value.startswith(text, at):
            return None
        at += len(text)
    return bound if at == len(value) else None


def _bind(known: Mapping[str, Any], name: str, value: Any) -> dict[str, Any] | None:
    if name not in known:
        return {**known, name: value}
    return dict(known) if canonical(known[name]) == canonical(value) else None


def _alone(template: str) -> str | None:
    token = _TOKEN.fullmatch(template)
    return token[2] if token else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def _over(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {key: change(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [change(part) for part in value]
    return value


def _names(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield from (token[2] for token in _TOKEN.finditer(template) if token[2] is not None)
    elif isinstance(template, dict):
        for part in template.values():
            yield from _names(part)
    elif isinstance(template, list | tuple):
        for part in template:
            yield from _names(part)
