"""The lines between client, shim and hub: what the shim reads of them, and those that it writes itself.

A line is kept as the bytes that came: it is read to know what it is, and only an idempotency key is put into it.
"""

from __future__ import annotations

from .lean import quote, scan, scan_text
from .stream import IDEMPOTENCY_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["VERSION", "Failure", "Message", "dump", "error_line", "guessed_id", "parse", "with_key"]

VERSION = "0.1.0"  # as prowess.__version__, which cannot be imported without site-packages

UNAVAILABLE = -32000
PARSE_ERROR = -32700
INVALID_REQUEST = -32600

Id = str | int


class Failure:
    """Why there is no hub, and what would mend it. ``local``: here only a store in this process's own child works."""

    __slots__ = ("hint", "local", "reason")

    def __init__(self, reason: str, hint: str, *, local: bool = False) -> None:
        self.reason = reason
        self.hint = hint
        self.local = local


class Message:
    """What the shim knows of a line. ``params_at`` is where its params begin in ``text``, 0 when there are none."""

    __slots__ = ("fields", "params_at", "text")

    def __init__(self, text: str, fields: dict[str, Any], params_at: int) -> None:
        self.text = text
        self.fields = fields
        self.params_at = params_at

    @property
    def id(self) -> Id | None:
        found = self.fields.get("id")
        return found if isinstance(found, str | int) and not isinstance(found, bool) else None

    @property
    def method(self) -> str:
        found = self.fields.get("method")
        return found if isinstance(found, str) else ""

    @property
    def params(self) -> dict[str, Any]:
        found = self.fields.get("params")
        return found if isinstance(found, dict) else {}


def parse(line: bytes) -> Message | None:
    """The message in ``line``, or None where it holds none: the hub says what is wrong with it."""
    # What is no UTF-8 comes out again as it went in; the hub mends it.
    text = line.decode("utf-8", "surrogateescape")
    if not text.startswith("{"):
        return None
    fields: dict[str, Any] = {}
    params_at = 0
    try:
        for name, at, value in _members(text, 0, len(text)):
            fields[name] = value
            params_at = at if name == "params" else params_at
    except (ValueError, StopIteration, IndexError, RecursionError, RuntimeError):
        return None
    return Message(text, fields, params_at)


def _members(text: str, at: int, end: int = 0) -> Iterator[tuple[str, int, Any]]:
    """Name, start and value of each member of the object at ``at``, which has to end at ``end`` where that is given.

    Raises what ``scan`` does, or IndexError.
    """
    at = _expect(text, at, "{")
    while text[at] != "}":
        name, at = scan_text(text, _expect(text, at, '"', skip=False), False)
        at = _expect(text, _blank(text, at), ":")
        value, after = _scan(text, at)
        yield name, at, value
        at = _blank(text, after)
        if text[at] == ",":
            at = _blank(text, at + 1)
            if text[at] != '"':
                raise ValueError("a name is expected after a comma")
        elif text[at] != "}":
            raise ValueError("a comma is expected")
    if end and at + 1 != end:
        raise ValueError("something follows the object")


def _expect(text: str, at: int, mark: str, *, skip: bool = True) -> int:
    if text[at] != mark:
        raise ValueError(f"{mark} is expected")
    return _blank(text, at + 1) if skip else at + 1


def _scan(text: str, at: int) -> tuple[Any, int]:
    try:
        return scan(text, at)
    except StopIteration:
        raise ValueError("a value is expected") from None


def _blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at


def with_key(message: Message, key: str) -> bytes:
    """The line of a call with ``key`` in its ``_meta``, every other byte as it came; unchanged where it has a key."""
    params = message.fields.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict | None) or (meta and IDEMPOTENCY_KEY in meta):
        return _encoded(message.text)
    member = f"{quote(IDEMPOTENCY_KEY)}:{quote(key)}"
    if meta is not None:
        at = [at for name, at, _ in _members(message.text, message.params_at) if name == "_meta"][-1]
        return _inserted(message.text, at, member, more=bool(meta))
    if "_meta" in params:  # null: some clients send that for nothing
        return _encoded(message.text)
    return _inserted(message.text, message.params_at, f'"_meta":{{{member}}}', more=bool(params))


def _inserted(text: str, at: int, member: str, *, more: bool) -> bytes:
    return _encoded(f"{text[: at + 1]}{member}{',' if more else ''}{text[at + 1 :]}")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def guessed_id(line: bytes) -> Id | None:
    """The id that a line which is no message seems to have."""
    text = line[:500].decode("utf-8", "replace")
    at = text.find('"id"')
    try:
        found, _ = _scan(text, _expect(text, _blank(text, at + 4), ":")) if at >= 0 else (None, 0)
    except (ValueError, IndexError, RecursionError):
        return None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def dump(value: Any) -> str:
    """JSON text of dicts, lists, texts, numbers and None."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(name)}:{dump(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dump, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return quote(value) if isinstance(value, str) else repr(value)


def error_line(request_id: Id | None, reason: str, hint: str, code: int = UNAVAILABLE) -> bytes:
    """A JSON-RPC error that names the reason and what can be done about it."""
    error = {"code": code, "message": f"{reason}\nhint: {hint}", "data": {"reason": reason, "hint": hint}}
    return dump({"jsonrpc": "2.0", "id": request_id, "error": error}).encode() + b"\n"
