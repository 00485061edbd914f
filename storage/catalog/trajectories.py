"""All episodes with their steps, for a process that learns from them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prowess.storage.catalog import queries as sql
from prowess.storage.catalog import rows
from prowess.storage.catalog.adapter import Backend, Connection
from prowess.storage.catalog.reads import conditions
from prowess.storage.models import Step, Trajectory, ordered

__all__ = ["read_trajectories"]


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
        with _without_collection(), db.snapshot():
            where, params = conditions(
                project=("project = ?", project), since=("opened_at >= ?", since), task_id=("task_id = ?", task_id)
            )
            found = db.execute(f"{sql.EPISODE}{where} ORDER BY opened_at, id", params)
            picked = f" WHERE episode_id IN (SELECT id FROM episodes{where})" if where else ""  # noqa: S608
            steps = _grouped(db, f"{sql.STEP}{picked} ORDER BY episode_id, number", params)
            return [Trajectory(episode=rows.episode(row), steps=ordered(steps.get(row[0], []))) for row in found]
    finally:
        db.close()


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
