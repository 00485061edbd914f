"""What stays forgotten, also for events that arrive later from other machines."""

from __future__ import annotations

from prowess.storage.events import Forgotten
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.codec import hash_of
from prowess.storage.log.erasure import Targets
from prowess.storage.log.file import identity_of, read_meta
from prowess.storage.log.tables import FORGOTTEN
from prowess.storage.stamps import stamp

__all__ = ["is_forgotten", "remember_forgotten"]


def remember_forgotten(batch: Batch, told: Forgotten, at: str | None = None) -> None:
    """What ``told`` names is forgotten as of the stamp ``at``; by default that of the event recorded last."""
    at = _head(batch) if at is None else at
    targets = Targets.of(told)
    for kind in targets.__struct_fields__:
        for name in getattr(targets, kind):
            key = hash_of(kind, name)
            known = batch.table(FORGOTTEN).get(key)
            if known is None or known.decode() < at:
                batch.put(FORGOTTEN, key, at.encode())


def is_forgotten(view: View, kind: str, name: str, at: str) -> bool:
    """Whether an event with the stamp ``at`` about ``name`` comes too late.

    A skill may be found anew after it was forgotten; everything else is made once.
    """
    told = view.table(FORGOTTEN).get(hash_of(kind, name))
    return told is not None and (kind != "skills" or at <= told.decode())


def _head(batch: Batch) -> str:
    own, seq = identity_of(batch), batch.head.seq
    return stamp(seq + int(read_meta(batch, "offset") or 0), own.log, own.epoch_of(seq), seq)
