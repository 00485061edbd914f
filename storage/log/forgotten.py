"""What stays forgotten, also for events that arrive later from other machines."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from prowess.storage.events import Forgotten
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.codec import hash_of
from prowess.storage.log.erasure import ANEW, entries, subject_of
from prowess.storage.log.file import LogFile, identity_of, read_meta
from prowess.storage.log.tables import FORGOTTEN
from prowess.storage.log.targets import Targets
from prowess.storage.models import ActorKind
from prowess.storage.stamps import stamp

__all__ = ["FOR_ITSELF", "Past", "forgotten_before", "forgotten_memories", "is_forgotten", "remember_forgotten"]

# The kind of a memory that somebody wanted to be gone, and not an episode that it was drawn from.
FOR_ITSELF = "memories for themselves"


class Past(NamedTuple):
    """All that was ever forgotten in a log.

    A skill or memory may have been found anew since: ``kept`` are the identities of what is there of such, and ``anew``
    has by (field of Targets, id) the stamp as of which each of them was forgotten. ``alone`` are the memories that were
    forgotten for themselves.
    """

    targets: Targets = Targets()
    kept: frozenset[tuple[str, int, int]] = frozenset()
    anew: Mapping[tuple[str, str], str] = MappingProxyType({})
    alone: frozenset[str] = frozenset()


def forgotten_before(view: View) -> Past:
    """All that was ever forgotten in this log."""
    found = Targets()
    alone: set[str] = set()
    stamps: dict[tuple[str, str], str] = {}
    saved: set[tuple[str, str]] = set()
    there: dict[tuple[str, str], set[tuple[str, int, int]]] = {}
    for entry in entries(view):
        if entry.type == "payloads.forgotten":
            told = msgspec.convert(entry.data, Forgotten)
            targets = Targets.of(told)
            found.add(targets)
            alone |= told.alone(entry.actor)
            named = ((kind, name) for kind in ANEW for name in getattr(targets, kind))
            stamps |= {each: max(entry.stamp, stamps.get(each, "")) for each in named}
        elif (about := subject_of(entry.type, entry.data))[0] in ANEW:
            there.setdefault(about, set()).add(entry.identity)
            saved.update([about] if entry.type.endswith(".saved") else [])
    anew = {each: at for each, at in stamps.items() if each in saved and each[1] not in alone}
    kept = frozenset[tuple[str, int, int]]().union(*(there[each] for each in anew))
    return Past(found, kept, anew, frozenset(alone))


def remember_forgotten(batch: Batch, told: Forgotten, at: str | None = None, *, actor: ActorKind = "machine") -> None:
    """What ``told`` names is forgotten as of the stamp ``at``; by default that of the event recorded last.

    ``actor`` is whose word that is.
    """
    at = _head(batch) if at is None else at
    targets = Targets.of(told)
    named = [(kind, name) for kind in targets.__struct_fields__ for name in getattr(targets, kind)]
    named += [(FOR_ITSELF, name) for name in told.alone(actor)]
    for kind, name in named:
        key = hash_of(kind, name)
        known = batch.table(FORGOTTEN).get(key)
        if known is None or known.decode() < at:
            batch.put(FORGOTTEN, key, at.encode())


def is_forgotten(view: View, kind: str, name: str, at: str) -> bool:
    """Whether an event with the stamp ``at`` about ``name`` comes too late.

    A skill or memory may be found anew after it was forgotten; everything else is made once.
    """
    told = view.table(FORGOTTEN).get(hash_of(kind, name))
    return told is not None and (kind not in ANEW or at <= told.decode())


def forgotten_memories(file: LogFile, names: Collection[str]) -> frozenset[str]:
    """Those of ``names`` that were forgotten for themselves."""
    with file.read() as view:
        return frozenset(name for name in names if is_forgotten(view, FOR_ITSELF, name, ""))


def _head(batch: Batch) -> str:
    own, seq = identity_of(batch), batch.head.seq
    return stamp(seq + int(read_meta(batch, "offset") or 0), own.log, own.epoch_of(seq), seq)
