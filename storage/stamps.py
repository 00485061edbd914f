"""Names and order of events beyond one log: who wrote an event, and which of two came after the other.

An event's identity is (log, epoch, seq): an epoch ends where a backup was restored, since numbers are given again from
there on. Its stamp orders it among the events of all logs, the same on every machine: Lamport time first, so that what
was decided in the knowledge of something comes after it, whatever the clocks of the machines say.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

__all__ = ["Identity", "authority", "is_strange", "log_of", "stamp", "strange_twin"]

_STRANGE = "~"  # in no log's id


def stamp(clock: int, log: str, epoch: int, seq: int, *, strange: bool = False) -> str:
    """Text that sorts as (clock, log, epoch, seq). ``strange`` marks the word of somebody who is not trusted here."""
    return f"{clock:016x}:{log}:{epoch:016x}:{seq:016x}{':' + _STRANGE if strange else ''}"


def strange_twin(place: str) -> str:
    """The stamp under which the same event is known where it came before its writer was trusted."""
    return f"{place}:{_STRANGE}"


def log_of(place: str) -> str:
    """The log in a stamp; that of a stranger is told apart from the same one's once it was trusted."""
    log = place.split(":")[1]
    return _STRANGE + log if place.endswith(_STRANGE) else log


def is_strange(log: str) -> bool:
    """Whether ``log``, as ``log_of`` tells it, is that of a stranger."""
    return log.startswith(_STRANGE)


def authority(place: str) -> tuple[bool, str]:
    """What of two things that replace each other stays: the later one, but never a stranger's over another's."""
    return not place.endswith(_STRANGE), place


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
