"""How events and steps are written as bytes.

Journal value: the chain's digest (16 bytes), then the zstd-compressed body, a msgpack array
``[seq, type, version, at, origin, data]``. The digest is BLAKE2b over the digest before and the uncompressed body. An
erased event keeps its digest and has ``nil`` as data, so the chain still holds around it; one that lost a part of its
data keeps it too, and ends with ``true``.

Step value: the zstd-compressed msgpack array ``[format, sameness, fields]``; ``fields`` is ``nil`` once the raw step
was dropped by retention. Episode id and number stand in the key.
"""

from __future__ import annotations

import threading
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import zstandard

from prowess.storage.errors import StoreDamaged, StoreNewer
from prowess.storage.events import EVENT_TYPES, Envelope, Event
from prowess.storage.models import NewStep, Origin, Step

__all__ = [
    "GENESIS",
    "Body",
    "Head",
    "decode_envelope",
    "decode_step",
    "digest_of",
    "edit_envelope",
    "encode_envelope",
    "encode_event",
    "encode_step",
    "erase_envelope",
    "hash_of",
    "identify_step",
    "pack",
    "same_step",
    "sameness",
    "trim_step",
    "type_of",
    "verify",
    "was_edited",
]

STEP_FORMAT = 1
_HINT = "restore a backup: prowess restore"
DIGEST_BYTES = 16
GENESIS = bytes(DIGEST_BYTES)
LEVEL = 3
LEFT_OUT = ("args", "context", "duration_ms", "observation", "tool")

_encoder = msgspec.msgpack.Encoder(order="sorted")
_NAMES = {event_type: name for name, event_type in EVENT_TYPES.items()}


class _Codecs(threading.local):
    """zstandard's objects may not be shared by threads."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=LEVEL).compress
        self.expand = zstandard.ZstdDecompressor().decompress


_codecs = _Codecs()


class Head(NamedTuple):
    """The journal's last event: its number and its digest."""

    seq: int
    digest: bytes


class Body(NamedTuple):
    """An event's body as it is in the file; ``edited`` where a part of its data was forgotten."""

    seq: int
    type: str
    version: int
    at: str
    origin: Origin
    data: dict[str, Any] | None
    edited: bool = False


_body_decoder = msgspec.msgpack.Decoder(Body)
_step_decoder = msgspec.msgpack.Decoder(tuple[int, bytes, dict[str, Any] | None])


def pack(value: Any) -> bytes:
    """``value`` as msgpack with sorted keys: equal values have equal bytes."""
    return _encoder.encode(value)


def hash_of(*parts: str) -> bytes:
    """16 bytes that stand for ``parts`` as a table's key."""
    return blake2b(pack(parts), digest_size=DIGEST_BYTES).digest()


def digest_of(previous: bytes, body: bytes) -> bytes:
    return blake2b(previous + body, digest_size=DIGEST_BYTES).digest()


def type_of(event: Event) -> str:
    """The event's name in the journal."""
    return _NAMES[type(event)]


def encode_event(event: Event) -> tuple[str, int, msgspec.Raw]:
    """Type, version and msgpack data: what can be prepared before the event's number is known."""
    return type_of(event), event.VERSION, msgspec.Raw(pack(event))


def encode_envelope(
    head: Head, event: tuple[str, int, msgspec.Raw], at: str, origin: msgspec.Raw
) -> tuple[Head, bytes]:
    """The journal value of the event after ``head``, and the new head."""
    name, version, data = event
    body = pack((head.seq + 1, name, version, at, origin, data))
    digest = digest_of(head.digest, body)
    return Head(head.seq + 1, digest), digest + _codecs.compress(body)


def _expand(raw: bytes, what: str) -> bytes:
    try:
        return _codecs.expand(raw)
    except zstandard.ZstdError as error:
        raise StoreDamaged(f"{what} of the log cannot be read: {error}", hint=_HINT) from error


def decode_envelope(seq: int, raw: bytes) -> Envelope:
    """The event that ``raw`` holds; StoreDamaged if it is not number ``seq`` or cannot be read."""
    return _envelope(_decode_body(seq, raw)[0], raw)


def _envelope(fields: Body, raw: bytes) -> Envelope:
    seq, name, version, at, origin, data, _ = fields
    return Envelope(seq=seq, type=name, version=version, at=at, origin=origin, data=data, digest=raw[:DIGEST_BYTES])


def _decode_body(seq: int, raw: bytes) -> tuple[Body, bytes]:
    body = _expand(raw[DIGEST_BYTES:], f"event {seq}")
    try:
        fields = _body_decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise StoreDamaged(f"event {seq} of the log cannot be read: {error}", hint=_HINT) from error
    if fields.seq != seq:
        raise StoreDamaged(f"event {seq} of the log says it is {fields.seq}", hint=_HINT)
    return fields, body


def was_edited(raw: bytes) -> bool:
    """Whether a part of the event's data was forgotten."""
    return _body_decoder.decode(_expand(raw[DIGEST_BYTES:], "an event")).edited


def verify(previous: bytes, seq: int, raw: bytes) -> Envelope:
    """The event, once its digest is found to follow ``previous``; an erased or edited one is taken at its word."""
    fields, body = _decode_body(seq, raw)
    kept = fields.data is not None and not fields.edited
    if kept and digest_of(previous, body) != raw[:DIGEST_BYTES]:
        raise StoreDamaged(f"event {seq} of the log was altered", hint=_HINT)
    return _envelope(fields, raw)


def erase_envelope(envelope: Envelope) -> bytes:
    """The journal value without the payload; number, type, time, origin and digest stay."""
    body = pack((envelope.seq, envelope.type, envelope.version, envelope.at, envelope.origin, None))
    return envelope.digest + _codecs.compress(body)


def edit_envelope(envelope: Envelope, data: dict[str, Any]) -> bytes:
    """The journal value with ``data`` in place of a payload of which a part was forgotten; the digest stays."""
    body = pack((envelope.seq, envelope.type, envelope.version, envelope.at, envelope.origin, data, True))
    return envelope.digest + _codecs.compress(body)


def sameness(step: NewStep) -> bytes:
    """Digest of what makes two reports of a step the same one: all of its content but times and identities."""
    content = (step.action, step.tool, step.args, step.context, step.observation, step.error, step.outcome)
    return blake2b(pack(content), digest_size=DIGEST_BYTES).digest()


def encode_step(step: NewStep, at: str, same: bytes) -> bytes:
    """The ``steps`` value; ``at`` is the step's own time or that of its arrival, ``same`` its sameness."""
    fields = {name: getattr(step, name) for name in step.__struct_fields__}
    fields["numbered"] = fields.pop("number") is not None
    fields["at"] = at
    return _codecs.compress(pack((STEP_FORMAT, same, fields)))


def _open_step(raw: bytes) -> tuple[bytes, dict[str, Any] | None]:
    try:
        version, same, fields = _step_decoder.decode(_expand(raw, "a step"))
    except msgspec.MsgspecError as error:
        raise _damaged_step(error) from error
    if version > STEP_FORMAT:
        raise StoreNewer(f"a step has format {version}, this version reads up to {STEP_FORMAT}", hint="upgrade prowess")
    return same, fields


def decode_step(raw: bytes, episode_id: str, number: int) -> Step | None:
    """The step, or None once it was dropped by retention."""
    _, fields = _open_step(raw)
    try:
        return None if fields is None else Step(episode_id=episode_id, number=number, **fields)
    except TypeError as error:
        raise _damaged_step(error) from error


def _damaged_step(error: Exception) -> StoreDamaged:
    return StoreDamaged(f"a step of the log cannot be read: {error}", hint=_HINT)


def same_step(raw: bytes, same: bytes) -> bool:
    """Whether ``raw`` holds, or held, a step of this sameness."""
    return _open_step(raw)[0] == same


def identify_step(raw: bytes, step: NewStep) -> bytes | None:
    """The value with the identity of ``step``, which is told of the same action, and what was left out before.

    What was told stays, and so does its sameness. None where the content was dropped or has an identity.
    """
    same, fields = _open_step(raw)
    if fields is None or fields.get("external_id") is not None:
        return None
    fields["external_id"] = step.external_id
    fields |= {name: getattr(step, name) for name in LEFT_OUT if fields.get(name) is None}
    if fields["outcome"] in ("unknown", step.outcome):
        fields["outcome"] = step.outcome
        fields["error"] = fields["error"] or step.error
    return _codecs.compress(pack((STEP_FORMAT, same, fields)))


def trim_step(raw: bytes) -> bytes:
    """The value with its content dropped: what is needed to recognise the step when it is told again."""
    same, _ = _open_step(raw)
    return _codecs.compress(pack((STEP_FORMAT, same, None)))
