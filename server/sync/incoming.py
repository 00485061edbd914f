"""From a segment of the remote to events that may be stored: checked, cleaned, in this program's version."""

from __future__ import annotations

from typing import Any

import msgspec

from prowess.server.sync.errors import RemoteGarbage, RemoteNewer
from prowess.server.sync.outgoing import HOME
from prowess.server.sync.remote import Segment
from prowess.server.sync.segment import Shared, decode_segment
from prowess.storage.errors import InvalidInput, StoreDamaged, StoreNewer
from prowess.storage.events import EVENT_TYPES, Envelope
from prowess.storage.ids import id_bytes
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.log.codec import decode_step
from prowess.storage.log.erasure import FOREIGN_TYPE
from prowess.storage.log.foreign import Foreign
from prowess.storage.models import parse_time
from prowess.storage.upcast import decode_event, upcast

__all__ = ["checked"]

MAX_CLOCK = 2**62  # what is later than that would leave no time after it


def checked(segment: Segment, cleaner: Cleaner, *, trusted: bool) -> list[Foreign]:
    """The events of ``segment``. Raises RemoteGarbage, and RemoteNewer where a later version wrote them."""
    found = decode_segment(segment.data)
    if found and not segment.first <= found[0].seq <= found[-1].seq <= segment.last:
        raise RemoteGarbage("a segment holds other events than it says")
    try:
        return [_foreign(segment, event, cleaner, trusted) for event in found]
    except StoreNewer as error:
        raise RemoteNewer(
            f"another machine runs a newer version: {error}", hint="upgrade prowess on this machine"
        ) from error
    except (StoreDamaged, InvalidInput, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RemoteGarbage("an event of the remote makes no sense") from error


def _foreign(segment: Segment, told: Shared, cleaner: Cleaner, trusted: bool) -> Foreign:
    if told.type == FOREIGN_TYPE or told.type in HOME or not 0 < told.clock < MAX_CLOCK or told.seq < 1:
        raise ValueError("no event that is shared")
    envelope = upcast(
        Envelope(seq=told.seq, type=told.type, version=told.version, at=told.at, origin=told.origin, data=told.data)
    )
    data = None if envelope.data is None else _clean(envelope, cleaner)
    parse_time(told.at)
    return Foreign(
        log=segment.log,
        epoch=segment.epoch,
        seq=told.seq,
        clock=told.clock,
        type=told.type,
        version=envelope.version,
        at=told.at,
        origin=cleaner.struct(told.origin, "origin"),
        data=data,
        raw=_raw(told, data, cleaner),
        person=segment.person[:200],
        trusted=trusted,
    )


def _clean(envelope: Envelope, cleaner: Cleaner) -> dict[str, Any]:
    event = cleaner.struct(decode_event(envelope), envelope.type)
    data: dict[str, Any] = msgspec.to_builtins(event)
    for part in (data, data.get("reward") or {}, data.get("use") or {}):
        if part.get("episode_id"):
            id_bytes(part["episode_id"])
    if "at" in EVENT_TYPES[envelope.type].__struct_fields__:
        parse_time(data["at"])
    return data


def _raw(told: Shared, data: dict[str, Any] | None, cleaner: Cleaner) -> bytes | None:
    """The step's value, if it is one; what is masked here and was not there is not taken."""
    if told.raw is None or data is None or told.type != "step.tracked":
        return None
    step = decode_step(told.raw, data["episode_id"], data["number"])
    return told.raw if step is not None and cleaner.struct(step, "step") == step else None
