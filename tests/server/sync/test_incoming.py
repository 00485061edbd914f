"""Events that machines of every version write are taken in as they are."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from prowess.server.sync.incoming import checked
from prowess.server.sync.outgoing import HOME
from prowess.server.sync.remote import Segment
from prowess.server.sync.segment import Shared, encode_segment
from prowess.storage.events import FOREIGN_TYPE, Envelope
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.models import Origin
from prowess.storage.upcast import decode_event

SAMPLES = Path(__file__).parents[2] / "storage" / "samples"
SHARED = sorted(file.stem for file in SAMPLES.glob("*.json") if not file.stem.startswith((*HOME, FOREIGN_TYPE)))
LOG = "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("sample", SHARED)
def test_every_event_that_was_ever_shared_is_taken_in(sample: str, *, trusted: bool) -> None:
    name, _, version = sample.rpartition("-")
    data = msgspec.json.decode((SAMPLES / f"{sample}.json").read_bytes())
    at, origin = "2026-11-29T12:00:00.000Z", Origin(machine="m1")
    told = Shared(1, 1, name, int(version), at, origin, data)
    [event] = checked(Segment(1, LOG, 1, 1, 1, "anna", encode_segment([told])), Cleaner(), trusted=trusted)
    meant = decode_event(Envelope(seq=1, type=name, version=int(version), at=at, origin=origin, data=data))
    assert (event.type, event.data) == (name, msgspec.to_builtins(meant))
