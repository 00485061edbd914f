"""From a segment of the remote to events that may be stored: checked, cleaned, in this program's version."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from prowess.server.sync.errors import RemoteGarbage, RemoteNewer
from prowess.server.sync.outgoing import HOME
from prowess.server.sync.remote import Segment
from prowess.server.sync.segment import Shared, decode_segment
from prowess.storage.errors import InvalidInput, StoreDamaged, StoreNewer
from prowess.storage.events import (
    FOREIGN_TYPE,
    Envelope,
    EpisodeOpened,
    Event,
    RewardScored,
    SkillSaved,
    StepTracked,
)
from prowess.storage.ids import id_bytes, id_text
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.log.codec import decode_step
from prowess.storage.log.foreign import Foreign
from prowess.storage.log.limits import MAX_NUMBER, MAX_SUMMARY
from prowess.storage.log.score import BOUND
from prowess.storage.models import parse_time
from prowess.storage.upcast import decode_event, upcast

__all__ = ["checked"]

T = TypeVar("T", bound=Event)

SUMMARY = ("action", "tool", "context", "error")  # texts of a step that are cut
MAX_CLOCK = 2**62  # what is later than that would leave no time after it


def checked(segment: Segment, cleaner: Cleaner, *, trusted: bool) -> list[Foreign]:
    """The events of ``segment``. Raises RemoteGarbage, and RemoteNewer where a later version wrote them."""
    found = decode_segment(segment.data)
    if not _is_log(segment.log) or not 0 < segment.epoch < MAX_CLOCK:
        raise RemoteGarbage("a segment names no log")
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
    if told.type == FOREIGN_TYPE or told.type in HOME or not 0 < told.clock < MAX_CLOCK or not 0 < told.seq < MAX_CLOCK:
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
    told = decode_event(envelope)
    _check_numbers(told)
    event = _short(cleaner.struct(told, envelope.type))
    data: dict[str, Any] = msgspec.to_builtins(event)
    reward = data["reward"] if isinstance(event, RewardScored) else {}  # of a controller it is a number
    for part in (data, reward):  # what is told of an episode names it
        if "episode_id" in part:
            _check_id(part["episode_id"])
    for part in (data.get(name) or {} for name in ("use", "exposure", "memory")):  # which may belong to none
        if part.get("episode_id"):
            _check_id(part["episode_id"])
    for name in data.get("episode_ids", ()):  # as a person typed them
        id_bytes(name)
    _check_times(data)
    return data


def _short(event: T) -> T:
    """``event`` as a summary is cut: what was a mask cut in two is one again when it was masked here, and too long."""
    if not isinstance(event, StepTracked):
        return event
    texts = {name: text[:MAX_SUMMARY] for name in SUMMARY if (text := getattr(event, name)) is not None}
    return msgspec.structs.replace(event, **texts)


def _check_times(data: dict[str, Any]) -> None:
    """ValueError for what is no time, in an event of which ``data`` is the payload."""
    for part in (data, *(each for each in data.values() if isinstance(each, dict))):
        if "at" in part:
            parse_time(part["at"])
    skill = data.get("skill") or {}
    for told in filter(None, (skill.get("created_at"), skill.get("updated_at"))):
        parse_time(told)


def _is_log(text: str) -> bool:
    try:
        _check_id(text)
    except ValueError:
        return False
    return True


def _check_id(text: str) -> None:
    """ValueError unless it is a UUID as this program writes them: two texts of one id would be two things in one."""
    if id_text(id_bytes(text)) != text:
        raise ValueError("no id")


def _check_numbers(event: Event) -> None:
    """What would have been refused from an agent is refused from a machine."""
    match event:
        case StepTracked():
            good = 0 < event.number <= MAX_NUMBER and event.size >= 0
            good = good and all(len(text or "") <= MAX_SUMMARY for text in (event.action, event.tool, event.context))
        case EpisodeOpened():
            good = event.attempt > 0
        case RewardScored():
            good = event.reward.value is None or abs(event.reward.value) <= BOUND
        case SkillSaved():
            good = event.skill.version > 0
        case _:
            good = True
    if not good:
        raise ValueError("a number or text is out of range")


def _raw(told: Shared, data: dict[str, Any] | None, cleaner: Cleaner) -> bytes | None:
    """The step's value, if it is one; what is masked here and was not there is not taken."""
    if told.raw is None or data is None or told.type != "step.tracked":
        return None
    step = decode_step(told.raw, data["episode_id"], data["number"])
    return told.raw if step is not None and cleaner.struct(step, "step") == step else None
