"""Write the samples that are missing: one journal value and its meaning for each event type's newest version.

Run it after giving an event a new version, and commit what it makes. Files that exist are never touched: they are what
older programs wrote.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from prowess.storage.events import (
    EpisodeClosed,
    EpisodeDescribed,
    EpisodeOpened,
    Event,
    Forgotten,
    RewardScored,
    StepsTrimmed,
    StepTracked,
)
from prowess.storage.log.codec import GENESIS, Head, encode_envelope, encode_event, pack, type_of
from prowess.storage.models import Reward

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from storekit import AT, ORIGIN, decisions  # noqa: E402

EPISODE = "01939d4a-0000-7000-8000-000000000001"


def events() -> list[Event]:
    """One of each type."""
    reward = Reward(
        id="01939d4a-0000-7000-8000-000000000002",
        episode_id=EPISODE,
        at=AT,
        value=2.5,
        source="tests",
        step=1,
        evidence={"passed": 3},
    )
    return [
        EpisodeOpened(
            episode_id=EPISODE, project="shop", session="s1", task_id="refund", attempt=1, at=AT, task="refund it"
        ),
        EpisodeDescribed(episode_id=EPISODE, task="refund order 7"),
        StepTracked(
            episode_id=EPISODE,
            number=1,
            at=AT,
            action="look",
            tool="grep",
            arg_names=("id",),
            outcome="success",
            size=90,
        ),
        RewardScored(reward=reward),
        EpisodeClosed(episode_id=EPISODE, at=AT),
        Forgotten(at=AT, reason="asked", episode_ids=(EPISODE,), skill_ids=("s",), exposure_ids=("x",)),
        StepsTrimmed(at=AT, episode_ids=(EPISODE,)),
        *decisions(EPISODE, "quickly"),
    ]


def main() -> None:
    for event in events():
        stem = HERE / f"{type_of(event)}-{event.VERSION}"
        # with_name, since the type's own dot would be taken for a suffix.
        raw, meaning = stem.with_name(f"{stem.name}.bin"), stem.with_name(f"{stem.name}.json")
        if not raw.exists():
            _, value = encode_envelope(Head(0, GENESIS), encode_event(event), AT, msgspec.Raw(pack(ORIGIN)))
            raw.write_bytes(value)
            meaning.write_bytes(msgspec.json.format(msgspec.json.encode(event)) + b"\n")


if __name__ == "__main__":
    main()
