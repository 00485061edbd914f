"""Erasing on a person's word: what belongs to it, and taking its payload out of every table.

Erased events keep number, type, time, origin and digest, so the journal's chain still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, ClassVar, NamedTuple

from prowess.storage.events import FOREIGN_TYPE, Envelope
from prowess.storage.ids import id_bytes, id_text
from prowess.storage.log import state
from prowess.storage.log.batch import Batch, View, remembered
from prowess.storage.log.codec import decode_envelope, edit_envelope, erase_envelope
from prowess.storage.log.erasures import EXAMPLES, WHOLE, note
from prowess.storage.log.file import identity_of, read_meta
from prowess.storage.log.questions import Questions
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
from prowess.storage.log.targets import Scope, Targets
from prowess.storage.models import Origin
from prowess.storage.stamps import stamp

__all__ = [
    "ANEW",
    "WIDEST",
    "Entry",
    "entries",
    "erase",
    "named_in",
    "resolve",
    "subject_of",
    "without_examples",
]

# What may be found anew after it was forgotten, as fields of Targets; of all else there is one only.
ANEW = ("skills", "memories")
WIDEST = 2**32 - 1
LONGEST = 2**64 - 1


class Entry(NamedTuple):
    """An event that still has a payload, taken out of what it was received in.

    ``identity`` is its log, epoch and number; ``clock`` its Lamport time.
    """

    envelope: Envelope
    type: str
    data: dict[str, Any]
    identity: tuple[str, int, int]
    clock: int

    @property
    def stamp(self) -> str:
        return stamp(self.clock, *self.identity)

    @property
    def actor(self) -> str:
        """Who decided it."""
        if self.envelope.type != FOREIGN_TYPE:
            return self.envelope.origin.actor
        return str((self.envelope.data or {})["origin"].get("actor", Origin().actor))

    @property
    def is_strange(self) -> bool:
        """Whether somebody told it who is not trusted here."""
        return self.envelope.type == FOREIGN_TYPE and not (self.envelope.data or {}).get("trusted", True)

    def blank(self) -> bytes:
        """Its journal value without the payload."""
        return self._edited(None) if self.envelope.type == FOREIGN_TYPE else erase_envelope(self.envelope)

    def changed(self, data: dict[str, Any]) -> bytes:
        """Its journal value with another payload."""
        return self._edited(data) if self.envelope.type == FOREIGN_TYPE else edit_envelope(self.envelope, data)

    def _edited(self, data: dict[str, Any] | None) -> bytes:
        return edit_envelope(self.envelope, {**(self.envelope.data or {}), "data": data})


def entries(view: View) -> Iterator[Entry]:
    """The events that still have a payload, in the order of the journal."""
    own, offset = identity_of(view), 0
    for seq, raw in view.table(JOURNAL):
        envelope = decode_envelope(seq, raw)
        told = envelope.data
        if told is not None and envelope.type == FOREIGN_TYPE:
            offset = told["here"] - seq
            if told["data"] is not None:
                where = (told["log"], told["epoch"], told["seq"])
                yield Entry(envelope, told["type"], told["data"], where, told["clock"])
        elif told is not None:
            yield Entry(envelope, envelope.type, told, (own.log, own.epoch_of(seq), seq), seq + offset)


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
        self._questions: list[dict[str, Any]] = []
        self._gone_before: set[str] = set()

    def run(self) -> Targets:
        for entry in entries(self._view):
            look = self._LOOKS.get(entry.type)
            if look is not None:
                look(self, entry.data)
        self.found.skills.update(name for name, skill in self._skills.items() if self._skill_goes(name, skill))
        self.found.memories.update(self._memories.intersection(self._scope.memory_ids))
        if self._questions and self.found.episodes:
            whose = Questions(self._view)
            gone = {each["id"] for each in self._questions if whose.episode_of(each) in self.found.episodes}
            self.found.exposures.update(gone)
        return self.found

    @property
    def skills(self) -> set[str]:
        """The skills that there are."""
        return set(self._skills)

    def _skill(self, data: dict[str, Any]) -> None:
        self._skills[data["skill"]["id"]] = data["skill"]

    def _skill_goes(self, name: str, skill: dict[str, Any]) -> bool:
        if name in self._scope.skill_ids or self._scope.whole_project(skill["project"]):
            return True
        sources = skill["episodes"]
        orphaned = bool(self.found.episodes.intersection(sources)) and all(self._gone(source) for source in sources)
        return orphaned and skill["author"] == "machine"

    def _gone(self, episode_id: str) -> bool:
        """Whether it is forgotten; one that is not known here may be another machine's, which keeps it to itself."""
        return episode_id in self.found.episodes or episode_id in self._gone_before

    def _forgotten(self, data: dict[str, Any]) -> None:
        self._gone_before.update(data["episode_ids"])

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
        elif exposure["episode_id"] is None:
            self._questions.append(exposure)

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
        "payloads.forgotten": _forgotten,
    }


def resolve(view: View, scope: Scope, elsewhere: Targets | None = None) -> Targets:
    """Everything that goes with ``scope``, and what does so in backups (``elsewhere``).

    With an episode go its memories and exposures, the patterns that quote it, and each machine-made skill drawn from
    nothing that is left. ``project`` alone names its skills as well; ``before`` and ``task_id`` never name skills.
    """
    search = _Search(view, scope)
    found = search.run()
    if elsewhere:
        # A skill that was drawn from more episodes since a backup was made goes by what it is drawn from now.
        found.add(elsewhere.without(Targets(skills=search.skills)))
    return found


def subject_of(name: str, data: dict[str, Any]) -> tuple[str, str]:
    """Which field of Targets, and which id in it, decides over the event of type ``name``."""
    family = name.partition(".")[0]
    if family in ("episode", "step"):
        return "episodes", data["episode_id"]
    if family == "reward":
        return "episodes", data["reward"]["episode_id"]
    if family == "skill":
        return "skills", _skill_of(name, data)
    if family == "memory":
        return "memories", data["memory"]["id"] if "memory" in data else data["memory_id"]
    if family == "exposure":
        return "exposures", data["exposure"]["id"]
    return "reflections", data.get("reflection_id", "")


def _skill_of(name: str, data: dict[str, Any]) -> str:
    """The skill that an event of type ``name`` is about."""
    if name == "skill.saved":
        return str(data["skill"]["id"])
    return str(data["use"]["skill_id"] if name == "skill.used" else data["skill_id"])


def named_in(name: str, data: dict[str, Any]) -> list[tuple[str, str]]:
    """What an event of type ``name`` goes with, as (field of Targets, id)."""
    named = [subject_of(name, data)]
    if drawn_from := _drawn_from(name, data):
        named.append(("episodes", drawn_from))
    return named


def _drawn_from(name: str, data: dict[str, Any]) -> str | None:
    """The episode that a memory or a question belongs to."""
    part = name.partition(".")[0]
    return data.get(part, {}).get("episode_id") if part in ("memory", "exposure") else None


def erase(
    batch: Batch,
    targets: Targets,
    *,
    until: str | None = None,
    kept: Collection[tuple[str, int, int]] = (),
    gone: Collection[str] = (),
) -> set[str]:
    """Take the payload of ``targets`` out of the journal and everything about the episodes out of the tables.

    Of skills and memories what came after the stamp ``until`` stays, and the events ``kept``: they were found anew. A
    stranger's memory goes all the same, and one that somebody drew from the episodes, or from those that are ``gone``
    with others, without knowing that they are forgotten. The ids of the latter, of which nothing else may stay either.
    """
    anew = _erase_events(batch, targets, until, kept, targets.episodes.union(gone))
    keys = {id_bytes(name) for name in targets.episodes}
    for key in keys:
        _erase_rows(batch, key)
    _erase_answers(batch, targets.episodes)
    _repoint(batch, keys)
    return anew


def _erase_events(
    batch: Batch,
    targets: Targets,
    until: str | None,
    kept: Collection[tuple[str, int, int]],
    episodes: Collection[str],
) -> set[str]:
    changes: list[tuple[Entry, bytes, bytes]] = []
    after_all: set[str] = set()
    for entry in entries(batch):
        kind, name = subject_of(entry.type, entry.data)
        if name in getattr(targets, kind):
            anew = kind in ANEW and (entry.identity in kept or (until is not None and entry.stamp > until))
            if anew and _drawn_from(entry.type, entry.data) in episodes:
                after_all.add(name)
            elif anew and not (kind == "memories" and entry.is_strange):
                continue
            changes.append((entry, entry.blank(), WHOLE))
        elif entry.type == "skill.saved" and _has_examples_of(entry.data["skill"], targets.episodes):
            changes.append((entry, entry.changed(without_examples(entry.data)), EXAMPLES))
    shared = bool(read_meta(batch, "syncs"))
    for entry, value, part in changes:
        batch.put(JOURNAL, entry.envelope.seq, value)
        if shared:
            note(batch, entry.identity, part)
    return after_all


def _has_examples_of(skill: dict[str, Any], episodes: Collection[str]) -> bool:
    """Whether a skill that stays may show values of one of ``episodes``; which are whose nobody noted."""
    shown = any(parameter.get("examples") for parameter in skill["parameters"])
    return shown and any(name in episodes for name in skill["episodes"])


def without_examples(data: dict[str, Any]) -> dict[str, Any]:
    """A saved skill without the values that it was seen with."""
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
        if known.log:  # nothing points to an episode of another log
            continue
        for table, name in _pointers(known):
            batch.remove(table, name)
            pointers.add((table.name, name))
    if not pointers:
        return
    newest: dict[tuple[str, bytes], state.EpisodeState] = {}
    left = [(key, known) for key, known in state.all_episodes(batch) if not known.log]
    state.keep_projects(batch, {known.project for _, known in left})
    for key, known in left:
        for table, name in _pointers(known):
            pointer = table.name, name
            if pointer in pointers and not _came_before(known, newest.get(pointer)):
                newest[pointer] = known
                batch.put(table, name, key)


def _came_before(one: state.EpisodeState, other: state.EpisodeState | None) -> bool:
    """Whether ``one`` is an earlier attempt, though it may say that it was opened later: clocks are set back."""
    return other is not None and one.session == other.session and one.attempt < other.attempt


def _pointers(known: state.EpisodeState) -> tuple[tuple[Any, bytes], tuple[Any, bytes]]:
    return (IDENTITIES, state.identity_key(known)), (TASKS, state.task_key(known))
