"""Names and order of events beyond one log: who wrote an event, and which of two came after the other.

An event's identity is (log, epoch, seq): an epoch ends where a backup was restored, since numbers are given again from
there on. Its stamp orders it among the events of all logs, the same on every machine: Lamport time first, so that what
was decided in the knowledge of something comes after it, whatever the clocks of the machines say.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

__all__ = ["Identity", "log_of", "stamp"]


def stamp(clock: int, log: str, epoch: int, seq: int) -> str:
    """Text that sorts as (clock, log, epoch, seq)."""
    return f"{clock:016x}:{log}:{epoch:016x}:{seq:016x}"


def log_of(place: str) -> str:
    """The log in a stamp."""
    return place.split(":")[1]


class Identity(NamedTuple):
    """A log's id, and its epochs as (epoch, first seq), oldest first."""

    log: str
    epochs: tuple[tuple[int, int], ...]

    def epoch_of(self, seq: int) -> int:
        """The epoch in which the event ``seq`` of this journal was written."""
        place = bisect_right(self.epochs, seq, key=lambda each: each[1])
        return self.epochs[max(0, place - 1)][0]

    def ranges(self, head: int) -> dict[int, tuple[int, int]]:
        """First and last event of each epoch in a journal that ends with ``head``; empty ones are left out."""
        ends = [first - 1 for _, first in self.epochs[1:]] + [head]
        found = {epoch: (first, end) for (epoch, first), end in zip(self.epochs, ends, strict=True)}
        return {epoch: span for epoch, span in found.items() if span[0] <= span[1]}

    def has(self, log: str, epoch: int, seq: int, head: int) -> bool:
        """Whether that event is in this journal as one of its own."""
        span = self.ranges(head).get(epoch) if log == self.log else None
        return span is not None and span[0] <= seq <= span[1]
