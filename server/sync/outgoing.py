"""From the journal to what is shared of it: this log's own events with their Lamport times, without what stays home."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from prowess.server.sync.segment import Shared
from prowess.storage.events import FOREIGN_TYPE, Envelope
from prowess.storage.log.codec import decode_envelope
from prowess.storage.log.private import Private
from prowess.storage.sharing import Journal

__all__ = ["Entry", "entries", "foreign_entries", "ids_in", "stays_home"]

# Bills, what one machine's disk had room for, and what is told to nobody.
HOME = frozenset({"model.answered", "steps.trimmed", "privacy.set"})


class Entry(NamedTuple):
    """One place in the journal: its Lamport time and digest, and the event if it is this log's and may be shared."""

    seq: int
    clock: int
    digest: bytes
    shared: Shared | None


def entries(journal: Journal, clock: int) -> Iterator[Entry]:
    """The entries of ``journal``; ``clock`` is the Lamport time of the event before them.

    Of what is marked as private nothing is in them.
    """
    ahead = clock - journal.after
    for seq, raw in enumerate(journal.rows, start=journal.after + 1):
        envelope = decode_envelope(seq, raw)
        if envelope.type == FOREIGN_TYPE:
            ahead = (envelope.data or {}).get("here", seq + ahead) - seq
        yield Entry(seq, seq + ahead, envelope.digest, _shared(envelope, seq + ahead, journal.private))


def _shared(envelope: Envelope, clock: int, private: Private) -> Shared | None:
    if envelope.type == FOREIGN_TYPE or envelope.type in HOME or _is_private(envelope.type, envelope.data, private):
        return None
    data = _without_private(envelope.type, envelope.data, private)
    return Shared(envelope.seq, clock, envelope.type, envelope.version, envelope.at, envelope.origin, data)


def _is_private(name: str, data: Mapping[str, Any] | None, private: Private) -> bool:
    """Whether an event tells of something marked as private: of it, of what contains it, of showing nothing else."""
    if data is None:
        return False
    kind, key = _subject(name, data)
    if key in getattr(private, kind, ()):
        return True
    if name == "skill.saved":
        return any(step.get("skill") in private.skill_ids for step in data["skill"]["steps"])
    shown = data["exposure"]["skills"] if name == "exposure.made" else ()
    return bool(shown) and all(each["skill_id"] in private.skill_ids for each in shown)


def _without_private(name: str, data: dict[str, Any] | None, private: Private) -> dict[str, Any] | None:
    """``data`` without the private skills among those that a query was answered with."""
    if name != "exposure.made" or data is None:
        return data
    shown = [each for each in data["exposure"]["skills"] if each["skill_id"] not in private.skill_ids]
    return {**data, "exposure": {**data["exposure"], "skills": shown}}


def foreign_entries(journal: Journal) -> Iterator[tuple[str, int, str, Shared]]:
    """Events of other logs in ``journal`` as they came, with log, epoch and person; those of strangers are left out.

    What a stranger said is kept here in another form, so only their own machine can send it again.
    """
    for seq, raw in enumerate(journal.rows, start=journal.after + 1):
        envelope = decode_envelope(seq, raw)
        told = envelope.data
        if envelope.type != FOREIGN_TYPE or told is None or not told["trusted"]:
            continue
        if _is_private(told["type"], told["data"], journal.private):
            continue
        origin = msgspec.convert(told["origin"], type(envelope.origin))
        data = _without_private(told["type"], told["data"], journal.private)
        event = Shared(told["seq"], told["clock"], told["type"], told["version"], told["at"], origin, data)
        yield told["log"], told["epoch"], told["person"], event


def ids_in(events: Sequence[Shared]) -> dict[str, set[str]]:
    """The ids whose project decides whether an event stays home, as ``Store.projects_of`` takes them."""
    found: dict[str, set[str]] = {"episode_ids": set(), "skill_ids": set(), "memory_ids": set()}
    for event in events:
        kind, name = _subject(event.type, event.data or {})
        if name:
            found[kind].add(name)
        found["episode_ids"].update(_sources(event.data or {}))
    return found


def _sources(data: Mapping[str, Any]) -> list[str]:
    """The episodes that something was drawn from, that a skill was used in, or that a question was asked for."""
    about = (data.get(name, {}).get("episode_id") for name in ("memory", "use", "exposure"))
    return [*data.get("skill", {}).get("episodes", ()), *filter(None, about)]


def _subject(name: str, data: Mapping[str, Any]) -> tuple[str, str]:
    family = name.partition(".")[0]
    if family == "reward":
        return "episode_ids", data.get("reward", {}).get("episode_id", "")
    if family == "skill":
        used = data.get("use", {})
        return "skill_ids", data.get("skill_id") or used.get("skill_id") or data.get("skill", {}).get("id", "")
    if family == "memory":
        return "memory_ids", data.get("memory_id") or data.get("memory", {}).get("id", "")
    return "episode_ids", data.get("episode_id", "")


def stays_home(event: Shared, private: Collection[str], projects: Mapping[str, str]) -> bool:
    """Whether ``event`` belongs to a project in ``private``: by its own word or by ``projects`` (id to project).

    A use of a skill belongs to its episode as well, and so does what was drawn from an episode for all projects.
    Patterns of all projects have no full list of their episodes, so that those in ``private`` may be among them.
    """
    data = event.data
    if not private or data is None:
        return False
    for part in (data, *(data.get(name, {}) for name in ("skill", "memory", "exposure"))):
        if part.get("project") in private:
            return True
    if event.type == "patterns.reflected" and not data.get("project"):
        return True
    return any(projects.get(name) in private for name in (_subject(event.type, data)[1], *_sources(data)) if name)
