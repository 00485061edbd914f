"""What the writer knows of episodes: enough to number steps and to find the attempt that is meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from typing import Any

import msgspec

from prowess.storage.errors import StoreDamaged, UnknownEpisode
from prowess.storage.log.codec import hash_of
from prowess.storage.log.file import read_meta, write_meta
from prowess.storage.log.tables import EPISODES, IDENTITIES, TASKS
from prowess.storage.models import Where, format_time

__all__ = [
    "EpisodeState",
    "all_episodes",
    "find",
    "identity_key",
    "keep_projects",
    "load",
    "meant",
    "newest",
    "note_project",
    "number_of",
    "opened_at",
    "placed",
    "projects",
    "save",
    "task_key",
    "unknown",
]

# Recent episodes whose task ids are offered when a task is not found.
NEAR = 500
_PROJECTS = "projects"

_encoder = msgspec.msgpack.Encoder()


class EpisodeState(msgspec.Struct, frozen=True, kw_only=True):
    """``high`` is the highest step number, ``size`` the bytes of its raw steps, ``touched`` Unix milliseconds.

    ``log`` is the log that the episode came from, "" for this one; such an episode is never written to.
    """

    project: str
    session: str
    task_id: str
    attempt: int
    opened: int
    task: str = ""
    closed: bool = False
    high: int = 0
    steps: int = 0
    size: int = 0
    touched: int = 0
    log: str = ""


_decoder = msgspec.msgpack.Decoder(EpisodeState)


def identity_key(where: Where | EpisodeState) -> bytes:
    return hash_of(where.project, where.session, where.task_id)


def task_key(where: Where | EpisodeState) -> bytes:
    return hash_of(where.project, where.task_id)


def number_of(raw: bytes) -> int:
    """A step number as the external table has it."""
    return int.from_bytes(raw, "big")


def opened_at(known: EpisodeState) -> str:
    return format_time(datetime.fromtimestamp(known.opened / 1000, UTC))


def load(view: Any, key: bytes) -> EpisodeState | None:
    raw = view.table(EPISODES).get(key)
    return None if raw is None else _decoded(raw)


def _decoded(raw: bytes) -> EpisodeState:
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        raise StoreDamaged(f"an episode of the log cannot be read: {error}", hint="restore a backup") from error


def save(batch: Any, key: bytes, state: EpisodeState) -> None:
    batch.put(EPISODES, key, _encoder.encode(state))


def all_episodes(view: Any) -> Iterator[tuple[bytes, EpisodeState]]:
    """Every episode, in the order in which they were opened."""
    for key, raw in view.table(EPISODES).range(None, None):
        yield key, _decoded(raw)


def newest(view: Any, where: Where) -> bytes | None:
    """The newest attempt of exactly this project, session and task."""
    found: bytes | None = view.table(IDENTITIES).get(identity_key(where))
    return found


def find(view: Any, where: Where) -> bytes | None:
    """The newest attempt of this session, else the newest of any session."""
    found: bytes | None = newest(view, where) or view.table(TASKS).get(task_key(where))
    return found


def placed(batch: Any, where: Where) -> Where:
    """``where``; an assumed project gives way to that in which the session tracks the task already."""
    if not where.assumed or not where.session or newest(batch, where) is not None:
        return where
    elsewhere = (msgspec.structs.replace(where, project=project) for project in projects(batch))
    found = [(key, each) for each in elsewhere if (key := newest(batch, each)) is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else where


def meant(batch: Any, where: Where) -> tuple[bytes, EpisodeState]:
    """The episode that ``where`` means, or UnknownEpisode with task ids like it.

    Where a project was assumed that does not have the task, it is the only one that has.
    """
    where = placed(batch, where)
    key = find(batch, where)
    if key is None and where.assumed:
        where = _only_one(batch, where)
        key = find(batch, where)
    state = None if key is None else load(batch, key)
    if key is None or state is None:
        raise unknown(where, {state.task_id for state in _recent(batch) if state.project == where.project})
    return key, state


def _only_one(batch: Any, where: Where) -> Where:
    """``where`` in the one project that has the task. Raises UnknownEpisode that names them where several have."""
    elsewhere = (msgspec.structs.replace(where, project=project) for project in projects(batch))
    found = [each.project for each in elsewhere if batch.table(TASKS).get(task_key(each)) is not None]
    if len(found) > 1:
        named = ", ".join(repr(project) for project in found)
        raise UnknownEpisode(
            f"task {where.task_id[:100]!r} is in several projects", hint=f"send project as well, one of {named}"
        )
    return msgspec.structs.replace(where, project=found[0]) if found else where


def projects(batch: Any) -> list[str]:
    """Those in which anything was recorded here, in order. Kept, since episodes may be many, and most of others."""
    known: list[str] | None = read_meta(batch, _PROJECTS)
    return keep_projects(batch, _of_episodes(batch)) if known is None else known


def note_project(batch: Any, project: str) -> None:
    """An episode was opened in it."""
    known = projects(batch)
    if project not in known:
        keep_projects(batch, {*known, project})


def keep_projects(batch: Any, found: Collection[str]) -> list[str]:
    """These are all of them."""
    batch.writes += 1
    write_meta(batch, _PROJECTS, sorted(found))
    return sorted(found)


def _of_episodes(batch: Any) -> set[str]:
    rows = batch.table(EPISODES).range(None, None)
    return {known.project for known in _readable(rows) if not known.log}


def _recent(view: Any) -> Iterator[EpisodeState]:
    """The newest first."""
    return _readable(islice(view.table(EPISODES).range(None, None, reverse=True), NEAR))


def _readable(rows: Iterable[tuple[Any, bytes]]) -> Iterator[EpisodeState]:
    """None that is damaged: what is looked for may be another one."""
    for _, raw in rows:
        with suppress(StoreDamaged):
            yield _decoded(raw)


def unknown(where: Where, known: set[str]) -> UnknownEpisode:
    near = get_close_matches(where.task_id[:100], sorted(known), n=3, cutoff=0.5) or sorted(known)[-3:]
    place = f" in project {where.project!r}" if where.project else ""
    # Written as it is where it can be copied; what would break the line is another agent's words, and shown as such.
    named = ", ".join(name if name.isprintable() else repr(name) for name in near)
    more = ", …" if len(known) > len(near) else ""
    hint = f"known task ids: {named}{more}" if near else "track a step of this task first"
    return UnknownEpisode(f"no episode has task_id {where.task_id[:100]!r}{place}", hint=hint)
