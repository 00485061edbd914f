"""The number in a log that keeps older programs away from what newer ones write."""

from __future__ import annotations

from pathlib import Path

import pytest

from prowess.storage.errors import StoreNewer
from prowess.storage.events import EVENT_TYPES
from prowess.storage.log import file
from prowess.storage.log.codec import STEP_FORMAT
from prowess.storage.log.tables import ALL, SCHEMA

# What a log of each schema may hold. Types that no release has written yet may be added to the newest one; afterwards
# a new one takes a new schema.
EVENTS = {
    2: """
        controller.adopted-1 episode.closed-1 episode.described-1 episode.opened-1 exposure.made-1 foreign.received-1
        memory.deleted-1 memory.saved-1 model.answered-1 patterns.reflected-1 payloads.forgotten-1 privacy.set-1
        reward.scored-1 skill.pinned-1 skill.saved-1 skill.status_set-1 skill.trial_ended-1 skill.used-1 step.tracked-1
        steps.trimmed-1
    """
}
TABLES = {2: "meta journal steps episodes identities tasks external rewards keys expiry foreign forgotten erasures"}
STEPS = {2: 1}


def test_what_a_log_may_hold_belongs_to_its_schema() -> None:
    assert sorted(f"{name}-{kind.VERSION}" for name, kind in EVENT_TYPES.items()) == sorted(EVENTS[SCHEMA].split())
    assert [table.name for table in ALL] == TABLES[SCHEMA].split()
    assert STEPS[SCHEMA] == STEP_FORMAT


def test_a_log_that_a_newer_program_opened_is_refused_by_an_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.redb"
    file.LogFile(path, "t").close()
    with monkeypatch.context() as newer:
        newer.setattr(file, "SCHEMA", SCHEMA + 1)
        newer.setattr(file, "__version__", "7.0")
        file.LogFile(path, "t").close()
    before = path.read_bytes()
    with pytest.raises(StoreNewer, match=f"has schema {SCHEMA + 1}, written by Prowess 7.0; this is"):
        file.LogFile(path, "t")
    assert path.read_bytes() == before
