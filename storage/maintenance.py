"""Long work on the whole log: forgetting with its backups, retention, backups themselves."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from prowess.storage import backup as backups
from prowess.storage.engine import Engine, scrubbed
from prowess.storage.errors import StoreError
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.erasure import Scope, Targets
from prowess.storage.log.file import read_meta, write_meta
from prowess.storage.models import Forgot, Origin, Trimmed
from prowess.storage.retention import forget, trim

__all__ = ["drop_backup", "make_backup", "read_mark", "run_forget", "run_trim", "set_mark"]

# Rewriting after retention pays once this part of the file is free.
WASTE = 0.25


async def run_forget(engine: Engine, scope: Scope, reason: str, origin: Origin) -> Forgot:
    """Erase in the log, rewrite its file, then erase in each listed backup."""
    async with engine.care:
        targets: Targets = await engine.write(partial(_forget, engine, scope, reason, origin), alone=True)
        paths = await anyio.to_thread.run_sync(backups.listed_in, engine.file) if targets else ()
        with anyio.CancelScope(shield=True):
            missed = [path for path in paths if not await anyio.to_thread.run_sync(_erase_in, engine, path, targets)]
    damaged = await anyio.to_thread.run_sync(_set_aside, engine) if targets else ()
    return Forgot(
        seq=engine.head,
        episodes=len(targets.episodes),
        skills=len(targets.skills),
        memories=len(targets.memories),
        exposures=len(targets.exposures),
        reflections=len(targets.reflections),
        backups=len(paths) - len(missed),
        unreachable=(*missed, *damaged),
    )


def _forget(engine: Engine, scope: Scope, reason: str, origin: Origin) -> Targets:
    with engine.file.write() as transaction:
        batch = Batch(transaction, engine.clock())
        targets = forget(batch, scope, reason, origin)
        unfinished = read_meta(batch, "scrub")
    engine.refresh()
    if unfinished:
        engine.file.rewrite(scrubbed)
    return targets


def _erase_in(engine: Engine, path: str, targets: Targets) -> bool:
    try:
        backups.erase_in(Path(path), targets, engine.clock())
    except StoreError:
        return False
    return True


def _set_aside(engine: Engine) -> tuple[str, ...]:
    """Catalogs that were moved away because they could not be read: perhaps not ours, so a person must look."""
    path = engine.catalog.path
    return tuple(str(found) for found in sorted(path.parent.glob(f"{path.name}.damaged-*")))


async def run_trim(engine: Engine, older_than: datetime | None, max_bytes: int | None, origin: Origin) -> Trimmed:
    """Drop raw steps, and give their room back where that is worth it."""
    work = partial(_trim, engine, older_than, max_bytes, origin)
    async with engine.care:
        trimmed: Trimmed = await engine.write(work, alone=True)
    return trimmed


def _trim(engine: Engine, older_than: datetime | None, max_bytes: int | None, origin: Origin) -> Trimmed:
    with engine.file.write() as transaction:
        trimmed = trim(Batch(transaction, engine.clock()), older_than, max_bytes, origin)
    engine.refresh()
    if trimmed.bytes > WASTE * engine.file.path.stat().st_size:
        engine.file.rewrite(lambda view: None)
    return trimmed


async def make_backup(engine: Engine, target: Path) -> Path:
    """Copy the log, then put the copy on the list that forgetting goes through."""
    engine.check_open()
    async with engine.care:
        made = await anyio.to_thread.run_sync(backups.write, engine.file, target, engine.clock())
        await engine.write(partial(_list, engine, str(made)), alone=True)
    return made


def _list(engine: Engine, path: str) -> None:
    with engine.file.write() as transaction:
        view = View(transaction)
        write_meta(view, "backups", sorted({*backups.listed(view), path}))


async def drop_backup(engine: Engine, path: Path) -> None:
    """Delete a backup, and only then unlist it: forgetting would not reach one that is not listed."""
    engine.check_open()
    async with engine.care:
        await anyio.to_thread.run_sync(backups.delete, path)
        await engine.write(partial(_unlist, engine, str(path)), alone=True)


def _unlist(engine: Engine, path: str) -> None:
    with engine.file.write() as transaction:
        view = View(transaction)
        write_meta(view, "backups", sorted({*backups.listed(view)} - {path}))


def read_mark(engine: Engine, name: str) -> int:
    """The number kept under ``name``; 0 where there is none."""
    with engine.file.read() as transaction:
        return int(read_meta(View(transaction), f"mark:{name}") or 0)


def set_mark(engine: Engine, name: str, number: int) -> None:
    """Keep ``number`` in the log, so that it goes where the journal goes: into backups, and back with them."""
    with engine.file.write() as transaction:
        write_meta(View(transaction), f"mark:{name}", number)
