"""One round of synchronisation: erase what was forgotten, push what is new here, pull what is new there.

Every step is one transaction at the remote or one commit in the hub, and may be repeated: whatever stops a round, the
next one goes on from what both sides really have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from prowess.server.origins import now
from prowess.server.sync.errors import Diverged, RemoteAway, RemoteGarbage
from prowess.server.sync.files import Files, named_in
from prowess.server.sync.incoming import checked
from prowess.server.sync.outgoing import entries, foreign_entries, ids_in, stays_home
from prowess.server.sync.remote import NOT_KEPT, Mark, Piece, Pulled, Remote, Segment, Who
from prowess.server.sync.segment import MAX_EVENTS, TARGET_BYTES, Shared, encode_segment, encoded_size
from prowess.storage.log.cleaning import Cleaner, weight
from prowess.storage.log.foreign import Foreign, Position

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["LostSince", "Progress", "Round", "Sharing"]

NOTHING = Mark(0, 0, b"")
ERASURES = 500  # in one go
OWNERS_SECONDS = 120.0  # for a machine to send its own events to a remote that lost them, before others do it
LOOKS = 5  # at a remote that was restored, which others may see just then as well
PIECES = 16  # in one transaction at the remote,
PIECES_BYTES = 1024 * 1024  # or about so many bytes: a way there and back may take longer than all of its work


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """What may leave this machine, in whose name, and whose word counts here."""

    machine: str
    person: str = ""
    trust: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    raw: bool = False

    def trusts(self, person: str) -> bool:
        return person == self.person or person in self.trust


class Progress(msgspec.Struct, kw_only=True):
    """How far both ways are: events of this journal, and positions of the remote.

    ``waiting`` where there is much to send and another machine does so.
    """

    pushed: int = 0
    head: int = 0
    pulled: int = 0
    newest: int = 0
    waiting: bool = False


Tell = Callable[[Progress], Awaitable[None]]


LostSince = dict[tuple[str, str, int], float]
"""Since when a remote is known to lack events of an epoch of a log, by the remote's id, the log and the epoch."""


class Round:
    """Rounds between one hub's ``store`` and one ``remote``.

    ``lost_since`` is carried on from one connection to the next: one that breaks again and again begins no wait anew.
    """

    def __init__(
        self,
        store: Store,
        remote: Remote,
        files: Files,
        sharing: Sharing,
        cleaner: Cleaner,
        tell: Tell,
        *,
        owners_seconds: float = OWNERS_SECONDS,
        lost_since: LostSince | None = None,
    ) -> None:
        self._store = store
        self._remote = remote
        self._files = files
        self._sharing = sharing
        self._cleaner = cleaner
        self._tell = tell
        self.progress = Progress()
        self._owners_seconds = owners_seconds
        self._lost_since = {} if lost_since is None else lost_since
        self._only_there: dict[tuple[str, int], tuple[int, Mark]] = {}  # of logs: what can be told of no more from here

    async def run(self) -> None:
        """Raises RemoteError, and StoreError where the hub cannot work."""
        marks = await self._begin()
        await self._erase()
        self.progress.waiting = False
        await self._push(marks)
        await self._remote.turn.give_up()
        await self._send_again(marks)
        await self._pull()

    async def _begin(self) -> dict[tuple[str, int], Mark]:
        """How far everybody has sent. A remote that is another one than before is read from its beginning.

        It may have been restored from a backup: seen before anything is sent, since that could hide it.
        """
        for _ in range(LOOKS):
            position = await self._store.pulled(self._remote.id)
            if position is None:
                await self._store.erase_again()
                position = Position(remote=self._remote.id, pos=0)
                await self._store.receive([], position)
            look = await self._remote.look(position.pos)
            if look.id != self._remote.id:
                self._remote.id = look.id
            elif position.pos and look.row != (position.log, position.epoch, position.first):
                await self._remote.rename()
            else:
                return look.marks
        raise RemoteGarbage("the remote is another one at every look")

    # Out.

    async def _erase(self) -> None:
        while gone := await self._store.erasures(ERASURES):
            by_epoch = sorted(gone, key=lambda event: (event.log, event.epoch, event.seq))
            for (log, epoch), events in groupby(by_epoch, key=lambda event: (event.log, event.epoch)):
                whole, bare = set[int](), set[int]()
                for event in events:
                    (bare if event.bare else whole).add(event.seq)
                await self._remote.erase(log, epoch, whole, bare)
            await self._store.erased(gone)

    async def _push(self, marks: dict[tuple[str, int], Mark]) -> None:
        journal = await self._store.journal(0, 0)
        self.progress.head = journal.head
        for epoch, (first, last) in journal.identity.ranges(journal.head).items():
            mark = marks.get((journal.log, epoch))
            if mark is None:
                mark = await self._mark_before(first)
            elif mark.seq <= last or epoch == journal.epochs[-1][0]:
                await self._check_same(mark, first, last)
            else:  # this epoch ended early here, when a backup was restored; what followed comes back by pulling
                continue
            await self._push_epoch(journal.log, epoch, mark, last)
            if self.progress.waiting:
                return
        self.progress.pushed = journal.head
        await self._tell(self.progress)

    async def _mark_before(self, first: int) -> Mark:
        """Where an epoch begins that the remote knows nothing of."""
        return await self._mark_at(first - 1) if first > 1 else NOTHING

    async def _mark_at(self, seq: int) -> Mark:
        """The clock at an event is known from all before it."""
        at = NOTHING
        while at.seq < seq:
            journal = await self._store.journal(at.seq, min(MAX_EVENTS, seq - at.seq))
            for entry in entries(journal, at.clock):
                at = Mark(entry.seq, entry.clock, entry.digest)
        return at

    async def _check_same(self, mark: Mark, first: int, last: int) -> None:
        """Another copy of this store, that went on by itself, must not be mixed with this one."""
        if mark.seq < first or not mark.digest:  # another machine sent it on
            return
        journal = await self._store.journal(mark.seq - 1, 1)
        known = next(entries(journal, 0), None) if mark.seq <= last else None
        if known is None or known.digest != mark.digest:
            raise Diverged(
                "the remote has other events of this store than this machine: the store's folder was copied",
                hint="`prowess sync reset --as-new` gives this copy a name of its own",
            )

    async def _push_epoch(self, log: str, epoch: int, mark: Mark, last: int) -> None:
        while mark.seq < last:
            if last - mark.seq > MAX_EVENTS and not await self._remote.turn.have():
                self.progress.waiting = True
                return
            pieces, before = await self._pieces(mark, last), mark.seq
            mark = await self._send(log, epoch, pieces)
            if mark != pieces[-1].mark:  # somebody else sent under the same name
                await self._check_same(mark, 1, last)
            if mark.seq <= before:  # it was restored just now, or takes nothing: the next round looks again
                raise RemoteAway(NOT_KEPT)
            self.progress.pushed = mark.seq
            await self._tell(self.progress)

    async def _pieces(self, mark: Mark, last: int) -> list[Piece]:
        """What follows ``mark``, as much as one transaction takes."""
        pieces: list[Piece] = []
        size = 0
        while mark.seq < last and len(pieces) < PIECES and size < PIECES_BYTES:
            journal = await self._store.journal(mark.seq, min(MAX_EVENTS, last - mark.seq))
            found = list(entries(journal, mark.clock))
            found = found[: self._few([entry.shared for entry in found])]
            shared = await self._shared([entry.shared for entry in found if entry.shared is not None])
            end = Mark(found[-1].seq, found[-1].clock, found[-1].digest)
            pieces.append(Piece(mark.seq, end, encode_segment(shared) if shared else None))
            size += len(pieces[-1].data or b"")
            mark = end
        return pieces

    def _few(self, events: Sequence[Shared | None]) -> int:
        """How many of ``events`` make one segment, at least one: every answer and upload must stay small."""
        total = 0
        for place, event in enumerate(events):
            total += self._weight(event)
            if total > TARGET_BYTES and place:
                return place
        return len(events)

    def _weight(self, event: Shared | None) -> int:
        if event is None:
            return 0
        raw = event.data.get("size", 0) if self._sharing.raw and event.data and event.type == "step.tracked" else 0
        return encoded_size(event) + int(raw)

    async def _send(self, log: str, epoch: int, pieces: Sequence[Piece]) -> Mark:
        who = Who(self._sharing.machine, self._sharing.person)
        return await self._remote.push(log, epoch, pieces, who, now())

    async def _shared(self, events: list[Shared]) -> list[Shared]:
        """What of ``events`` may leave this machine, as it does; the files that are named in it go before."""
        private = self._sharing.private
        if private:
            projects = await self._store.projects_of(**ids_in(events))
            events = [event for event in events if not stays_home(event, private, projects)]
        await self._files.send(name for event in events for name in named_in(event.type, event.data))
        return await self._with_raw(events) if self._sharing.raw else events

    async def _with_raw(self, events: list[Shared]) -> list[Shared]:
        steps = [event for event in events if event.type == "step.tracked" and event.data is not None]
        keys = [(event.data["episode_id"], event.data["number"]) for event in steps if event.data is not None]
        values = await self._store.raw_steps(keys)
        raw = {event.seq: value for event, value in zip(steps, values, strict=True)}
        return [event._replace(raw=raw.get(event.seq)) for event in events]

    # Again.

    async def _send_again(self, marks: dict[tuple[str, int], Mark]) -> None:
        """What the remote lost of other machines' events, and this one has: they may be gone for good.

        Each machine comes first with its own, since others may not have all of it, such as its raw steps.
        """
        held = {(held.log, held.epoch): held.seq for held in await self._store.held()}
        lost = {
            key: mark
            for key, seq in held.items()
            if seq > (mark := marks.get(key, NOTHING)).seq and self._only_there.get(key) != (seq, mark)
        }
        waited = self._waited(lost)
        lost = {key: mark for key, mark in lost.items() if waited[key] >= self._owners_seconds}
        after = 0
        while lost:
            journal = await self._store.journal(after, MAX_EVENTS)
            if not journal.rows:  # what is still missing was a stranger's or was forgotten; once is enough to see that
                self._only_there |= {key: (held[key], mark) for key, mark in lost.items()}
                return
            after += len(journal.rows)
            told: dict[tuple[str, int, str], list[Shared]] = {}
            for log, epoch, person, event in foreign_entries(journal):
                if (log, epoch) in lost and event.seq > lost[log, epoch].seq:
                    told.setdefault((log, epoch, person), []).append(event)
            for (log, epoch, person), events in told.items():
                lost[log, epoch] = await self._send_of(log, epoch, person, lost[log, epoch], events)

    def _waited(self, lost: Iterable[tuple[str, int]]) -> dict[tuple[str, int], float]:
        """For how long the remote is known to lack each of ``lost``, in seconds."""
        present, remote = anyio.current_time(), self._remote.id
        since = {(remote, *key): self._lost_since.get((remote, *key), present) for key in lost}
        self._lost_since.clear()
        self._lost_since.update(since)
        return {(log, epoch): present - at for (_, log, epoch), at in since.items()}

    async def _send_of(self, log: str, epoch: int, person: str, mark: Mark, events: list[Shared]) -> Mark:
        while left := [event for event in events if event.seq > mark.seq]:
            some, after = left[: self._few(left)], mark.seq
            end, shared = Mark(some[-1].seq, some[-1].clock, b""), await self._shared(some)
            piece = Piece(after, end, encode_segment(shared) if shared else None)
            mark = await self._remote.push(log, epoch, [piece], Who("", person), now())
            if mark.seq <= after:  # the remote is elsewhere than it was when this round began
                break
        return mark

    # In.

    async def _pull(self) -> None:
        renamed = 0
        while True:
            position = await self._store.pulled(self._remote.id)
            after = 0 if position is None else position.pos
            at = None if position is None or not after else (position.log, position.epoch, position.first)
            pulled = await self._remote.pull(after, at, await self._own())
            if not pulled.known:  # the remote was restored just now: what is here already is recognised
                if (renamed := renamed + 1) > LOOKS:
                    raise RemoteAway(NOT_KEPT)
                await self._remote.rename()
                continue
            for segment in pulled.segments:
                await self._take(segment)
            self.progress.newest = pulled.newest
            self.progress.pulled = pulled.segments[-1].pos if pulled.segments else pulled.newest
            await self._tell(self.progress)
            if not pulled.segments:
                await self._pass_over(after, pulled)
                return

    async def _pass_over(self, after: int, pulled: Pulled) -> None:
        """The rows up to the last are this machine's own: they are not to be read, and paid for, at every look."""
        if pulled.newest > after:
            log, epoch, first = pulled.at
            position = Position(remote=self._remote.id, pos=pulled.newest, log=log, epoch=epoch, first=first)
            await self._store.receive([], position)

    async def _take(self, segment: Segment) -> None:
        trusted = self._sharing.trusts(segment.person)
        position = Position(
            remote=self._remote.id, pos=segment.pos, log=segment.log, epoch=segment.epoch, first=segment.first
        )
        try:
            arrived = await anyio.to_thread.run_sync(partial(checked, segment, self._cleaner, trusted=trusted))
        except RemoteGarbage as error:
            if trusted:  # it may be mended there; nothing of it is to be missed
                raise RemoteGarbage(f"{error} (row {segment.pos} of prowess_segments)", hint=error.hint) from error
            arrived = []  # a stranger must not keep the news of others away
        if trusted:
            await self._files.fetch(name for event in arrived for name in named_in(event.type, event.data))
        *parts, last = _parts(arrived)
        for part in parts:
            await self._store.receive(part)
        await self._store.receive(last, position)

    async def _own(self) -> dict[tuple[str, int], int]:
        journal = await self._store.journal(0, 0)
        return {(journal.log, epoch): last for epoch, (_, last) in journal.identity.ranges(journal.head).items()}


def _parts(arrived: list[Foreign]) -> list[list[Foreign]]:
    """``arrived`` in pieces that the hub's socket carries; an empty one if there is nothing."""
    parts: list[list[Foreign]] = [[]]
    total = 0
    for event in arrived:
        size = weight(event.data, TARGET_BYTES) + len(event.raw or b"")
        total += size
        if total > TARGET_BYTES and parts[-1]:
            parts.append([])
            total = size
        parts[-1].append(event)
    return parts
