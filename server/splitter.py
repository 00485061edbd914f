"""A byte stream cut into lines of bounded length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["MAX_LINE", "Splitter", "split"]

MAX_LINE = 64 * 1024 * 1024  # a batch of 10,000 steps is some megabytes


class Splitter:
    """Cuts a byte stream into its non-empty lines, without their ends; None for one that is longer than ``limit``."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self.limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """The lines that end in ``chunk``."""
        *ended, rest = chunk.split(b"\n")
        lines = [self._line(end) for end in ended]
        self._add(rest)
        return [line for line in lines if line != b""]

    def end(self) -> list[bytes | None]:
        """What is left where the stream ends without a line's end."""
        line = self._line(b"")
        return [] if line == b"" else [line]

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self.limit:
            self._parts.append(part)
        else:  # what is too long is dropped as it comes, not collected
            self._parts.clear()

    def _line(self, end: bytes) -> bytes | None:
        self._add(end)
        line = b"".join(self._parts).strip() if self._size <= self.limit else None
        self._parts, self._size = [], 0
        return line


def split(chunks: Iterable[bytes], limit: int = MAX_LINE) -> Iterator[bytes | None]:
    """The lines of a whole byte stream, as ``Splitter`` cuts them."""
    splitter = Splitter(limit)
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.end()
