"""What is told becomes what may be stored: valid Unicode, no NUL, no secrets, within limits.

Runs in the caller's thread, before a command is queued.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec

from prowess.storage.errors import InvalidInput
from prowess.storage.log.limits import MAX_DEPTH, MAX_NAME, MAX_TEXT
from prowess.storage.models import Parameter

__all__ = ["IDENTIFIERS", "Cleaner", "weight"]

T = TypeVar("T", bound=msgspec.Struct)

# Fields that name a thing, made by this program or told from a fixed set: a mask would merge different things into one.
IDENTIFIERS = frozenset(
    {
        "id",
        "episode_id",
        "skill_id",
        "memory_id",
        "reflection_id",
        "call_id",
        "machine",
        "at",
        "opened_at",
        "created_at",
        "updated_at",
        "last_used_at",
        "closed_at",
        "kind",
        "status",
        "outcome",
        "source",
        "trust",
        "actor",
        "author",
        "model",
        "type",
        "episodes",
    }
)
# Names that others chose. They are as short as identifiers, and may hold secrets like any text.
GIVEN = frozenset({"client", "external_id", "session"})
_INT_BITS = 63
_NUMBERS = frozenset({bool, int, float})
# Texts that masking left as they are and that may come again: names, commands, what a pattern says.
KNOWN = 4_000
KNOWN_LENGTH = 200


def weight(value: Any, enough: int) -> int:
    """About how many characters ``value`` holds; stops counting at ``enough``."""
    total, waiting = 0, [value]
    while waiting and total < enough:
        item = waiting.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, msgspec.Struct):
            waiting.extend(getattr(item, name) for name in item.__struct_fields__)
        total += 8
    return total


def _valid(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # UTF-16 joins surrogates that are a pair and leaves a replacement character for the lone ones.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


def _texts(value: Any) -> list[str]:
    """Every text of ``value`` that may be masked, once, in no order that matters."""
    found, waiting = dict[str, None](), [value]
    while waiting:
        item = waiting.pop()
        if item.__class__ is str:
            found[item] = None
        elif item is None or item.__class__ in _NUMBERS:
            continue
        elif isinstance(item, dict):
            waiting.extend(map(str, item))
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, msgspec.Struct):
            waiting.extend([getattr(item, name) for name in _maskable(item.__class__)])
    return [*found]


@cache
def _maskable(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields that are no identifiers."""
    return tuple(name for name in kind.__struct_fields__ if name not in IDENTIFIERS)


def _fits(value: Any) -> bool:
    """Whether ``value`` is a number that JSON and 64 bits can hold."""
    if isinstance(value, int):
        return value.bit_length() <= _INT_BITS
    return isinstance(value, float) and math.isfinite(value)


class _Known:
    """Short texts without secrets, those met last: masking, which sees nothing but the text, would find none again."""

    def __init__(self) -> None:
        self._recent, self._before = set[str](), set[str]()

    def __contains__(self, text: str) -> bool:
        if text in self._recent:
            return True
        if found := text in self._before:
            self._recent.add(text)
        return found

    def update(self, texts: Iterable[str]) -> None:
        self._recent.update(text for text in texts if len(text) <= KNOWN_LENGTH)
        if len(self._recent) > KNOWN:
            self._recent, self._before = set(), self._recent


class Cleaner:
    """Cleans texts, JSON values and whole structs.

    ``mask_many`` hides secrets in texts, ``mask_fields`` in a JSON value what stands under a secret's name (None:
    nothing is hidden).
    """

    def __init__(
        self,
        mask_many: Callable[[Sequence[str]], Sequence[str]] | None = None,
        mask_fields: Callable[[Any], Any] | None = None,
    ) -> None:
        self._mask_many = mask_many
        self._mask_fields = mask_fields
        self._masked: dict[str, str] = {}
        self._known = _Known()

    def ready_for(self, *values: Any) -> Cleaner:
        """A cleaner that masked the texts of ``values`` already: together, and equal ones once, which is quicker."""
        if self._mask_many is None:
            return self
        ready = Cleaner(self._mask_many, self._mask_fields)
        texts = [text for text in _texts(values) if len(text) <= MAX_TEXT]
        fresh = [text for text in texts if text not in self._known]
        masked = self._mask_many([*map(_valid, fresh)])
        ready._masked = {text: text for text in texts}
        ready._masked |= {text: hidden[:MAX_TEXT] for text, hidden in zip(fresh, masked, strict=True)}
        self._known.update(text for text in fresh if ready._masked[text] == text)
        return ready

    def let_go(self) -> None:
        """Let go of the texts that are remembered, since one of them was forgotten. From any thread."""
        self._known = _Known()

    def text(self, value: str, what: str) -> str:
        """``value`` without secrets; InvalidInput beyond 2 Mi characters.

        A mask may be longer than what it hides. What is stored keeps to the bounds, or no other machine would take it.
        """
        if (masked := self._masked.get(value)) is not None:
            return masked
        if len(value) > MAX_TEXT:
            raise InvalidInput(f"{what} has {len(value):,} characters", hint=f"send at most {MAX_TEXT:,}")
        valid = _valid(value)
        return valid if self._mask_many is None else self._mask_many([valid])[0][:MAX_TEXT]

    def name(self, value: str, what: str) -> str:
        """An identifier, kept as it is but for invalid characters; InvalidInput beyond 1,024."""
        if len(value) > MAX_NAME:
            raise InvalidInput(f"{what} has {len(value):,} characters", hint=f"send at most {MAX_NAME}")
        return _valid(value)

    def given(self, value: str, what: str) -> str:
        """A name that others chose, without secrets; InvalidInput beyond 1,024 characters."""
        return self.text(self.name(value, what), what)[:MAX_NAME]

    def json(self, value: Any, what: str) -> Any:
        """A JSON value without secrets; numbers that neither JSON nor 64 bits can hold become text."""
        clean = self._json(value, what, 0)
        return clean if self._mask_fields is None or not isinstance(clean, (dict, list)) else self._mask_fields(clean)

    def _json(self, value: Any, what: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise InvalidInput(f"{what} is nested more than {MAX_DEPTH} deep", hint="send it flatter, or as text")
        if isinstance(value, str):
            return self.text(value, what)
        if isinstance(value, dict):
            return {self.text(str(key), what): self._json(item, what, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._json(item, what, depth + 1) for item in value]
        return self._scalar(value, what)

    def _scalar(self, value: Any, what: str) -> Any:
        if value is None:
            return value
        if isinstance(value, int | float):
            return value if _fits(value) else str(value)
        raise InvalidInput(f"{what} holds a {type(value).__name__}", hint="send JSON values only")

    def struct(self, value: T, what: str) -> T:
        """A copy of ``value`` with every text in it clean."""
        changes: dict[str, Any] = {}
        for name in value.__struct_fields__:
            given = getattr(value, name)
            if given is not None and not _fits(given):
                changes[name] = self._field(name, given, what)
        if isinstance(value, Parameter) and self._mask_fields is not None:
            named = {changes["name"]: [*changes["examples"]]}
            changes["examples"] = tuple(self._mask_fields(named)[changes["name"]])
        return msgspec.structs.replace(value, **changes)

    def _field(self, name: str, value: Any, what: str) -> Any:
        label = f"{what}.{name}"
        if isinstance(value, str):
            if name in IDENTIFIERS:
                return self.name(value, label)
            return self.given(value, label) if name in GIVEN else self.text(value, label)
        if isinstance(value, tuple):
            return tuple([self._field(name, item, what) for item in value])
        if isinstance(value, msgspec.Struct):
            return self.struct(value, label)
        clean = self.json(value, label)
        if isinstance(value, (int, float)) and isinstance(clean, str):
            raise InvalidInput(f"{label} is {clean}", hint="send a finite number of at most 64 bits")
        return clean
