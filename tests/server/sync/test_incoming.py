"""Events that machines of every version write are taken in as they are."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from rounds import sync

from prowess.learning.redaction.masking import mask_fields, mask_many
from prowess.server.sync.incoming import checked
from prowess.server.sync.outgoing import HOME
from prowess.server.sync.remote import Segment
from prowess.server.sync.segment import Shared, encode_segment
from prowess.storage.events import FOREIGN_TYPE, Envelope
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.log.limits import MAX_SUMMARY
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store
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


@pytest.mark.anyio
async def test_a_mask_that_a_summary_cuts_in_two_arrives_as_it_was_sent(tmp_path: Path) -> None:
    url, masks = f"file://{tmp_path}/remote.db", {"mask_many": mask_many, "mask_fields": mask_fields}
    line = f"echo {'ab ' * 50}&& curl -u anna:Kx93hfQpz71vWm2L https://shop"
    lines = ["a" * more + line for more in range(30)]
    steps = [NewStep(action="look", tool="bash", args={"command": line}) for line in lines]
    async with Store.open(tmp_path / "a", **masks) as here, Store.open(tmp_path / "b", **masks) as there:
        told = await here.track(Where(task_id="shop"), steps, origin=Origin(machine="a"))
        await sync(here, url)
        await sync(there, url)
        sent, taken = await here.summaries(told.episode_id), await there.summaries(told.episode_id)
    assert [step.action for step in taken] == [step.action for step in sent]
    cut = [step.action for step in sent if step.action.endswith("curl -u anna:[maske")]
    assert list(map(len, cut)) == [MAX_SUMMARY]


def test_what_is_masked_here_alone_is_cut_as_summaries_are() -> None:
    cleaner = Cleaner(lambda texts: [text.replace("hunter2", "[masked]") for text in texts])
    words = "x" * (MAX_SUMMARY - 7) + "hunter2"
    texts = dict.fromkeys(("action", "tool", "context", "error"), words)
    data = msgspec.json.decode((SAMPLES / "step.tracked-1.json").read_bytes()) | texts
    told = Shared(1, 1, "step.tracked", 1, "2026-11-29T12:00:00.000Z", Origin(), data)
    [event] = checked(Segment(1, LOG, 1, 1, 1, "anna", encode_segment([told])), cleaner, trusted=True)
    assert event.data is not None
    assert {name: event.data[name] for name in texts} == dict.fromkeys(texts, words[:-7] + "[masked")
