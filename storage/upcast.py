"""Reading events of every version that was ever written.

Each change of an event's shape adds one function here, from the version before to the next; stored bytes of the old
version stay in tests/storage/samples and must still read. An event of an unknown type or a newer version stops the
reader: leaving it out would make a catalog that looks right and is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from prowess.storage.errors import StoreDamaged, StoreNewer
from prowess.storage.events import EVENT_TYPES, FOREIGN_TYPE, Envelope, Event

__all__ = ["UPCASTERS", "Upcaster", "decode_event", "unwrapped", "upcast"]

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

# (type, version) -> the data of that version made into the next one's.
UPCASTERS: dict[tuple[str, int], Upcaster] = {}


def upcast(
    envelope: Envelope,
    *,
    types: Mapping[str, type[Event]] = EVENT_TYPES,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
) -> Envelope:
    """``envelope`` in the newest version of its type; StoreNewer if this program does not know it."""
    known = types.get(envelope.type)
    if known is None or envelope.version > known.VERSION:
        raise StoreNewer(
            f"event {envelope.seq} is {envelope.type!r} version {envelope.version}, which this version does not know",
            hint="upgrade prowess; nothing was changed",
        )
    data, version = envelope.data, envelope.version
    while version < known.VERSION and data is not None:
        data, version = upcasters[envelope.type, version](data), version + 1
    return msgspec.structs.replace(envelope, version=known.VERSION, data=data)


def unwrapped(envelope: Envelope) -> Envelope:
    """``envelope``, or the event of another log that came in it; also of that the payload may have been erased."""
    told = envelope.data
    if envelope.type != FOREIGN_TYPE or told is None:
        return envelope
    return msgspec.structs.replace(envelope, type=told["type"], version=told["version"], data=told["data"])


def decode_event(envelope: Envelope) -> Event:
    """The event itself; its payload must not have been erased."""
    current = upcast(envelope)
    try:
        return msgspec.convert(current.data, EVENT_TYPES[current.type])
    except msgspec.ValidationError as error:
        raise StoreDamaged(f"event {envelope.seq} cannot be read: {error}", hint="restore a backup") from error
