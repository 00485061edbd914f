"""Stored bytes of every version of every event must read for ever.

samples/<type>-<version>.bin is one journal value, the .json beside it what it means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from prowess.storage.errors import StoreDamaged, StoreNewer
from prowess.storage.events import EVENT_TYPES, Envelope, Event
from prowess.storage.log.codec import decode_envelope, pack
from prowess.storage.models import Origin
from prowess.storage.upcast import decode_event, upcast

SAMPLES = Path(__file__).parent / "samples"


def _envelope(name: str, version: int, data: dict[str, Any] | None) -> Envelope:
    return Envelope(seq=7, type=name, version=version, at="t", origin=Origin(), data=data)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.bin")), ids=lambda path: path.stem)
def test_a_stored_event_reads_as_when_it_was_stored(path: Path) -> None:
    event = decode_event(decode_envelope(1, path.read_bytes()))
    stored = msgspec.json.decode(path.with_name(f"{path.stem}.json").read_bytes())
    assert _of_then(msgspec.json.decode(msgspec.json.encode(event)), stored) == stored
    # What was added since has its default, as if the event were told anew with what it had then.
    assert event == msgspec.convert(stored, type(event))


def _of_then(now: Any, then: Any) -> Any:
    """``now`` without the fields that ``then`` did not have."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {key: _of_then(value, then[key]) for key, value in now.items() if key in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [_of_then(mine, old) for mine, old in zip(now, then, strict=True)]
    return now


def test_every_version_of_every_type_has_a_sample() -> None:
    wanted = {f"{name}-{v}" for name, kind in EVENT_TYPES.items() for v in range(1, kind.VERSION + 1)}
    assert {path.stem for path in SAMPLES.glob("*.bin")} == wanted


class Renamed(Event, frozen=True, kw_only=True):
    VERSION = 3

    title: str
    size: int


def test_old_versions_go_through_each_upcaster_in_turn() -> None:
    upcasters = {
        ("x", 1): lambda data: {"title": data["name"]},
        ("x", 2): lambda data: {**data, "size": len(data["title"])},
    }
    now = upcast(_envelope("x", 1, {"name": "abc"}), types={"x": Renamed}, upcasters=upcasters)
    assert (now.version, now.data) == (3, {"title": "abc", "size": 3})


def test_an_erased_event_needs_no_upcaster() -> None:
    now = upcast(_envelope("x", 1, None), types={"x": Renamed}, upcasters={})
    assert (now.version, now.data) == (3, None)


def test_an_unknown_type_is_never_skipped() -> None:
    with pytest.raises(StoreNewer, match=r"event 7 is 'moon\.landed' version 1") as raised:
        upcast(_envelope("moon.landed", 1, {}))
    assert raised.value.hint


def test_a_newer_version_is_never_guessed() -> None:
    with pytest.raises(StoreNewer, match="version 2"):
        upcast(_envelope("episode.closed", 2, {}))


def test_data_that_does_not_fit_is_damage() -> None:
    with pytest.raises(StoreDamaged, match="event 7"):
        decode_event(_envelope("episode.closed", 1, {"episode_id": 3}))
    assert pack({})
