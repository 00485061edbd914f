"""Calls of the store's methods as JSON, for the command line: one line asks, one line answers.

A request is ``{"store": method, "arguments": {...}}`` or ``{"tool": name, "arguments": {...}}``; an answer is
``{"result": ...}`` or ``{"error": {"kind", "message", "hint", "cause"}}``. Types are those of the methods' annotations.
Who only looks sends ``"looks": true``; what kept the newest events out of the result then stands beside it as
``behind``, like an error (``prowess.storage.behind``).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from prowess.server.hub.hello import OTHER_VERSION
from prowess.server.settings import BadSetting
from prowess.storage import errors
from prowess.storage.behind import looking
from prowess.storage.events import EVENT_TYPES, Event
from prowess.storage.store import Store
from prowess.tools.errors import ToolError

__all__ = ["METHODS", "arguments_of", "decode_error", "decode_result", "encode_error", "encode_result", "store_call"]

METHODS = frozenset(
    {
        *("track", "identify", "score", "append", "forget", "trim", "rebuild", "verify", "backup", "backups", "owed"),
        *("find_episode", "episode", "episodes", "steps", "summaries", "trajectories", "rewards"),
        *("skills", "skill", "skills_by_id", "versions", "uses", "patterns", "memories", "exposures", "trials"),
        *("forgotten_memories", "adopted", "stats", "spent", "mark", "newly_scored"),
        *("journal", "raw_steps", "projects_of", "private", "elsewhere", "pulled", "held", "receive"),
        *("erasures", "erased", "erase_again", "pull_again", "begin_epoch"),
    }
)
"""What can be called from outside: all that needs no arrays."""

# A base class says nothing of its events, so each goes with the name of its type.
_NAMES = {kind: name for name, kind in EVENT_TYPES.items()}


def store_call(method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The request for ``method``. Raises TypeError for arguments that it does not take."""
    bound = inspect.signature(getattr(Store, method)).bind(None, *args, **kwargs)
    given = {name: value for name, value in bound.arguments.items() if name != "self" and not callable(value)}
    if "events" in given:
        given["events"] = [(_NAMES[type(event)], _plain(event)) for event in given["events"]]
    looks = {} if looking() is None else {"looks": True}
    return {"store": method, "arguments": _plain(given), **looks}


def arguments_of(method: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as ``method`` takes them. Raises InvalidInput."""
    try:
        hints = _hints(method)
        given = {name: _typed(value, hints[name]) for name, value in told.items() if name != "events"}
        if "events" in told:
            given["events"] = [_event(*pair) for pair in told["events"]]
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        reason = f"{method} does not take this: {type(error).__name__}"
        raise errors.InvalidInput(reason, hint=OTHER_VERSION) from error
    return given


def encode_result(result: Any, behind: Exception | None = None) -> bytes:
    """The answer's line; ``behind`` is what kept the newest events out of it."""
    told = {"result": result} if behind is None else {"result": result, "behind": _told(behind)}
    return msgspec.json.encode(told, enc_hook=_as_text) + b"\n"


def encode_error(error: Exception) -> bytes:
    """The answer's line for a call that failed."""
    return msgspec.json.encode({"error": _told(error)}) + b"\n"


def _told(error: Exception) -> dict[str, str]:
    hint = getattr(error, "hint", "")
    return {"kind": type(error).__name__, "message": str(error), "hint": hint, "cause": _cause(error)}


def _cause(error: BaseException) -> str:
    """The kind of the nearest of our errors that it was raised from; a tool's refusal may be worded anew on its way."""
    cause = error.__cause__
    while cause is not None and type(cause).__name__ not in errors.__all__:
        cause = cause.__cause__
    return "" if cause is None else type(cause).__name__


def decode_result(method: str, result: Any) -> Any:
    """What ``method`` returns."""
    return _typed(result, _hints(method)["return"])


def decode_error(told: Mapping[str, str]) -> Exception:
    """The error that was raised in the hub, as far as its kind is known here."""
    kind, message, hint = told["kind"], told["message"], told["hint"]
    if kind in errors.__all__:
        found: errors.StoreError = getattr(errors, kind)(message, hint=hint)
        return found
    known = {"ToolError": ToolError, "BadSetting": BadSetting}.get(kind, errors.StoreError)(message, hint=hint)
    if (cause := told.get("cause", "")) in errors.__all__:  # what a command exits with goes by it
        known.__cause__ = getattr(errors, cause)(message, hint=hint)
    return known


@cache
def _hints(method: str) -> dict[str, Any]:
    return get_type_hints(getattr(Store, method))


def _event(name: str, data: Any) -> Event:
    return msgspec.convert(data, EVENT_TYPES[name], strict=False)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=_as_text)


def _typed(value: Any, kind: Any) -> Any:
    return None if kind is type(None) else msgspec.convert(value, kind, dec_hook=_from_text)


def _as_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value.absolute())  # the hub works in another folder
    raise NotImplementedError(type(value).__name__)


def _from_text(kind: type, value: Any) -> Any:
    if issubclass(kind, Path) and isinstance(value, str):
        return kind(value)
    raise NotImplementedError(kind.__name__)
