"""UUIDv7 identifiers (RFC 9562, section 5.7): they sort by the millisecond in which they were made."""

from __future__ import annotations

import secrets
import threading
import time
from uuid import UUID

__all__ = ["id_bytes", "id_text", "new_id"]

_RANDOM_BITS = 74
_TOP = 1 << _RANDOM_BITS


class _Sequence:
    """Keeps the ids of one process increasing within a millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self, milliseconds: int) -> int:
        with self._lock:
            fresh = milliseconds << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
            behind = fresh <= self._last and self._last >> _RANDOM_BITS == milliseconds
            self._last = self._last + 1 + secrets.randbits(32) if behind else fresh
            return self._last


_sequence = _Sequence()


def new_id(milliseconds: int | None = None) -> str:
    """A new id for the Unix time ``milliseconds`` (default: now), as the usual text of 36 characters."""
    value = _sequence.next(time.time_ns() // 1_000_000 if milliseconds is None else milliseconds)
    moment, rest = value >> _RANDOM_BITS, value % _TOP
    high, low = rest >> 62, rest & ((1 << 62) - 1)
    return str(UUID(int=(moment & (1 << 48) - 1) << 80 | 7 << 76 | high << 64 | 2 << 62 | low))


def id_bytes(text: str) -> bytes:
    """The 16 bytes of a UUID's text; ValueError if it is none."""
    return UUID(text).bytes


def id_text(raw: bytes) -> str:
    return str(UUID(bytes=raw))
