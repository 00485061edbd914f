"""Keeps the catalog up with the journal, and lets readers wait until it is."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from prowess.storage.behind import looking
from prowess.storage.catalog import Catalog, Cursor
from prowess.storage.errors import StoreBusy, StoreClosed, StoreDamaged, StoreDefect, StoreError, StoreUnavailable
from prowess.storage.events import Envelope
from prowess.storage.log.codec import GENESIS, Head
from prowess.storage.log.file import LogFile
from prowess.storage.log.reading import follows, read_journal
from prowess.storage.turns import Turns
from prowess.storage.upcast import unwrapped, upcast

__all__ = ["Projection", "patient"]

T = TypeVar("T")

# Events per transaction: the catalog's client holds the GIL, so its work is cut short.
BATCH = 200
# Without a reader, events of this time are projected together: writes come first.
GATHER_S = 0.1
# Nobody has written for that long: what the disk is waited for then keeps no call waiting.
QUIET_S = 2.0
# A reader's patience. A whole rebuild takes longer, and then says so.
READ_WAIT_S = 30.0
# Errors that may be over by the next try.
PASSING = (StoreBusy, StoreUnavailable)
# Before trying again what failed for another reason: a defect may lie in what happens to be in memory.
AGAIN_S = 5.0
# Events that take something back for good: what they name must not be shown any more.
ERASING = ("payloads.forgotten", "memory.deleted")
# Before trying again what another process or the disk prevented.
RETRY_S = 0.2


async def patient(work: Callable[[], Awaitable[T]]) -> T:
    """Carry out ``work`` on the catalog, again while another process, which may be ending, has it locked.

    Raises StoreBusy.
    """
    with anyio.move_on_after(READ_WAIT_S):
        while True:
            try:
                return await work()
            except StoreBusy:
                await anyio.sleep(RETRY_S)
    raise StoreBusy("the catalog is locked by another process", hint="close programs that have catalog.db open")


class Projection:
    """One task's work (``run``). Everything that touches the catalog is ``call``ed, in one thread."""

    def __init__(
        self, file: LogFile, catalog: Catalog, head: Callable[[], int], applied: Callable[[Sequence[Envelope]], None]
    ) -> None:
        self._turns = Turns("prowess-catalog")
        self._file = file
        self._catalog = catalog
        self._head = head
        self._applied = applied
        self._at = Head(0, GENESIS)
        self._next: Envelope | None = None
        self._error: StoreError | None = None
        self._failed_at = 0.0
        self._log_broke = False
        self._ended = False
        self._lock = anyio.Lock()
        self._work = anyio.Event()
        self._moved = anyio.Event()
        self._asked = anyio.Event()

    async def call(self, work: Callable[[], Any]) -> Any:
        """Run ``work`` on the catalog; what another process locked is tried again for a while."""
        return await patient(partial(self._turns.run, partial(self._on_open, work)))

    def _on_open(self, work: Callable[[], Any]) -> Any:
        if not self._catalog.is_open and not self._ended:
            self._catalog.reopen()
        return work()

    async def start(self) -> None:
        """Take up where the catalog stopped, or begin anew if it followed another log."""
        cursor = await self.call(self._catalog.cursor)
        if cursor is not None and await anyio.to_thread.run_sync(self._continues, cursor):
            self._at = Head(cursor.seq, cursor.digest)
        elif cursor is not None:
            await self._empty(vectors=cursor.log_id != self._file.id)

    async def _empty(self, *, vectors: bool = False) -> None:
        try:
            await self.call(lambda: self._catalog.reset(vectors=vectors))
        except (StoreDamaged, StoreDefect):
            await self.call(self._catalog.renew)

    def _continues(self, cursor: Cursor) -> bool:
        same = (cursor.log_id, cursor.epoch) == (self._file.id, self._file.epoch)
        return same and follows(self._file, cursor.seq, cursor.digest)

    @property
    def at(self) -> Head:
        """The event up to which the catalog has everything."""
        return self._at

    def notify(self) -> None:
        """The journal has grown. On the event loop only."""
        self._work.set()

    async def run(self) -> None:
        """Project until cancelled. An error is kept for readers; what the disk refused is tried again."""
        while True:
            await self._wait_for_work()
            self._work = anyio.Event()
            with anyio.move_on_after(GATHER_S):
                await self._asked.wait()
            self._asked = anyio.Event()
            await self._try()

    async def _wait_for_work(self) -> None:
        with anyio.move_on_after(QUIET_S) as quiet:
            await self._work.wait()
        if quiet.cancelled_caught:
            with suppress(StoreError):  # else a later commit does it
                await self._turns.run(partial(self._on_open, self._catalog.checkpoint))
            await self._work.wait()

    async def _try(self) -> None:
        if self._ended or not self._may_go_on():
            self._tell()
            return
        try:
            while await self._step() and self._at.seq < self._head():
                pass
        except Exception as error:
            if isinstance(error, StoreError) and not isinstance(error, StoreDefect):
                self._fail(error)
            else:
                await self._go_singly()

    def _may_go_on(self) -> bool:
        return not self._is_lasting() or time.monotonic() - self._failed_at >= AGAIN_S

    def _is_lasting(self) -> bool:
        return self._error is not None and not isinstance(self._error, PASSING) and not self._log_broke

    async def _go_singly(self) -> None:
        """Project what comes before the event at which a defect lies, and tell which it is."""
        try:
            for _ in range(BATCH):
                if not await self._step(1):
                    return
        except StoreError as error:
            self._fail(_located(error, self._next) if isinstance(error, StoreDefect) else error)
        except Exception as error:
            self._fail(_located(error, self._next))

    def _fail(self, error: StoreError) -> None:
        self._error, self._failed_at = error, time.monotonic()
        self._log_broke = bool(self._file.damage)  # it is opened anew by whoever reads it next
        self._tell()

    async def end(self) -> None:
        """No more reads: whoever waits for the catalog is told, and it is closed."""
        self._ended = True
        self._fail(StoreClosed("the store is closed", hint="open it again"))
        try:
            await self.call(self._catalog.close)
        finally:
            self._turns.end()

    def _tell(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    async def _step(self, most: int = BATCH) -> bool:
        """Project one batch; whether there was one."""
        async with self._lock:
            envelopes = await anyio.to_thread.run_sync(read_journal, self._file, self._at, most)
            if envelopes:
                self._next = envelopes[0]
                await self.call(lambda: self._apply(envelopes))
                self._at = Head(envelopes[-1].seq, envelopes[-1].digest)
        if not self._ended:
            self._error = None
        self._tell()
        return bool(envelopes)

    def _apply(self, envelopes: Sequence[Envelope]) -> None:
        last = envelopes[-1]
        file = self._file
        cursor = Cursor(log_id=file.id, epoch=file.epoch, seq=last.seq, digest=last.digest, epochs=file.identity.epochs)
        self._catalog.apply([upcast(envelope) for envelope in envelopes], cursor, last.seq >= self._head())
        self._applied(envelopes)

    async def reach(self, target: int | None = None) -> None:
        """Wait until the catalog has the event ``target``, all that is committed now without it.

        StoreBusy after 30 s; the projection's error if any. For who only looks (``as_far_as_known``), what the disk
        refuses is no error, unless what is missing takes something back.
        """
        if self._catalog.refused is not None:
            await self.call(self._catalog.reopen)
        target = self._head() if target is None else target
        if self._at.seq >= target and not self._is_lasting():
            return
        with anyio.move_on_after(READ_WAIT_S):
            try:
                await self._follow(target)
            except StoreUnavailable as error:
                behind = looking()
                if behind is None or await anyio.to_thread.run_sync(self._takes_back):
                    raise
                behind.reason = error
            return
        raise StoreBusy(
            f"the catalog is at event {self._at.seq} of {target}", hint="it is still being made; try again soon"
        )

    def _takes_back(self) -> bool:
        """Whether anything that the catalog does not have yet erases something."""
        at = self._at
        while envelopes := read_journal(self._file, at, BATCH):
            if any(map(_erases, envelopes)):
                return True
            at = Head(envelopes[-1].seq, envelopes[-1].digest)
        return False

    async def _follow(self, target: int, progress: Callable[[int, int], None] | None = None) -> None:
        while True:
            moved = self._moved
            self._asked.set()
            self._work.set()
            await moved.wait()
            if self._error is not None and not isinstance(self._error, StoreBusy):
                raise self._error.with_traceback(None)
            if progress is not None:
                progress(min(self._at.seq, target), target)
            if self._at.seq >= target:
                return

    async def restart(self, progress: Callable[[int, int], None] | None) -> None:
        """Drop all rows and project the whole journal again; ``progress`` gets (events done, events in all)."""
        try:
            await self._anew(self._empty, progress)
        except (StoreDamaged, StoreDefect):
            # Pages that hold no row show their damage only when they are written.
            await self._anew(partial(self.call, self._catalog.renew), progress)

    async def _anew(self, empty: Callable[[], Awaitable[None]], progress: Callable[[int, int], None] | None) -> None:
        async with self._lock:
            await empty()
            self._at = Head(0, GENESIS)
            self._error = None
        await self._follow(self._head(), progress)


def _located(error: Exception, envelope: Envelope | None) -> StoreDefect:
    where = "" if envelope is None else f" at event {envelope.seq} ({envelope.type})"
    said = str(error) if isinstance(error, StoreError) else repr(error)
    return StoreDefect(f"the catalog cannot follow the log{where}: {said}")


def _erases(envelope: Envelope) -> bool:
    return unwrapped(envelope).type in ERASING
