"""What stays forgotten, also for events that arrive later from other machines."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from prowess.storage.events import Forgotten
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.codec import hash_of
from prowess.storage.log.erasure import entries, skill_of
from prowess.storage.log.file import LogFile, identity_of, read_meta
from prowess.storage.log.tables import FORGOTTEN
from prowess.storage.log.targets import NAMES, Targets
from prowess.storage.models import ActorKind
from prowess.storage.stamps import stamp

__all__ = ["FOR_ITSELF", "Past", "forgotten_before", "forgotten_memories", "is_forgotten", "remember_forgotten"]

# The kind of a memory that somebody wanted to be gone, and not an episode that it was drawn from.
FOR_ITSELF = "memories for themselves"


class Past(NamedTuple):
    """All that was ever forgotten in a log.

    A skill may have been found anew since: ``kept`` are the identities of what is there of such, and ``anew`` has the
    stamp as of which each of them was forgotten. ``alone`` are the memories that were forgotten for themselves.
    """

    targets: Targets = Targets()
    kept: frozenset[tuple[str, int, int]] = frozenset()
    anew: Mapping[str, str] = MappingProxyType({})
    alone: frozenset[str] = frozenset()


def forgotten_before(view: View) -> Past:
    """All that was ever forgotten in this log."""
    found = Targets()
    alone: set[str] = set()
    stamps: dict[str, str] = {}
    saved: set[str] = set()
    skills: dict[str, set[tuple[str, int, int]]] = {}
    for entry in entries(view):
        if entry.type == "payloads.forgotten":
            told = Targets(**{kind: set(entry.data.get(name, ())) for kind, name in NAMES.items()})
            found.add(told)
            alone |= _for_themselves(told, entry.actor)
            stamps |= {name: max(entry.stamp, stamps.get(name, "")) for name in told.skills}
        elif entry.type.startswith("skill."):
            name = skill_of(entry.type, entry.data)
            skills.setdefault(name, set()).add(entry.identity)
            saved.update([name] if entry.type == "skill.saved" else [])
    anew = found.skills & saved
    kept = frozenset[tuple[str, int, int]]().union(*(skills[name] for name in anew))
    return Past(found, kept, {name: stamps[name] for name in anew}, frozenset(alone))


def remember_forgotten(batch: Batch, told: Forgotten, at: str | None = None, *, actor: ActorKind = "machine") -> None:
    """What ``told`` names is forgotten as of the stamp ``at``; by default that of the event recorded last.

    ``actor`` is whose word that is.
    """
    at = _head(batch) if at is None else at
    targets = Targets.of(told)
    named = [(kind, name) for kind in targets.__struct_fields__ for name in getattr(targets, kind)]
    named += [(FOR_ITSELF, name) for name in _for_themselves(targets, actor)]
    for kind, name in named:
        key = hash_of(kind, name)
        known = batch.table(FORGOTTEN).get(key)
        if known is None or known.decode() < at:
            batch.put(FORGOTTEN, key, at.encode())


def _for_themselves(targets: Targets, actor: str) -> set[str]:
    """The memories that were named, and did not go with an episode."""
    return set() if targets.episodes or actor == "machine" else targets.memories


def is_forgotten(view: View, kind: str, name: str, at: str) -> bool:
    """Whether an event with the stamp ``at`` about ``name`` comes too late.

    A skill may be found anew after it was forgotten; everything else is made once.
    """
    told = view.table(FORGOTTEN).get(hash_of(kind, name))
    return told is not None and (kind != "skills" or at <= told.decode())


def forgotten_memories(file: LogFile, names: Collection[str]) -> frozenset[str]:
    """Those of ``names`` that were forgotten for themselves."""
    with file.read() as transaction:
        view = View(transaction)
        return frozenset(name for name in names if is_forgotten(view, FOR_ITSELF, name, ""))


def _head(batch: Batch) -> str:
    own, seq = identity_of(batch), batch.head.seq
    return stamp(seq + int(read_meta(batch, "offset") or 0), own.log, own.epoch_of(seq), seq)
