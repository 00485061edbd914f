"""Tracking steps: which episode, which number, told before or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from prowess.storage.errors import InvalidInput, StepConflict
from prowess.storage.events import EpisodeDescribed, EpisodeOpened, StepTracked
from prowess.storage.ids import id_bytes, id_text, new_id
from prowess.storage.log import state
from prowess.storage.log.batch import Batch
from prowess.storage.log.believed import touched_now
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.log.codec import encode_event, encode_step, hash_of, pack, same_step, sameness
from prowess.storage.log.command import Command
from prowess.storage.log.limits import MAX_NUMBER, MAX_STEPS, MAX_SUMMARY
from prowess.storage.log.state import EpisodeState
from prowess.storage.log.tables import EXTERNAL, IDENTITIES, STEPS, TASKS
from prowess.storage.models import NewStep, Origin, Tracked, Where, command_line, format_time, parse_time

__all__ = ["Prepared", "Track", "clean_where", "describe", "external_key", "prepare"]


class Prepared(NamedTuple):
    """A step with everything computed that needs no look into the log."""

    number: int | None
    same: bytes
    external: bytes | None
    value: bytes
    summary: StepTracked


class Placed(NamedTuple):
    """Where a step belongs; ``fresh`` if it is not stored yet."""

    episode: bytes | None
    number: int
    fresh: bool


def clean_where(where: Where, cleaner: Cleaner) -> Where:
    """``where`` as it is stored and looked up; InvalidInput without a task id."""
    if not where.task_id.strip():
        raise InvalidInput("task_id is empty", hint="send a name for the task; the same one for all of its steps")
    # A secret in a task's name is masked the same way each time, so the name still finds its episode.
    masked = {name: cleaner.given(getattr(where, name), name) for name in ("task_id", "project", "session", "agent")}
    return msgspec.structs.replace(where, **masked, task=cleaner.text(where.task, "task"))


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def prepare(step: NewStep, origin: Origin, arrival: str, cleaner: Cleaner, summarise: Callable[[str], str]) -> Prepared:
    """Check, clean and encode one step. InvalidInput names the field."""
    if not step.action.strip():
        raise InvalidInput("action is empty", hint="say in a few words what was done")
    if step.number is not None and not 1 <= step.number <= MAX_NUMBER:
        raise InvalidInput(f"step number {step.number} is out of range", hint="number steps from 1, or leave it out")
    clean = cleaner.struct(step, "step")
    at = _moment(clean.at) if clean.at else arrival
    same = sameness(clean)
    value = encode_step(clean, at, same)
    external = external_key(step, origin, cleaner)
    return Prepared(clean.number, same, external, value, _summary(clean, at, len(value), summarise))


def external_key(step: NewStep, origin: Origin, cleaner: Cleaner) -> bytes | None:
    """The identity of a step's tool call as a key; of the id as it was told: two that were masked alike are two."""
    told = cleaner.name(step.external_id, "external_id") if step.external_id else None
    return hash_of(origin.client, origin.session, told) if told else None


def _moment(text: str) -> str:
    try:
        return format_time(parse_time(text))
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"timestamp: {error}", hint="send ISO 8601 with a zone: 2026-01-31T12:00:00Z") from error


def _summary(step: NewStep, at: str, size: int, summarise: Callable[[str], str]) -> StepTracked:
    # Some tools tell what went wrong as any other result.
    error = step.error or (step.observation if step.outcome == "failure" else None)
    # No value of an argument is in a summary, and what is learned goes by the programs that were run.
    line = command_line(step.args) if step.tool else ""
    return StepTracked(
        episode_id="",
        number=0,
        at=at,
        action=(f"{step.tool}: {line}" if line else step.action)[:MAX_SUMMARY],
        numbered=step.number is not None,
        tool=step.tool[:MAX_SUMMARY] if step.tool else step.tool,
        arg_names=tuple(name[:MAX_SUMMARY] for name in step.args or ()),
        outcome=step.outcome,
        error=summarise(error)[:MAX_SUMMARY] if error else None,
        context=step.context[:MAX_SUMMARY] if step.context else None,
        duration_ms=step.duration_ms,
        external_id=step.external_id,
        size=size,
    )


def describe(batch: Batch, key: bytes, known: EpisodeState, task: str, origin: Origin) -> EpisodeState:
    """Record what the user asked, where that became known or changed."""
    if not task or task == known.task:
        return known
    batch.record(EpisodeDescribed(episode_id=id_text(key), task=task), origin)
    return msgspec.structs.replace(known, task=task)


class _Placing:
    """Decides for each step of a call, as if those before it were stored."""

    def __init__(self, batch: Batch, episode: bytes | None, high: int, task_id: str) -> None:
        self._batch = batch
        self._episode = episode
        self._high = high
        self._task_id = task_id
        self._taken: dict[int, bytes] = {}
        self._told: dict[bytes, int] = {}

    def place(self, step: Prepared) -> Placed:
        told = None if step.external is None else self._told_before(step.external)
        if told is not None:
            return told
        number = _next(self._high) if step.number is None else step.number
        if step.number is not None and self._same_stored(step, number):
            return Placed(self._episode, number, fresh=False)
        self._taken[number] = step.same
        self._high = max(self._high, number)
        if step.external is not None:
            self._told[step.external] = number
        return Placed(self._episode, number, fresh=True)

    def _told_before(self, external: bytes) -> Placed | None:
        if external in self._told:
            return Placed(self._episode, self._told[external], fresh=False)
        stored = self._batch.table(EXTERNAL).get(external)
        return None if stored is None else Placed(stored[:16], state.number_of(stored[16:]), fresh=False)

    def _same_stored(self, step: Prepared, number: int) -> bool:
        """Whether the step with this number is this one; StepConflict if it is another."""
        if number in self._taken:
            same = self._taken[number] == step.same
        else:
            raw = None if self._episode is None else self._batch.table(STEPS).get((self._episode, number))
            if raw is None:
                return False
            same = same_step(raw, step.same)
        if not same:
            raise StepConflict(
                f"step {number} of task {self._task_id[:100]!r} holds other content",
                hint="leave the number out to append, or use a number that is free",
            )
        return True


class Track(Command[Tracked]):
    """Store steps of one episode, opening it where there is none or the last attempt was closed.

    ``late`` steps belong to the last attempt, closed or not.
    """

    operation = "track"
    answer_type = Tracked

    def __init__(
        self, where: Where, steps: Sequence[Prepared], origin: Origin, key: str | None, *, late: bool = False
    ) -> None:
        if not 1 <= len(steps) <= MAX_STEPS:
            raise InvalidInput(f"{len(steps)} steps", hint=f"send between 1 and {MAX_STEPS:,} steps at once")
        # Not the session, which ``external`` has in it: who was killed before the answer came tries again in another.
        told = [(step.number, step.same, step.summary.external_id) for step in steps]
        super().__init__(key, (where.task_id, told))
        self._where = where
        self._steps = steps
        self._origin = origin
        self._late = late

    def apply(self, batch: Batch) -> Tracked:
        where = state.placed(batch, self._where)
        key = state.newest(batch, where)
        known = state.load(batch, key) if key is not None else None
        current = key if known is not None and (self._late or not known.closed) else None
        placing = _Placing(batch, current, known.high if known and current else 0, where.task_id)
        places = [placing.place(step) for step in self._steps]
        if not any(place.fresh for place in places):
            told = next(place.episode for place in places if place.episode is not None)
            return self._answer(batch, told, places, opened=False)
        if current is None or known is None:
            return self._store(batch, *self._open(batch, where, known), places, opened=True)
        described = describe(batch, current, known, where.task, self._origin)
        return self._store(batch, current, described, places, opened=False)

    def _store(self, batch: Batch, key: bytes, known: EpisodeState, places: list[Placed], *, opened: bool) -> Tracked:
        origin = msgspec.Raw(pack(self._origin))
        fresh = [(step, place.number) for step, place in zip(self._steps, places, strict=True) if place.fresh]
        episode_id = id_text(key)
        batch.put_many(STEPS, [((key, number), step.value) for step, number in fresh])
        told = [(step.external, number) for step, number in fresh if step.external is not None]
        batch.put_many(EXTERNAL, [(external, key + number.to_bytes(4, "big")) for external, number in told])
        summaries = [(step.summary, number) for step, number in fresh]
        batch.record_encoded([_event(summary, episode_id, number) for summary, number in summaries], origin)
        state.save(batch, key, _grown(known, fresh, touched_now(batch)))
        return self._answer(batch, key, places, opened=opened)

    def _open(self, batch: Batch, where: Where, before: EpisodeState | None) -> tuple[bytes, EpisodeState]:
        episode_id = new_id(batch.now_ms)
        key = id_bytes(episode_id)
        attempt = 1 if before is None else before.attempt + 1
        identity = {"project": where.project, "session": where.session, "task_id": where.task_id, "attempt": attempt}
        opened: dict[str, Any] = {**identity, "task": where.task}
        batch.record(EpisodeOpened(episode_id=episode_id, at=batch.at, agent=where.agent, **opened), self._origin)
        batch.put(IDENTITIES, state.identity_key(where), key)
        batch.put(TASKS, state.task_key(where), key)
        state.note_project(batch, where.project)
        return key, EpisodeState(**opened, opened=batch.now_ms)

    def _answer(self, batch: Batch, key: bytes, places: list[Placed], *, opened: bool) -> Tracked:
        return Tracked(
            seq=batch.head.seq,
            episode_id=id_text(key),
            numbers=tuple(place.number for place in places),
            duplicates=tuple(place.number for place in places if not place.fresh),
            opened=opened,
        )


def _next(high: int) -> int:
    if high >= MAX_NUMBER:
        raise InvalidInput("the episode has no free step number left", hint="close it with final and start another")
    return high + 1


def _event(summary: StepTracked, episode_id: str, number: int) -> tuple[str, int, msgspec.Raw]:
    return encode_event(msgspec.structs.replace(summary, episode_id=episode_id, number=number))


def _grown(known: EpisodeState, fresh: list[tuple[Prepared, int]], touched: int) -> EpisodeState:
    return msgspec.structs.replace(
        known,
        high=max([known.high, *(number for _, number in fresh)]),
        steps=known.steps + len(fresh),
        size=known.size + sum(len(step.value) for step, _ in fresh),
        touched=touched,
    )
