"""All episodes with their steps, for a process that learns from them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from prowess.storage.catalog import queries as sql
from prowess.storage.catalog import rows
from prowess.storage.catalog.adapter import Backend, Connection, Row
from prowess.storage.catalog.reads import conditions
from prowess.storage.models import Step, Trajectory, ordered

__all__ = ["Changes", "Position", "read_changes", "read_trajectories"]

TRUSTED = ("strange = ?", 0)  # from what strangers share nothing is learned
BATCH = 2_000  # episodes read at once: of any number only so many are in memory


class Position(msgspec.Struct, frozen=True):
    """How far something has read a catalog: everything up to ``seq`` of the journal of this log and epoch."""

    log_id: str
    epoch: int
    seq: int


class Changes(msgspec.Struct, frozen=True):
    """What became of a catalog's episodes since a position.

    ``whole`` says that nothing before counts any more: then ``batches`` has all episodes, else those that are new or
    changed, with all of their steps. ``gone`` are ids of episodes that are not there now, and may never have been;
    ``strange`` are those among the new or changed of which nothing is learned, and which no batch has. ``episodes``
    counts those of now with all strange ones; None where nothing changed. ``position`` is where to go on from.
    """

    whole: bool
    batches: Iterator[list[Trajectory]]
    gone: tuple[str, ...]
    strange: tuple[str, ...]
    episodes: int | None
    position: Position


def read_trajectories(
    path: Path,
    *,
    project: str | None = None,
    since: str | None = None,
    task_id: str | None = None,
    backend: Backend = "auto",
) -> list[Trajectory]:
    """Episodes in the order in which they were opened, each with its steps in the order in which they happened.

    Opens the catalog at ``path`` for reading by itself, so another process may call it while the store is in use. Steps
    are summaries: ``args`` has names without values, ``error`` is a template, there is no observation.
    """
    db = Connection(path, backend=backend, read_only=True)
    try:
        with db.snapshot():
            where, params = conditions(
                project=("project = ?", project),
                since=("opened_at >= ?", since),
                task_id=("task_id = ?", task_id),
                strange=TRUSTED,
            )
            return _trajectories(db, where, params)
    finally:
        db.close()


@contextmanager
def read_changes(
    path: Path, *, project: str | None = None, since: Position | None = None, backend: Backend = "auto"
) -> Iterator[Changes]:
    """What changed in the catalog at ``path`` after ``since`` (None: everything), as ``read_trajectories`` reads it.

    The batches come in no particular order and are all of one moment; they end with the context.
    """
    db = Connection(path, backend=backend, read_only=True)
    try:
        with db.snapshot():
            position = _position(db)
            whole = since is None or not _follows(position, since)
            seq = 0 if since is None or whole else since.seq
            gone = () if whole else _gone(db, project, seq)
            if whole or gone or _changed(db, seq):
                batches, strange = _batches(db, project, seq), _strange(db, project, seq)
                yield Changes(whole, batches, gone, strange, _count(db, project), position)
            else:
                yield Changes(whole, iter(()), (), (), None, position)
    finally:
        db.close()


def _position(db: Connection) -> Position:
    found = db.execute(sql.CURSOR)
    return Position(*found[0][:3]) if found else Position("", 0, 0)


def _follows(now: Position, before: Position) -> bool:
    return (now.log_id, now.epoch) == (before.log_id, before.epoch) and now.seq >= before.seq


def _gone(db: Connection, project: str | None, seq: int) -> tuple[str, ...]:
    """Forgotten episodes, and changed ones that belong to another project."""
    buried = db.execute("SELECT id FROM tombstones WHERE kind = 'episode' AND updated_seq > ?", (seq,))
    where, params = conditions(project=("project <> ?", project), seq=("updated_seq > ?", seq))
    moved = [] if project is None else db.execute(f"SELECT id FROM episodes{where}", params)  # noqa: S608
    return tuple(key for (key,) in (*buried, *moved))


def _changed(db: Connection, seq: int) -> bool:
    return bool(db.execute("SELECT 1 FROM episodes WHERE updated_seq > ? LIMIT 1", [seq]))


def _strange(db: Connection, project: str | None, seq: int) -> tuple[str, ...]:
    where, params = conditions(
        project=("+project = ?", project), seq=("updated_seq > ?", seq or None), strange=("strange <> ?", 0)
    )
    return tuple(key for (key,) in db.execute(f"SELECT id FROM episodes{where}", params))  # noqa: S608


def _count(db: Connection, project: str | None) -> int:
    mine, params = conditions(project=("project = ?", project))  # and nothing else: an index has that
    [[count]] = db.execute(f"SELECT count(*) FROM episodes{mine}", params)  # noqa: S608
    return int(count)


def _batches(db: Connection, project: str | None, seq: int) -> Iterator[list[Trajectory]]:
    # "+" bars an index: what changed is a small part of its project, and everything is read by number.
    num = "+num" if seq else "num"
    mine, params = conditions(project=("+project = ?", project), seq=("updated_seq > ?", seq or None), strange=TRUSTED)
    after, more = 0, True
    while more:
        nums = db.execute(
            f"SELECT num FROM episodes{mine} AND {num} > ? ORDER BY {num} LIMIT ?",  # noqa: S608
            [*params, after, BATCH],
        )
        if not nums:
            return
        first, after, more = nums[0][0], nums[-1][0], len(nums) == BATCH
        yield _trajectories(db, f"{mine} AND {num} BETWEEN ? AND ?", [*params, first, after])


def _trajectories(db: Connection, where: str, params: list[object]) -> list[Trajectory]:
    with _without_collection():
        found = db.execute(f"{sql.EPISODE}{where} ORDER BY opened_at, id", params)
        picked = f" WHERE episode_id IN (SELECT id FROM episodes{where})" if where else ""  # noqa: S608
        steps = _grouped(db, f"{sql.STEP}{picked} ORDER BY episode_id, number", params)
        return [_outline(row, steps.get(row[0], [])) for row in found]


def _outline(row: Row, steps: list[Step]) -> Trajectory:
    return Trajectory(episode=rows.episode(row), steps=ordered(steps), whole=False)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would walk over all earlier steps again and again: half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _grouped(db: Connection, query: str, params: list[object]) -> dict[str, list[Step]]:
    groups: dict[str, list[Step]] = {}
    for row in db.execute(query, params):
        groups.setdefault(row[0], []).append(rows.step(row))
    return groups
