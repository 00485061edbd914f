"""What stays forgotten, also for events that arrive later from other machines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from prowess.storage.events import Forgotten
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.codec import hash_of
from prowess.storage.log.erasure import NAMES, Targets, entries, skill_of
from prowess.storage.log.file import identity_of, read_meta
from prowess.storage.log.tables import FORGOTTEN
from prowess.storage.stamps import stamp

__all__ = ["Past", "forgotten_before", "is_forgotten", "remember_forgotten"]


class Past(NamedTuple):
    """All that was ever forgotten in a log.

    A skill may have been found anew since: ``kept`` are the identities of what is there of such, and ``anew`` has the
    stamp as of which each of them was forgotten.
    """

    targets: Targets = Targets()
    kept: frozenset[tuple[str, int, int]] = frozenset()
    anew: Mapping[str, str] = MappingProxyType({})


def forgotten_before(view: View) -> Past:
    """All that was ever forgotten in this log."""
    found = Targets()
    stamps: dict[str, str] = {}
    saved: set[str] = set()
    skills: dict[str, set[tuple[str, int, int]]] = {}
    for entry in entries(view):
        if entry.type == "payloads.forgotten":
            told = {kind: set(entry.data.get(name, ())) for kind, name in NAMES.items()}
            found.add(Targets(**told))
            stamps |= {name: max(entry.stamp, stamps.get(name, "")) for name in told["skills"]}
        elif entry.type.startswith("skill."):
            name = skill_of(entry.type, entry.data)
            skills.setdefault(name, set()).add(entry.identity)
            saved.update([name] if entry.type == "skill.saved" else [])
    anew = found.skills & saved
    return Past(found, frozenset().union(*(skills[name] for name in anew)), {name: stamps[name] for name in anew})


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
