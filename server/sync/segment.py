"""A run of one log's events as the remote keeps it: one compressed row instead of hundreds.

``[format, [[seq, clock, type, version, at, origin, data, raw], …]]`` as msgpack, zstd-compressed. ``data`` is nil where
it was forgotten; ``raw`` is the step's own value as the log has it, where raw steps are shared, else nil.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
import zstandard

from prowess.server.sync.errors import RemoteGarbage, RemoteNewer
from prowess.storage.log.erasure import without_examples
from prowess.storage.models import Origin

__all__ = ["MAX_EVENTS", "TARGET_BYTES", "Shared", "decode_segment", "encode_segment", "encoded_size", "without"]

FORMAT = 1
MAX_EVENTS = 500
TARGET_BYTES = 4 * 1024 * 1024  # uncompressed: one upload on a slow line, and several fit into an answer
MAX_BYTES = 64 * 1024 * 1024  # uncompressed; far beyond what is made here, far below what hurts
LEVEL = 9  # written once, read by everyone, kept for long


class Shared(NamedTuple):
    """One event of a log. ``clock`` is its Lamport time: later than that of everything its machine knew."""

    seq: int
    clock: int
    type: str
    version: int
    at: str
    origin: Origin
    data: dict[str, Any] | None
    raw: bytes | None = None


_LONG_ARRAY = b"\xdd"  # msgpack's mark of an array of more than 65,535
_head = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])
_events = msgspec.msgpack.Decoder(list[Shared])
_encoder = msgspec.msgpack.Encoder(order="sorted")


def encode_segment(events: Sequence[Shared]) -> bytes:
    """The row's bytes; equal events have equal bytes."""
    return zstandard.ZstdCompressor(level=LEVEL).compress(_encoder.encode((FORMAT, list(events))))


def encoded_size(event: Shared) -> int:
    """Bytes that ``event`` takes in a segment before compression."""
    return len(_encoder.encode(event))


def decode_segment(data: bytes) -> list[Shared]:
    """The events in ``data``, in order. Raises RemoteGarbage, and RemoteNewer for a later format."""
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= MAX_BYTES:
            raise RemoteGarbage("a segment of the remote has no size, or too much of one")
        found, events = _head.decode(zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_BYTES))
        if found > FORMAT:
            raise RemoteNewer(f"a segment has format {found}, this version reads {FORMAT}", hint="upgrade prowess")
        if bytes(events)[:1] == _LONG_ARRAY:
            raise RemoteGarbage("a segment of the remote has more events than any has")
        shared = _events.decode(events)
    except (zstandard.ZstdError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteGarbage("a segment of the remote cannot be read") from error
    if any(later.seq <= earlier.seq for earlier, later in itertools.pairwise(shared)):
        raise RemoteGarbage("the events of a segment are in no order")
    return shared


def without(events: Sequence[Shared], forgotten: Collection[int], bare: Collection[int] = ()) -> list[Shared]:
    """``events`` with nothing left of those whose numbers are in ``forgotten`` but that they were.

    Those in ``bare`` are skills that stay without the values that they were seen with.
    """
    left = [event._replace(data=None, raw=None) if event.seq in forgotten else event for event in events]
    return [event._replace(data=_bare(event)) if event.seq in bare else event for event in left]


def _bare(event: Shared) -> dict[str, Any] | None:
    try:
        return None if event.data is None else without_examples(event.data)
    except (KeyError, TypeError):
        return None  # no skill that anybody could read
