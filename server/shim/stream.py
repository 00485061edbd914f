"""What both ends of a connection to the hub have to know of its lines: version, bound, key, and how they are cut."""

from __future__ import annotations

__all__ = ["IDEMPOTENCY_KEY", "MAX_LINE", "PROTOCOL", "Splitter"]

PROTOCOL = 1
MAX_LINE = 64 * 1024 * 1024  # bytes; a batch of 10,000 steps is some megabytes
IDEMPOTENCY_KEY = "prowess/idempotency-key"


class Splitter:
    """Cuts a byte stream into lines, without their ends and blank ones left out; None for one beyond ``limit``."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self.limit = limit
        self._part = bytearray()
        self._too_long = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """The lines that ``chunk`` completes."""
        first, *others = chunk.split(b"\n")
        self._add(first)
        lines = []
        for piece in others:
            lines.append(self._take())
            self._add(piece)
        return [line for line in lines if line != b""]

    def rest(self) -> list[bytes | None]:
        """What came after the last line's end, as a line."""
        line = self._take()
        return [] if line == b"" else [line]

    def _add(self, piece: bytes) -> None:
        if self._too_long:
            return
        if len(self._part) + len(piece) > self.limit:
            self._too_long = True
            self._part = bytearray()  # what is too long is dropped as it comes
        else:
            self._part += piece

    def _take(self) -> bytes | None:
        line = None if self._too_long else bytes(self._part).strip()
        self._part = bytearray()
        self._too_long = False
        return line
