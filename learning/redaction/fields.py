"""Secrets that a JSON value's shape tells: by the field that they stand in, by one beside it, by the option before.

An object may be a pair: ``{"name": "DB_PASSWORD", "value": …}`` in lists of variables, ``{"element": "Password field",
"text": …}`` where an agent fills a form.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from prowess.learning.redaction.values import (
    MARK,
    is_placeholder,
    is_secret_field,
    is_wordy,
    lazy,
    tells_of_secret,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

__all__ = ["masked_value", "tells_nothing"]

DEEPEST = 100  # nesting of JSON that is followed; what lies deeper is masked whole
LONGEST_NAME = 200  # characters of what names another field
MOST_WORDS = 200  # of a command
_MASKED = "[masked:secret-field]"
_DEEPER = "[masked:nesting]"

_PLAIN = frozenset({str, int, float, bool, type(None)})
# In small letters, without "_" and "-".
_NAMES = frozenset({"name", "key", "field", "variable", "id", "header", "parameter", "parameterkey", "envvar"})
_SHOWN = frozenset({"element", "selector", "label", "placeholder", "target", "locator", "name", "field", "id"})
_VALUES = frozenset({"value", "text", "val", "parametervalue", "secretstring", "secretvalue"})
_PARTS = lazy(r"[^\w.\- ]+")
_FORM = lazy(r"(?i)(?<![a-z])(?:pass(?:word|wd|phrase|code|wort)|pwd|secret|token|api[ _-]?key)(?![a-z])")
_NO_FORM = lazy(r"(?i)show|hide|forgot|toggle|button|link|policy|strength|hint|e-?mail|reset|search|filter|user ?name")
_PASS = lazy(r"(?i)pass|pwd")
_BLANK = lazy(r"\s")
_OPTION = lazy(r"--?(?!no-)[A-Za-z][\w-]{1,60}")


def tells_nothing(value: Any, depth: int = 0) -> bool:
    """Whether nothing in a plain ``value`` can be told a secret by its shape, so that it stays as it is."""
    if value.__class__ is dict:
        return depth < DEEPEST and all(
            key.__class__ is str
            and not tells_of_secret(key)
            and not (item.__class__ is str and _is_name(key) and tells_of_secret(item[:LONGEST_NAME]))
            and tells_nothing(item, depth + 1)
            for key, item in value.items()
        )
    if value.__class__ is list:
        return depth < DEEPEST and all(
            tells_nothing(item, depth + 1) and not (item.__class__ is str and item[:1] == "-") for item in value
        )
    return value.__class__ in _PLAIN


def masked_value(value: Any, masked: Callable[[Sequence[str]], Sequence[str]], mask: Callable[[str], str]) -> Any:
    """``value`` with its texts as ``masked`` gives them, and what its shape tells to be a secret masked whole.

    ``mask`` hides secrets in a command that is told as a list of words.
    """
    texts: list[str] = []
    _collect(value, texts, 0)
    return _rebuild(value, iter(masked(texts)), 0, mask)


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


def _rebuild(value: Any, masked: Iterator[str], depth: int, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return next(masked)
    if isinstance(value, Mapping | list | tuple) and depth >= DEEPEST:
        return _DEEPER
    if isinstance(value, Mapping):
        pairs = ((next(masked), key, _rebuild(item, masked, depth + 1, mask), item) for key, item in value.items())
        fields = {name if isinstance(key, str) else key: _field(str(key), new, old) for name, key, new, old in pairs}
        return _paired(fields)
    if isinstance(value, list | tuple):
        return _command([_rebuild(item, masked, depth + 1, mask) for item in value], mask)
    return value


def _field(key: str, masked: Any, value: Any) -> Any:
    if isinstance(value, list | tuple) and isinstance(masked, list):
        return [_field(key, new, old) for new, old in zip(masked, value, strict=True)]
    if isinstance(value, str | int | float) and is_secret_field(key, value):
        return masked if _is_mark(masked) else _MASKED
    if isinstance(value, Mapping) and isinstance(masked, Mapping) and tells_of_secret(key):
        return {  # {"password": {"type": "String", "value": …}}
            name: _field(key, new, value.get(name)) if isinstance(name, str) and _plain(name) in _VALUES else new
            for name, new in masked.items()
        }
    return masked


def _is_mark(value: Any) -> bool:
    return isinstance(value, str) and MARK.fullmatch(value.encode("utf-8", "surrogatepass")) is not None


def _paired(fields: dict[Any, Any]) -> dict[Any, Any]:
    """``fields`` with the values masked that a field beside them names as a secret's."""
    told = [
        (_plain(name), text)
        for name, text in fields.items()
        if isinstance(text, str) and isinstance(name, str) and _is_name(name) and tells_of_secret(text[:LONGEST_NAME])
    ]
    if not told:
        return fields
    return {
        key: _MASKED if any(_names(name, text[:LONGEST_NAME], key, item) for name, text in told) else item
        for key, item in fields.items()
    }


def _is_name(key: str) -> bool:
    return _plain(key) in _NAMES or _plain(key) in _SHOWN


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _names(name: str, text: str, key: Any, value: Any) -> bool:
    """Whether the field ``name`` with ``text`` says that ``value`` in the field ``key`` is a secret."""
    if not isinstance(key, str) or _plain(key) not in _VALUES or not isinstance(value, str | int | float):
        return False
    if isinstance(value, str) and MARK.search(value.encode("utf-8", "surrogatepass")):
        return False
    last = _PARTS.split(text.rstrip(" /]>)\"'"))[-1]  # of a path: /app/db_password
    if name in _NAMES and is_secret_field(last, value):
        return True
    return name in _SHOWN and isinstance(value, str) and _is_typed(text, value)


def _is_typed(shown: str, value: str) -> bool:
    """Whether ``value`` is what is typed into a field that is ``shown`` so: "Password (required)", "#password"."""
    found = _FORM.search(shown)
    if (
        found is None
        or _NO_FORM.search(shown)
        or not is_secret_field("password" if _PASS.match(found[0]) else "token", value)
    ):
        return False
    told = value.encode("utf-8", "surrogatepass")
    return not is_placeholder(told) and not (is_wordy(told) and _FORM.search(value))


def _command(items: list[Any], mask: Callable[[str], str]) -> list[Any]:
    """The words of a command with those masked that only the others tell to be secrets: ``["mysql", "-psecret"]``."""
    if len(items) > MOST_WORDS or not all(isinstance(item, str) for item in items):
        return items
    if not any(item[:1] == "-" for item in items):
        return items
    plain = ["_" if _BLANK.search(item) else item for item in items]  # a word of several has been masked by itself
    words = mask(" ".join(plain)).split(" ")
    if len(words) == len(items):
        items = [item if was == "_" else word for item, was, word in zip(items, plain, words, strict=True)]
    for at, (option, value) in enumerate(itertools.pairwise(items), 1):
        if value[:1] != "-" and _OPTION.fullmatch(option):
            items[at] = _field(option.lstrip("-"), value, value)
    return items
