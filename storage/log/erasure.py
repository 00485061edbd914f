"""Erasing on a person's word: what belongs to it, and taking its payload out of every table.

Erased events keep number, type, time, origin and digest, so the journal's chain still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, ClassVar

import msgspec

from prowess.storage.events import Envelope
from prowess.storage.ids import id_bytes, id_text
from prowess.storage.log import state
from prowess.storage.log.batch import Batch, View, remembered
from prowess.storage.log.codec import decode_envelope, edit_envelope, erase_envelope
from prowess.storage.log.tables import (
    EPISODES,
    EXPIRY,
    IDENTITIES,
    JOURNAL,
    KEYS,
    REWARDS,
    STEPS,
    TASKS,
)

__all__ = ["Scope", "Targets", "erase", "forgotten_before", "resolve"]

WIDEST = 2**32 - 1
LONGEST = 2**64 - 1


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants forgotten: the ids, and everything that fits all of the filters given."""

    episode_ids: tuple[str, ...] = ()
    skill_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    task_id: str | None = None
    project: str | None = None
    before: str | None = None

    def fits(self, *, task_id: str | None, project: str, at: str) -> bool:
        """Whether something fits the filters; without a filter nothing does."""
        if self.task_id is None and self.project is None and self.before is None:
            return False
        return (
            (self.task_id is None or self.task_id == task_id)
            and (self.project is None or self.project == project)
            and (self.before is None or at < self.before)
        )

    def whole_project(self, project: str) -> bool:
        """Whether a project is to go with all that was learned in it."""
        return self.project == project and self.task_id is None and self.before is None


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of everything to erase."""

    episodes: set[str] = msgspec.field(default_factory=set)
    skills: set[str] = msgspec.field(default_factory=set)
    memories: set[str] = msgspec.field(default_factory=set)
    exposures: set[str] = msgspec.field(default_factory=set)
    reflections: set[str] = msgspec.field(default_factory=set)

    def __bool__(self) -> bool:
        return any((self.episodes, self.skills, self.memories, self.exposures, self.reflections))


def _journal(view: View) -> Iterator[tuple[Envelope, dict[str, Any]]]:
    """Events that still have a payload, with it."""
    for seq, raw in view.table(JOURNAL):
        envelope = decode_envelope(seq, raw)
        if envelope.data is not None:
            yield envelope, envelope.data


def _episodes(view: View, scope: Scope) -> set[str]:
    found = {name for name in scope.episode_ids if _exists(view, name)}
    for key, known in state.all_episodes(view):
        if scope.fits(task_id=known.task_id, project=known.project, at=state.opened_at(known)):
            found.add(id_text(key))
    return found


def _exists(view: View, episode_id: str) -> bool:
    try:
        return view.table(EPISODES).get(id_bytes(episode_id)) is not None
    except ValueError:
        return False


class _Search:
    """One pass over the journal for what goes with a scope."""

    def __init__(self, view: View, scope: Scope) -> None:
        self._view = view
        self._scope = scope
        self.found = Targets(episodes=_episodes(view, scope))
        self._skills: dict[str, dict[str, Any]] = {}
        self._memories: set[str] = set()
        self._reflections: dict[str, list[str]] = {}

    def run(self) -> Targets:
        for envelope, data in _journal(self._view):
            look = self._LOOKS.get(envelope.type)
            if look is not None:
                look(self, data)
        self.found.skills.update(name for name, skill in self._skills.items() if self._skill_goes(name, skill))
        self.found.memories.update(self._memories.intersection(self._scope.memory_ids))
        return self.found

    def _skill(self, data: dict[str, Any]) -> None:
        self._skills[data["skill"]["id"]] = data["skill"]

    def _skill_goes(self, name: str, skill: dict[str, Any]) -> bool:
        if name in self._scope.skill_ids or self._scope.whole_project(skill["project"]):
            return True
        sources = skill["episodes"]
        orphaned = bool(self.found.episodes.intersection(sources)) and all(self._gone(source) for source in sources)
        return orphaned and skill["author"] == "machine"

    def _gone(self, episode_id: str) -> bool:
        return episode_id in self.found.episodes or not _exists(self._view, episode_id)

    def _memory(self, data: dict[str, Any]) -> None:
        memory = data["memory"]
        self._memories.add(memory["id"])
        fits = self._scope.fits(task_id=None, project=memory["project"], at=memory["at"])
        if fits or memory["episode_id"] in self.found.episodes:
            self.found.memories.add(memory["id"])

    def _exposure(self, data: dict[str, Any]) -> None:
        exposure = data["exposure"]
        fits = self._scope.fits(task_id=exposure["task_id"], project=exposure["project"], at=exposure["at"])
        if fits or exposure["episode_id"] in self.found.episodes:
            self.found.exposures.add(exposure["id"])

    def _reflection(self, data: dict[str, Any]) -> None:
        """An erased reflection takes those that it replaced along: they would come back on a rebuild."""
        earlier = self._reflections.setdefault(data["project"], [])
        earlier.append(data["reflection_id"])
        quotes = any(self.found.episodes.intersection(pattern["examples"]) for pattern in data["patterns"])
        if quotes or self._scope.whole_project(data["project"]):
            self.found.reflections.update(earlier)

    _LOOKS: ClassVar[dict[str, Callable[[_Search, dict[str, Any]], None]]] = {
        "skill.saved": _skill,
        "memory.saved": _memory,
        "exposure.made": _exposure,
        "patterns.reflected": _reflection,
    }


def resolve(view: View, scope: Scope) -> Targets:
    """Everything that goes with ``scope``.

    With an episode go its memories and exposures, the patterns that quote it, and each machine-made skill drawn from
    nothing that is left. ``project`` alone names its skills as well; ``before`` and ``task_id`` never name skills.
    """
    return _Search(view, scope).run()


def _subject(envelope: Envelope, data: dict[str, Any]) -> tuple[str, str]:
    """Which field of Targets, and which id in it, decides over this event."""
    family = envelope.type.partition(".")[0]
    if family in ("episode", "step"):
        return "episodes", data["episode_id"]
    if family == "reward":
        return "episodes", data["reward"]["episode_id"]
    if family == "skill":
        return "skills", _skill_of(envelope.type, data)
    if family == "memory":
        return "memories", data.get("memory_id") or data["memory"]["id"]
    if family == "exposure":
        return "exposures", data["exposure"]["id"]
    return "reflections", data.get("reflection_id", "")


def _skill_of(name: str, data: dict[str, Any]) -> str:
    if name == "skill.saved":
        return str(data["skill"]["id"])
    return str(data["use"]["skill_id"] if name == "skill.used" else data["skill_id"])


def erase(batch: Batch, targets: Targets) -> None:
    """Take the payload of ``targets`` out of the journal and everything about the episodes out of the tables."""
    _erase_events(batch, targets)
    keys = {id_bytes(name) for name in targets.episodes}
    for key in keys:
        _erase_rows(batch, key)
    _erase_answers(batch, targets.episodes)
    _repoint(batch, keys)


def _erase_events(batch: Batch, targets: Targets) -> None:
    doomed: list[tuple[int, bytes]] = []
    for envelope, data in _journal(batch):
        kind, name = _subject(envelope, data)
        if name in getattr(targets, kind):
            doomed.append((envelope.seq, erase_envelope(envelope)))
        elif envelope.type == "skill.saved" and _has_examples_of(data["skill"], targets.episodes):
            doomed.append((envelope.seq, edit_envelope(envelope, _without_examples(data))))
    for seq, value in doomed:
        batch.put(JOURNAL, seq, value)


def _has_examples_of(skill: dict[str, Any], episodes: Collection[str]) -> bool:
    """Whether a skill that stays may show values of one of ``episodes``; which are whose nobody noted."""
    shown = any(parameter.get("examples") for parameter in skill["parameters"])
    return shown and any(name in episodes for name in skill["episodes"])


def _without_examples(data: dict[str, Any]) -> dict[str, Any]:
    bare = [{**parameter, "examples": []} for parameter in data["skill"]["parameters"]]
    return {**data, "skill": {**data["skill"], "parameters": bare}}


def _erase_rows(batch: Batch, key: bytes) -> None:
    for table, last in ((STEPS, WIDEST), (REWARDS, LONGEST)):
        for row, _ in list(batch.table(table).range((key, 0), (key, last), include_end=True)):
            batch.remove(table, row)


def _erase_answers(batch: Batch, episodes: Collection[str]) -> None:
    """Remembered answers hold the rewards' words."""
    for name, raw in list(batch.table(KEYS)):
        known = remembered(raw)
        if known.episode in episodes:
            batch.remove(KEYS, name)
            batch.remove(EXPIRY, (known.expires, name))


def _repoint(batch: Batch, gone: Collection[bytes]) -> None:
    """Let identities find the newest episode that is left."""
    pointers: set[tuple[str, bytes]] = set()
    for key in gone:
        known = state.load(batch, key)
        if known is None:
            continue
        batch.remove(EPISODES, key)
        for table, name in _pointers(known):
            batch.remove(table, name)
            pointers.add((table.name, name))
    for key, known in list(state.all_episodes(batch)) if pointers else ():
        for table, name in _pointers(known):
            if (table.name, name) in pointers:
                batch.put(table, name, key)


def _pointers(known: state.EpisodeState) -> tuple[tuple[Any, bytes], tuple[Any, bytes]]:
    return (IDENTITIES, state.identity_key(known)), (TASKS, state.task_key(known))


def forgotten_before(view: View) -> Targets:
    """All that was ever forgotten in this log."""
    found = Targets()
    for envelope, data in _journal(view):
        if envelope.type == "payloads.forgotten":
            for kind in Targets.__struct_fields__:
                getattr(found, kind).update(data.get(_FORGOTTEN[kind], ()))
    return found


_FORGOTTEN = {
    "episodes": "episode_ids",
    "skills": "skill_ids",
    "memories": "memory_ids",
    "exposures": "exposure_ids",
    "reflections": "reflection_ids",
}
