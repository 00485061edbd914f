"""What a journal entry tells, by whom and in which order: events of other logs are taken out of what they came in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prowess.storage import events as ev
from prowess.storage.catalog import queries as sql
from prowess.storage.catalog.adapter import Connection
from prowess.storage.stamps import Identity, log_of, stamp
from prowess.storage.upcast import decode_event, upcast

__all__ = ["Told", "arrivals", "subject"]


class Told(NamedTuple):
    """An event to apply. ``seq`` is its place in this journal, ``stamp`` its place among the events of all logs.

    ``actor`` is who decided it, "" where it is told again.
    """

    type: str
    event: ev.Event
    seq: int
    stamp: str
    log: str
    actor: str = ""


def arrivals(db: Connection, envelopes: Sequence[ev.Envelope], identity: Identity) -> Iterator[Told]:
    """The events of ``envelopes`` that still have a payload; how far Lamport time is ahead is kept for the next batch.

    Raises StoreNewer for types and versions of later programs, also of what was erased, and StoreDamaged.
    """
    found = db.execute(sql.LAMPORT)
    before = ahead = found[0][0] if found else 0
    for envelope in envelopes:
        if envelope.data is None:
            upcast(envelope)
            continue
        event = decode_event(envelope)
        if isinstance(event, ev.ForeignReceived):
            ahead = event.here - envelope.seq
            yield from _foreign(event, envelope.seq)
            continue
        log, epoch = identity.log, identity.epoch_of(envelope.seq)
        place = stamp(envelope.seq + ahead, log, epoch, envelope.seq)
        yield Told(envelope.type, event, envelope.seq, place, log, envelope.origin.actor)
    if ahead != before:
        db.execute(sql.SET_LAMPORT, (ahead,))


def _foreign(told: ev.ForeignReceived, seq: int) -> Iterator[Told]:
    inner = ev.Envelope(seq=seq, type=told.type, version=told.version, at=told.at, origin=told.origin, data=told.data)
    if told.data is None:
        upcast(inner)
        return
    place = stamp(told.clock, told.log, told.epoch, told.seq, strange=not told.trusted)
    yield Told(told.type, decode_event(inner), seq, place, log_of(place), told.origin.actor)


def subject(event: ev.Event) -> tuple[str, str] | None:
    """What must be decided in the order of stamps, as (kind, id); None for what may come in any order."""
    match event:
        case ev.SkillSaved():
            return "skill", event.skill.id
        case ev.SkillStatusSet() | ev.SkillTrialEnded() | ev.SkillPinned():
            return "skill", event.skill_id
        case ev.MemorySaved():
            return "memory", event.memory.id
        case ev.MemoryDeleted():
            return "memory", event.memory_id
        case ev.EpisodeDescribed():
            return "description", event.episode_id
        case ev.PatternsReflected():
            return "patterns", event.project
        case ev.ControllerAdopted():
            return "controller", event.project
    return None
