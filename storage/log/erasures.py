"""What was erased here and may still be at the remote, until somebody has seen to that."""

from __future__ import annotations

from typing import Any

from prowess.storage.events import FOREIGN_TYPE
from prowess.storage.log.batch import Batch
from prowess.storage.log.codec import decode_envelope, pack, was_edited
from prowess.storage.log.file import identity_of
from prowess.storage.log.tables import ERASURES, JOURNAL

__all__ = ["EXAMPLES", "WHOLE", "note", "note_again"]

# What of an event is to go: its payload, or of a skill that stays the values that it was seen with.
WHOLE, EXAMPLES = b"", b"examples"


def note(batch: Batch, identity: tuple[str, int, int], part: bytes) -> None:
    """The event with this log, epoch and number may be at the remote with what was erased here."""
    batch.put(ERASURES, pack(identity), part)


def note_again(batch: Batch) -> None:
    """Everything that was ever erased may be there again: the remote was restored from a backup."""
    own = identity_of(batch)
    for seq, raw in batch.table(JOURNAL):
        envelope = decode_envelope(seq, raw)
        told: dict[str, Any] | None = envelope.data
        if told is not None and envelope.type == FOREIGN_TYPE:
            identity, data = (told["log"], told["epoch"], told["seq"]), told["data"]
        else:
            identity, data = (own.log, own.epoch_of(seq), seq), told
        if data is None:
            note(batch, identity, WHOLE)
        elif (told or {}).get("type", envelope.type) == "skill.saved" and was_edited(raw):
            note(batch, identity, EXAMPLES)
