"""Events of other logs: taken in once, in any order, together with how far the remote was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from prowess.storage.errors import InvalidInput
from prowess.storage.events import ForeignReceived, Forgotten
from prowess.storage.ids import id_bytes
from prowess.storage.log import state
from prowess.storage.log.batch import Batch
from prowess.storage.log.believed import touched_now
from prowess.storage.log.codec import encode_event, pack
from prowess.storage.log.erasure import erase, named_in, resolve, without_examples
from prowess.storage.log.erasures import EXAMPLES, WHOLE, note
from prowess.storage.log.file import identity_of, read_meta, write_meta
from prowess.storage.log.forgotten import FOR_ITSELF, is_forgotten, remember_forgotten
from prowess.storage.log.state import EpisodeState
from prowess.storage.log.tables import FOREIGN, STEPS
from prowess.storage.log.targets import Scope, Targets
from prowess.storage.models import Origin, Receipt, parse_time
from prowess.storage.stamps import stamp

__all__ = ["REREAD", "WRITERS", "Foreign", "Position", "Receive", "Received"]


# How far one event may bring Lamport time forward: it counts events, and no machines have as many as that between them.
# Without a bound a single forged event could leave no time after it.
MAX_AHEAD = 2**40

# Set when every remote is to be read from its beginning, until somebody begins to: a position that is told between the
# two belongs to a reading that began before.
REREAD = "reread"

# Of each log the machine and the person that told its newest event here.
WRITERS = "writers"

_STRANGE = b"~"


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """An event as it comes from another log: checked, cleaned and in this program's version.

    ``raw`` is the step's value as the other log has it, ``person`` who wrote it and ``trusted`` whether that counts.
    """

    log: str
    epoch: int
    seq: int
    clock: int
    type: str
    version: int
    at: str
    origin: Origin
    data: dict[str, Any] | None
    raw: bytes | None = None
    person: str = ""
    trusted: bool = True


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """How far ``remote`` was read: the row at ``pos`` begins with the event ``first`` of an epoch of a log."""

    remote: str
    pos: int
    log: str = ""
    epoch: int = 0
    first: int = 0


class Received(Receipt, frozen=True, kw_only=True):
    """How many events were new; ``forgot`` says that something was erased on another machine's word."""

    stored: int
    forgot: bool = False


class Receive:
    """Journal those of ``events`` that are not here yet, and remember the position, all in one commit."""

    def __init__(self, events: Sequence[Foreign], position: Position | None) -> None:
        self._events = events
        self._position = position

    def apply(self, batch: Batch) -> Received:
        taking = _Taking(batch)
        for event in self._events:
            taking.take(event)
        forgot = taking.finish()
        if self._position is not None:
            batch.writes += 1
            write_meta(batch, "syncs", True)
            if not read_meta(batch, REREAD):
                write_meta(batch, f"pulled:{self._position.remote}", msgspec.to_builtins(self._position))
        return Received(seq=batch.head.seq, stored=taking.count, forgot=forgot)


# Decisions about skills and what they rest on, patterns, and what everyone remembers.
_FOR_THE_TRUSTED = frozenset(
    {
        *("skill.status_set", "skill.trial_ended", "skill.pinned", "skill.used", "exposure.made"),
        *("memory.deleted", "patterns.reflected", "controller.adopted"),
    }
)


_OTHER_NAMES = ("skill_ids", "memory_ids", "exposure_ids", "reflection_ids")


def _stamp(event: Foreign) -> str:
    return stamp(event.clock, event.log, event.epoch, event.seq)


class _Taking:
    """One commit's work: what comes later sees what came before."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._own = identity_of(batch)
        self._head = batch.head.seq
        self._offset = int(read_meta(batch, "offset") or 0)
        self._held: dict[str, int] = dict(read_meta(batch, "held") or {})
        self._writers: dict[str, tuple[str, str]] = dict(read_meta(batch, WRITERS) or {})
        self._events: list[tuple[str, int, msgspec.Raw]] = []
        self._doomed: dict[str, tuple[Targets, Targets]] = {}
        """By stamp what is forgotten, and the memories among it that are so for themselves."""
        self._scope = Scope()
        self.count = 0

    def take(self, event: Foreign) -> None:
        if self._own.has(event.log, event.epoch, event.seq, self._head) or self._is_to_come(event):
            return
        key = pack((event.log, event.epoch, event.seq))
        if self._is_here(key, trusted=event.trusted) or self._is_too_late(event):
            return
        self._batch.put(FOREIGN, key, b"" if event.trusted else _STRANGE)
        self.count += 1
        seq = self._head + self.count
        here = max(seq + self._offset, event.clock)
        self._offset = here - seq
        data = self._unless_forgotten(event)
        if data is not None:
            self._note(event, data)
        self._events.append(encode_event(_received(event, here, data)))
        name = f"{event.log}:{event.epoch}"
        self._held[name] = max(self._held.get(name, 0), event.seq)
        self._writers[event.log] = event.origin.machine[:64], event.person

    def _is_here(self, key: bytes, *, trusted: bool) -> bool:
        """Whether that event has arrived; what came from a stranger is taken in again once they are trusted."""
        known = self._batch.table(FOREIGN).get(key)
        return known is not None and not (trusted and bytes(known) == _STRANGE)

    def _is_too_late(self, event: Foreign) -> bool:
        """Whether it would leave no time after it: then it is a stranger's, who must not keep others' news away."""
        if event.clock <= self._head + self.count + 1 + self._offset + MAX_AHEAD:
            return False
        if event.trusted:
            raise InvalidInput(
                f"event {event.seq} of the log {event.log} is told to come after more events than can be",
                hint="see who wrote it; nothing of what came with it was taken in",
            )
        return True

    def _is_to_come(self, event: Foreign) -> bool:
        """Whether this log itself will have that event: what bears its name before that is forged."""
        return event.log == self._own.log and event.epoch == self._own.epochs[-1][0]

    def _unless_forgotten(self, event: Foreign) -> dict[str, Any] | None:
        """The payload, without what this log was told to forget."""
        if event.data is None:
            return None
        identity = (event.log, event.epoch, event.seq)
        if self._is_forgotten(event, event.data):
            note(self._batch, identity, WHOLE)  # it came from the remote, so it is there
            return None
        data = event.data if event.trusted else self._distrusted(event, event.data)
        if data is not None and event.type == "skill.saved":
            sources = data["skill"]["episodes"]
            gone = any(is_forgotten(self._batch, "episodes", name, _stamp(event)) for name in sources)
            if gone:
                note(self._batch, identity, EXAMPLES)
                return without_examples(data)
        return data

    def _is_forgotten(self, event: Foreign, data: dict[str, Any]) -> bool:
        """Whether what it is about, or was drawn from, was. A stranger finds no memory anew."""
        named = named_in(event.type, data)
        if event.type.startswith("memory."):
            named.append((FOR_ITSELF, named[0][1]))
        at = _stamp(event) if event.trusted or not event.type.startswith("memory.") else ""
        return any(is_forgotten(self._batch, kind, name, at) for kind, name in named)

    def _distrusted(self, event: Foreign, data: dict[str, Any]) -> dict[str, Any] | None:
        """What a stranger may say: how their own work went, drafts of skills, and that their episodes are forgotten."""
        about = _episode_in(event.type, data)
        if about and _log_of(self._batch, about) not in _speakers(event):
            return None
        if event.type == "skill.saved":
            return {**data, "skill": {**data["skill"], "status": "draft", "trust": "untrusted", "pinned": False}}
        if event.type == "memory.saved":
            return {**data, "memory": {**data["memory"], "trust": "untrusted"}}
        if event.type == "payloads.forgotten":
            own = [name for name in data["episode_ids"] if _log_of(self._batch, name) == event.log]
            return {**data, **dict.fromkeys(_OTHER_NAMES, ()), "episode_ids": own}
        return None if event.type in _FOR_THE_TRUSTED else data

    def _note(self, event: Foreign, data: dict[str, Any]) -> None:
        if event.type == "episode.opened":
            self._open(event, data)
        elif event.type == "step.tracked" and event.raw is not None:
            self._keep(data["episode_id"], data["number"], event.raw)
        elif event.type == "payloads.forgotten":
            self._forget(event, msgspec.convert(data, Forgotten))

    def _open(self, event: Foreign, data: dict[str, Any]) -> None:
        key = id_bytes(data["episode_id"])
        if state.load(self._batch, key) is not None:
            return
        names = {name: data[name] for name in ("project", "session", "task_id", "attempt", "task")}
        opened = max(0, int(parse_time(data["at"]).timestamp() * 1000))
        state.save(self._batch, key, EpisodeState(**names, opened=opened, log=event.log))

    def _keep(self, episode_id: str, number: int, raw: bytes) -> None:
        key = id_bytes(episode_id)
        known = state.load(self._batch, key)
        if known is None or not known.log or self._batch.table(STEPS).get((key, number)) is not None:
            return
        self._batch.put(STEPS, (key, number), raw)
        grown = {"high": max(known.high, number), "steps": known.steps + 1, "size": known.size + len(raw)}
        state.save(self._batch, key, msgspec.structs.replace(known, **grown, touched=touched_now(self._batch)))

    def _forget(self, event: Foreign, told: Forgotten) -> None:
        if not Targets.of(told):
            return
        at = _stamp(event)
        remember_forgotten(self._batch, told, at, actor=event.origin.actor)
        self._scope = Scope(
            episode_ids=(*self._scope.episode_ids, *told.episode_ids),
            skill_ids=(*self._scope.skill_ids, *told.skill_ids),
            memory_ids=(*self._scope.memory_ids, *told.memory_ids),
        )
        alone = Targets(memories=set(told.alone(event.origin.actor)))
        self._doomed[at] = Targets.of(told).without(alone), alone

    def finish(self) -> bool:
        """Write the journal; whether something was erased."""
        if not self.count:
            return False
        me = msgspec.Raw(pack(Origin(actor="machine")))
        self._batch.record_encoded(self._events, me)
        write_meta(self._batch, "offset", self._offset)
        write_meta(self._batch, "held", self._held)
        write_meta(self._batch, WRITERS, self._writers)
        if not self._doomed:
            return False
        self._erase()
        return True

    def _erase(self) -> None:
        named, after_all = Targets(), set[str]()
        found = resolve(self._batch, self._scope)
        for at, (targets, alone) in self._doomed.items():
            named.add(targets)
            named.add(alone)
            after_all |= erase(self._batch, targets, until=at, gone=self._scope.episode_ids)
            if alone:
                erase(self._batch, alone)
        # What only this machine knew to go with it: its own reflections that quote an episode, for one.
        own = found.without(named)
        own.memories.update(after_all)
        if own:
            told = own.forgotten(self._batch.at, "what it was drawn from was forgotten")
            self._batch.record(told, Origin(actor="machine"))
            remember_forgotten(self._batch, told)
            erase(self._batch, own)
        write_meta(self._batch, "scrub", True)


def _episode_in(name: str, data: dict[str, Any]) -> str:
    """The episode that an event tells something of, "" for none."""
    if name.startswith("episode.") or name == "step.tracked":
        return str(data["episode_id"])
    return str(data["reward"]["episode_id"]) if name == "reward.scored" else ""


def _speakers(event: Foreign) -> tuple[str | None, ...]:
    """Whose episodes a stranger's event may be about: their own ones, which they opened before or open now."""
    return (event.log, None) if event.type == "episode.opened" else (event.log,)


def _log_of(batch: Batch, episode_id: str) -> str | None:
    """The log of an episode, "" for this one; None where it is not known."""
    try:
        known = state.load(batch, id_bytes(episode_id))
    except ValueError:
        return None
    return known.log if known is not None else None


def _received(event: Foreign, here: int, data: dict[str, Any] | None) -> ForeignReceived:
    kept = {name: getattr(event, name) for name in event.__struct_fields__ if name not in ("raw", "data")}
    return ForeignReceived(**kept, here=here, data=data)
