"""Long work on the whole log: forgetting with its backups, retention, backups themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread

from prowess.storage import backup as backups
from prowess.storage import beside
from prowess.storage.engine import Engine, scrubbed
from prowess.storage.errors import StoreError
from prowess.storage.events import ControllerAdopted
from prowess.storage.log.batch import Batch, View
from prowess.storage.log.codec import GENESIS, Head
from prowess.storage.log.erasure import resolve
from prowess.storage.log.file import read_meta, read_only, write_meta
from prowess.storage.log.forgotten import Past, forgotten_before
from prowess.storage.log.marks import mark_of, put_mark
from prowess.storage.log.reading import read_journal
from prowess.storage.log.tables import SCHEMA
from prowess.storage.log.targets import Scope, Targets
from prowess.storage.manifest import LOG_NAME
from prowess.storage.models import Forgot, Origin, Trimmed
from prowess.storage.owed import owed_in, settle
from prowess.storage.retention import forget, trim
from prowess.storage.upcast import decode_event, unwrapped

__all__ = ["drop_backup", "make_backup", "reach_backups", "read_mark", "run_forget", "run_trim", "set_mark"]

# Events read in one go.
TOGETHER = 500
ADOPTED = "controller.adopted"
# Rewriting after retention pays once this part of the file is free.
WASTE = 0.25
# In the log: that it is to be rewritten for that.
LOOSE = "loose"


async def run_forget(engine: Engine, scope: Scope, reason: str, origin: Origin) -> Forgot:
    """Erase in the log, rewrite its file, then erase in each listed backup.

    There goes all that was ever forgotten: a backup may have been away, or the program killed, the time before. What
    fits in a backup alone, such as a log that was replaced, is forgotten as well.
    """
    async with engine.care:
        listed = await anyio.to_thread.run_sync(backups.listed_in, engine.file)
        elsewhere, away = await anyio.to_thread.run_sync(_fitting, listed, scope)
        work = partial(_forget, engine, scope, reason, origin, elsewhere)
        targets, past = await engine.write(work, alone=True)
        paths = listed if past.targets else away
        with anyio.CancelScope(shield=True):
            missed = [path for path in paths if not await anyio.to_thread.run_sync(_erase_in, engine, path, past)]
            if past.targets:
                await engine.write(partial(_note, engine, partial(scrubbed, missed=missed)), alone=True)
    left = await anyio.to_thread.run_sync(_left_over, engine) if past.targets else ()
    return Forgot(
        seq=engine.head,
        episodes=len(targets.episodes),
        skills=len(targets.skills),
        memories=len(targets.memories),
        exposures=len(targets.exposures),
        reflections=len(targets.reflections),
        backups=len(paths) - len(missed),
        unreachable=(*backups.undeleted(engine.file, missed), *left),
    )


def _fitting(listed: Iterable[str], scope: Scope) -> tuple[Targets, list[str]]:
    """What goes with the scope in any of the backups, and those that cannot be read."""
    found, away = Targets(), list[str]()
    for path in listed if scope != Scope() else ():
        try:
            with read_only(Path(path, LOG_NAME)) as view:
                schema = read_meta(view, "schema")
                found.add(resolve(view, scope) if isinstance(schema, int) and schema <= SCHEMA else Targets())
        except StoreError:
            away.append(path)
    return found, away


def _forget(engine: Engine, scope: Scope, reason: str, origin: Origin, elsewhere: Targets) -> tuple[Targets, Past]:
    """What fits the scope, and all that was ever forgotten, that among it."""
    with engine.file.write() as transaction:
        batch = Batch(transaction, engine.clock())
        targets = forget(batch, scope, reason, origin, elsewhere)
        past = forgotten_before(batch)
        unfinished = read_meta(batch, "scrub")
    engine.refresh()
    if unfinished:
        engine.file.rewrite(lambda view: None)  # the mark stays until the backups are done
    return targets, past


def _erase_in(engine: Engine, path: str, past: Past) -> bool:
    try:
        backups.erase_in(Path(path), past, engine.clock())
    except StoreError:
        return False
    return True


async def reach_backups(engine: Engine, there: Collection[str]) -> int:
    """Erase all that was ever forgotten in those of ``there`` that were not reached then; in how many.

    Harmless to cancel anywhere. Raises the last StoreError of those that cannot be reached all the same.
    """
    done, failure = 0, None
    async with engine.care:
        owed = await anyio.to_thread.run_sync(owed_in, engine.file)
        there = [path for path in owed if path in there]
        past = await anyio.to_thread.run_sync(_past, engine) if there else Past()
        for path in there:
            try:
                await anyio.to_thread.run_sync(backups.erase_in, Path(path), past, engine.clock())
            except StoreError as error:
                failure = error
            else:
                done += 1
                # At once: each takes as long as a copy of the log, and who is cut short goes on from there.
                await engine.write(partial(_note, engine, partial(settle, done=[path])), alone=True)
    if failure is not None:
        raise failure
    return done


def _past(engine: Engine) -> Past:
    with engine.file.read() as view:
        return forgotten_before(view)


def _left_over(engine: Engine) -> tuple[str, ...]:
    """Files that were moved away because they could not be read: perhaps not ours, so a person must look."""
    path = engine.catalog.path
    damaged = (str(found) for found in sorted(path.parent.glob(f"{path.name}.damaged-*")))
    return (*damaged, *backups.unreadable_logs(engine.file))


async def run_trim(engine: Engine, days: int | None, max_bytes: int | None, origin: Origin) -> Trimmed:
    """Drop raw steps, and give their room back where that is worth it."""
    work = partial(_trim, engine, days, max_bytes, origin)
    async with engine.care:
        trimmed: Trimmed = await engine.write(work, alone=True)
    return trimmed


def _trim(engine: Engine, days: int | None, max_bytes: int | None, origin: Origin) -> Trimmed:
    with engine.file.write() as transaction:
        batch = Batch(transaction, engine.clock())
        trimmed = trim(batch, days, max_bytes, origin)
        # A full disk, for one, may prevent what follows: then it is done another time.
        loose = bool(read_meta(batch, LOOSE)) or trimmed.bytes > WASTE * engine.file.path.stat().st_size
        write_meta(batch, LOOSE, loose)
    engine.refresh()
    if loose:
        engine.file.rewrite(lambda view: write_meta(view, LOOSE, False))
    return trimmed


async def make_backup(engine: Engine, target: Path) -> Path:
    """Copy the log and what it names, then put the copy on the list that forgetting goes through."""
    engine.check_open()
    async with engine.care:
        before = await _in_use(engine)

        def more(folder: Path) -> None:
            # What was adopted while the log was copied may be in it or not.
            beside.copy(engine.catalog.path.parent, folder, before | anyio.from_thread.run(_in_use, engine))

        final = await anyio.to_thread.run_sync(backups.place, target, engine.clock())
        await engine.write(partial(_note, engine, partial(backups.begin, final=final)), alone=True)
        with anyio.CancelScope(shield=True):
            try:
                await anyio.to_thread.run_sync(backups.write, engine.file, final, engine.clock(), more)
            finally:
                await engine.write(partial(_note, engine, backups.end), alone=True)
    return final


async def _in_use(engine: Engine) -> frozenset[Path]:
    """By the catalog, and by the log from there on: what keeps the catalog behind must not prevent a backup."""
    with suppress(StoreError):
        await engine.projection.reach()
    at = engine.projection.at
    try:
        known = await engine.projection.call(engine.catalog.adopted)
    except StoreError:
        at, known = Head(0, GENESIS), ()
    return beside.named_by([*known, *await anyio.to_thread.run_sync(_adopted, engine, at)])


def _adopted(engine: Engine, after: Head) -> list[ControllerAdopted]:
    found: list[ControllerAdopted] = []
    while envelopes := read_journal(engine.file, after, TOGETHER):
        events = (decode_event(each) for each in map(unwrapped, envelopes) if each.data and each.type == ADOPTED)
        found += (event for event in events if isinstance(event, ControllerAdopted))
        after = Head(envelopes[-1].seq, envelopes[-1].digest)
    return found


def _note(engine: Engine, change: Callable[[View], None]) -> None:
    with engine.file.write() as transaction:
        change(View(transaction))


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
        settle(view, [path])


def read_mark(engine: Engine, name: str) -> int:
    """The number kept under ``name``; 0 where there is none."""
    with engine.file.read() as view:
        return mark_of(view, name)


def set_mark(engine: Engine, name: str, number: int) -> None:
    """Keep ``number`` under ``name``."""
    with engine.file.write() as transaction:
        put_mark(View(transaction), name, number)
