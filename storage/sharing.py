"""What an open store offers to whoever carries events to other machines and back."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from prowess.storage.errors import InvalidInput, StoreError, StoreUnavailable
from prowess.storage.ids import id_bytes
from prowess.storage.log import state
from prowess.storage.log.batch import Batch, View, head_of
from prowess.storage.log.codec import pack
from prowess.storage.log.erasures import EXAMPLES, note_again
from prowess.storage.log.file import identity_of, read_meta, write_meta
from prowess.storage.log.foreign import REREAD, WRITERS, Foreign, Position, Receive, Received
from prowess.storage.log.private import Private, private_in
from prowess.storage.log.reading import read_steps
from prowess.storage.log.tables import ERASURES, JOURNAL, META, STEPS
from prowess.storage.log.targets import Scope
from prowess.storage.maintenance import run_forget
from prowess.storage.models import Origin
from prowess.storage.search import StoreSearch
from prowess.storage.stamps import Identity

if TYPE_CHECKING:
    from prowess.storage.engine import Engine

__all__ = ["Elsewhere", "Event", "Held", "Journal", "StoreSharing"]

ROOM = 50_000_000  # bytes of the disk that are left for what is recorded here
LARGE = 8 * 1024 * 1024  # bytes of the journal at once: they pass through the hub's socket as one line


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event's identity, and whether it stays without the values that a skill was seen with (``bare``)."""

    log: str
    epoch: int
    seq: int
    bare: bool = False


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """Part of the journal as it is in the file: ``rows`` follow the event ``after``, ``head`` is the last of all.

    ``epochs`` are (epoch, first event); see ``storage.stamps.Identity``. ``private`` is what stays home at that moment.
    """

    log: str
    epochs: tuple[tuple[int, int], ...]
    head: int
    after: int
    rows: tuple[bytes, ...]
    private: Private = Private()

    @property
    def identity(self) -> Identity:
        return Identity(self.log, self.epochs)


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Up to which event an epoch of another log has arrived here."""

    log: str
    epoch: int
    seq: int


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Where an episode of another log was recorded; ``raw`` counts its steps that are here as they were recorded."""

    machine: str
    person: str
    raw: int


class StoreSharing(StoreSearch):
    """The sharing part of ``Store``."""

    async def journal(self, after: int, limit: int) -> Journal:
        """Up to ``limit`` raw entries of the journal after the event ``after``: fewer where they are large."""
        return await self._read_log(partial(_journal, self._engine, after, limit))

    async def private(self) -> Private:
        """The skills and memories that no other machine is told of."""
        return await self._read_log(partial(_private, self._engine))

    async def raw_steps(self, keys: Sequence[tuple[str, int]]) -> tuple[bytes | None, ...]:
        """The stored value of each step (episode, number), None where it was dropped."""
        return await self._read_log(partial(_raw_steps, self._engine, keys))

    async def projects_of(
        self, *, episode_ids: Collection[str] = (), skill_ids: Collection[str] = (), memory_ids: Collection[str] = ()
    ) -> dict[str, str]:
        """The project of each id that is known."""
        named = {"episodes": episode_ids, "skills": skill_ids, "memories": memory_ids}
        return await self._ask(lambda: self._engine.catalog.projects_of(named))

    async def pulled(self, remote: str) -> Position | None:
        """How far ``remote`` was read; None before the first time, and once all is to be read again."""
        if await self._read_log(partial(_is_to_reread, self._engine)):
            await self._engine.write(_begin_to_reread)
        return await self._read_log(partial(_pulled, self._engine, remote))

    async def held(self) -> tuple[Held, ...]:
        """What other logs have sent so far."""
        return await self._read_log(partial(_held, self._engine))

    async def elsewhere(self, episode_id: str) -> Elsewhere | None:
        """Where an episode came from; None where it was recorded here. Raises UnknownEpisode."""
        return await self._read_log(partial(_elsewhere, self._engine, episode_id))

    async def receive(self, arrived: Sequence[Foreign], position: Position | None = None) -> Received:
        """Take in events of other logs; those that are here already are passed over. All or none, with ``position``.

        They must be cleaned and valid. What they say is forgotten is erased here too, from backups as well. Raises
        StoreUnavailable where the disk has hardly room for what is recorded here itself.
        """
        if arrived:
            await anyio.to_thread.run_sync(_check_room, self._engine)
        with anyio.CancelScope(shield=True):  # what was taken in comes no second time, and so nobody would ask again
            answer: Received = await self._engine.write(Receive(arrived, position).apply)
            if answer.forgot:
                await run_forget(self._engine, Scope(), "", Origin(actor="machine"))
                with suppress(StoreError):  # what the catalog cannot take in now it will before anybody reads it
                    await self._engine.projection.reach()
        return answer

    async def pull_again(self) -> None:
        """Read every remote from its beginning, whoever reads just now; what is here already is recognised.

        What came from somebody who is trusted since is taken in anew.
        """
        await self._engine.write(_pull_again)

    async def begin_epoch(self, first: int) -> None:
        """The events from ``first`` on are others than those that this log's epoch has elsewhere: name them anew.

        For a store's folder that was copied and went on by itself. The catalog is made again.
        """
        await self._engine.write(partial(_begin_epoch, self._engine, first), alone=True)
        await self._engine.projection.restart(None)

    async def erasures(self, limit: int) -> tuple[Event, ...]:
        """Events that were erased here and may still be at the remote."""
        return await self._read_log(partial(_erasures, self._engine, limit))

    async def erase_again(self) -> None:
        """Take all that was ever erased here for something that may be at the remote."""
        await self._engine.write(note_again)

    async def erased(self, gone: Sequence[Event]) -> None:
        """They are gone from the remote, too."""
        await self._engine.write(partial(_erased, gone))


def _journal(engine: Engine, after: int, limit: int) -> Journal:
    with engine.file.read() as view:
        own, head, private = identity_of(view), head_of(view).seq, private_in(view)
        rows = tuple(
            _up_to(LARGE, (bytes(raw) for _, raw in islice(view.table(JOURNAL).range(after + 1, None), limit)))
        )
    return Journal(log=own.log, epochs=own.epochs, head=head, after=after, rows=rows, private=private)


def _private(engine: Engine) -> Private:
    with engine.file.read() as view:
        return private_in(view)


def _up_to(size: int, rows: Iterable[bytes]) -> Iterator[bytes]:
    """The first of ``rows``, and those after it until they have ``size`` bytes together."""
    total = 0
    for row in rows:
        total += len(row)
        if total > size and total > len(row):
            return
        yield row


def _raw_steps(engine: Engine, keys: Sequence[tuple[str, int]]) -> tuple[bytes | None, ...]:
    with engine.file.read() as view:
        table = view.table(STEPS)
        found = [table.get((id_bytes(episode), number)) for episode, number in keys]
    return tuple(None if raw is None else bytes(raw) for raw in found)


def _pulled(engine: Engine, remote: str) -> Position | None:
    with engine.file.read() as view:
        found = read_meta(view, f"pulled:{remote}")
    return None if found is None else msgspec.convert(found, Position)


def _check_room(engine: Engine) -> None:
    try:
        free = shutil.disk_usage(engine.file.path.parent).free
    except OSError:
        return  # what the system does not tell, writing will
    if free < ROOM:
        raise StoreUnavailable(
            f"the disk has {free // 1_000_000} MB left, which is kept for what is recorded here",
            hint="free some space; what other machines have to say waits at the remote",
        )


def _elsewhere(engine: Engine, episode_id: str) -> Elsewhere | None:
    raw = len(read_steps(engine.file, episode_id))
    with engine.file.read() as view:
        known = state.load(view, id_bytes(episode_id))
        if known is None or not known.log:
            return None
        machine, person = (read_meta(view, WRITERS) or {}).get(known.log, ("", ""))
    return Elsewhere(machine=machine, person=person, raw=raw)


def _held(engine: Engine) -> tuple[Held, ...]:
    with engine.file.read() as view:
        found = read_meta(view, "held") or {}
    named = ((*name.rsplit(":", 1), seq) for name, seq in sorted(found.items()))
    return tuple(Held(log=log, epoch=int(epoch), seq=seq) for log, epoch, seq in named)


def _pull_again(batch: Batch) -> None:
    batch.writes += 1
    table = batch.table(META)
    for name in [name for name, _ in table if name.startswith("pulled:")]:
        table.remove(name)
    write_meta(batch, REREAD, True)


def _is_to_reread(engine: Engine) -> bool:
    with engine.file.read() as view:
        return bool(read_meta(view, REREAD))


def _begin_to_reread(batch: Batch) -> None:
    batch.writes += 1
    write_meta(batch, REREAD, False)


def _begin_epoch(engine: Engine, first: int) -> None:
    with engine.file.write() as transaction:
        view = View(transaction)
        own, head = identity_of(view), head_of(view).seq
        if not own.epochs[-1][1] < first <= head + 1:
            raise InvalidInput(f"event {first} is not inside of this log's epoch", hint="nothing was changed")
        epoch = max(own.epochs[-1][0], int(engine.clock().timestamp())) + 1
        write_meta(view, "epochs", [*own.epochs, (epoch, first)])
        write_meta(view, "epoch", epoch)
    engine.file.refresh()


def _erasures(engine: Engine, limit: int) -> tuple[Event, ...]:
    with engine.file.read() as view:
        rows = list(islice(iter(view.table(ERASURES)), limit))
    found = ((msgspec.msgpack.decode(key, type=tuple[str, int, int]), bytes(part)) for key, part in rows)
    return tuple(Event(log=log, epoch=epoch, seq=seq, bare=part == EXAMPLES) for (log, epoch, seq), part in found)


def _erased(events: Sequence[Event], batch: Batch) -> None:
    for event in events:
        key = pack((event.log, event.epoch, event.seq))
        known = batch.table(ERASURES).get(key)
        if known is not None and (bytes(known) == EXAMPLES) == event.bare:  # else more of it went meanwhile
            batch.remove(ERASURES, key)
