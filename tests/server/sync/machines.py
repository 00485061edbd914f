"""Several stores and what would lie between them at a remote, without the remote."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from prowess.server.sync.incoming import checked
from prowess.server.sync.outgoing import entries
from prowess.server.sync.remote import Segment
from prowess.server.sync.segment import Shared, encode_segment
from prowess.storage.events import (
    EVENT_TYPES,
    Event,
    ExposureMade,
    MemoryDeleted,
    MemorySaved,
    PatternsReflected,
    SkillPinned,
    SkillSaved,
    SkillStatusSet,
    SkillTrialEnded,
)
from prowess.storage.ids import new_id
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.models import (
    ExposedSkill,
    Exposure,
    Memory,
    NewReward,
    NewStep,
    NewUse,
    Origin,
    Parameter,
    Pattern,
    Skill,
    SkillStep,
    Where,
)
from prowess.storage.store import Store

__all__ = ["Cloud", "Machine", "forgery", "machines", "shared_rows"]

LOCAL = {"num", "updated_seq"}
APART = (0, -1, 365, -365)  # days by which clocks are wrong
LOCAL_TABLES = {"lamport", "migrations", "model_calls"}


def shared_rows(dump: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """What of a store's dump must be equal on all machines."""
    return {
        table: sorted(
            ({name: value for name, value in row.items() if name not in LOCAL} for row in rows),
            key=lambda row: msgspec.json.encode(row, order="deterministic"),
        )
        for table, rows in dump.items()
        if table not in LOCAL_TABLES
    }


class Cloud:
    """The segments in the order of their arrival, as a remote has them."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

    def add(self, log: str, epoch: int, first: int, last: int, events: Sequence[Shared]) -> None:
        data = encode_segment(events)
        self.segments.append(Segment(len(self.segments) + 1, log, epoch, first, last, "me", data))


def forgery(
    events: Sequence[Event],
    *,
    log: str = "00000000-0000-4000-8000-000000000001",
    epoch: int = 1,
    seq: int = 1,
    **changed: Any,
) -> Cloud:
    """What somebody with access to the remote may write there without this program; ``changed`` are fields of all."""
    told = [_forged(event, number, changed) for number, event in enumerate(events, start=seq)]
    cloud = Cloud()
    cloud.add(log, epoch, told[0].seq, told[-1].seq, told)
    return cloud


def _forged(event: Event, seq: int, changed: dict[str, Any]) -> Shared:
    names = {kind: name for name, kind in EVENT_TYPES.items()}
    data = msgspec.to_builtins(event)
    at = "2026-11-29T12:00:00.000Z"
    return Shared(seq, seq, names[type(event)], event.VERSION, at, Origin(), data)._replace(**changed)


class Machine:
    """One store, with a clock of its own that may be wrong."""

    def __init__(self, number: int, store: Store, clock: _Clock) -> None:
        self.name = f"m{number}"
        self.store = store
        self.clock = clock
        self.pushed = 0
        self.lamport = 0
        self.read = 0
        self.origin = Origin(machine=self.name, client="test", session=self.name)

    async def push(self, cloud: Cloud, limit: int = 1_000) -> None:
        journal = await self.store.journal(self.pushed, limit)
        found = list(entries(journal, self.lamport))
        if not found:
            return
        events = [entry.shared for entry in found if entry.shared is not None]
        if events:
            cloud.add(journal.log, journal.epochs[0][0], self.pushed + 1, found[-1].seq, events)
        self.pushed, self.lamport = found[-1].seq, found[-1].clock

    async def pull(self, cloud: Cloud, limit: int = 1_000, *, trusted: bool = True) -> None:
        for segment in cloud.segments[self.read : self.read + limit]:
            await self.store.receive(checked(segment, Cleaner(), trusted=trusted))
        self.read = min(len(cloud.segments), self.read + limit)

    async def dump(self) -> dict[str, list[dict[str, Any]]]:
        return shared_rows(await self.store.dump())

    async def act(self, chance: random.Random) -> None:
        """Do one of the things that agents and people do."""
        name = chance.choice(["track", "track", "score", "decide", "decide", "decide", "forget"])
        await getattr(self, f"_{name}")(chance)

    def _where(self, chance: random.Random) -> Where:
        return Where(task_id=f"t{chance.randrange(3)}", project="shop", session=self.name, task=chance.choice("abc"))

    async def _track(self, chance: random.Random) -> None:
        told = [NewStep(action=chance.choice("xyz"), tool="bash") for _ in range(chance.randint(1, 3))]
        await self.store.track(self._where(chance), told, origin=self.origin)

    async def _score(self, chance: random.Random) -> None:
        where = self._where(chance)
        await self.store.track(where, [NewStep(action="look")], origin=self.origin)
        uses = [NewUse(skill_id=self._skill(chance), version=1, success=chance.random() < 0.5)]
        reward = NewReward(value=chance.choice([-3.0, 1.0, 7.0]))
        await self.store.score(where, [reward], uses=uses, final=chance.random() < 0.3, origin=self.origin)

    def _skill(self, chance: random.Random) -> str:
        return f"skill-{chance.randrange(3)}"

    async def _decide(self, chance: random.Random) -> None:
        await self.store.append([await self._decision(chance)], origin=self.origin)

    async def _decision(self, chance: random.Random) -> Event:
        at = self.clock.text()
        key = self._skill(chance)
        kind = chance.randrange(8)
        if kind <= 2:
            return SkillSaved(skill=await self._version(key, chance), change=chance.choice(["create", "adjust"]))
        if kind == 3:
            return SkillStatusSet(skill_id=key, status=chance.choice(["active", "archived"]), at=at)
        if kind == 4:
            return chance.choice(
                [SkillTrialEnded(skill_id=key, at=at), SkillPinned(skill_id=key, pinned=chance.random() < 0.5, at=at)]
            )
        if kind == 5:
            shown = ExposedSkill(skill_id=key, version=1, rank=1, score=0.5)
            return ExposureMade(exposure=Exposure(id=new_id(), at=at, query="q", project="shop", skills=(shown,)))
        if kind == 6:
            return await self._memory(chance, at)
        pattern = Pattern(id="p", kind="sequence", statement=self.name, support=chance.randrange(9))
        return PatternsReflected(reflection_id=new_id(), project="shop", at=at, patterns=(pattern,))

    async def _memory(self, chance: random.Random, at: str) -> Event:
        """One of a few, as what is learned from an episode has the same id wherever and whenever that is."""
        key = f"memory-{chance.randrange(3)}"
        if chance.random() < 0.2:
            return MemoryDeleted(memory_id=key, at=at)
        drawn_from = chance.choice([None, *[episode.id for episode in await self.store.episodes()][:3]])
        text = chance.choice(["look first", "ask", "test"])
        return MemorySaved(memory=Memory(id=key, kind="lesson", text=text, at=at, episode_id=drawn_from))

    async def _version(self, key: str, chance: random.Random) -> Skill:
        known = (await self.store.skills_by_id([key])).get(key)
        episodes = [episode.id for episode in await self.store.episodes()][:2]
        return Skill(
            id=key,
            name=chance.choice("ab"),
            description=f"as {self.name} has it",
            steps=(SkillStep(tool="bash"),),
            parameters=(Parameter(name="x", examples=(chance.choice("uvw"),)),),
            version=1 if known is None else known.version + 1,
            episodes=tuple(episodes) if chance.random() < 0.5 else (),
            author=chance.choice(["machine", "person"]),
            project="shop",
            updated_at=self.clock.text(),
        )

    async def _forget(self, chance: random.Random) -> None:
        if chance.random() < 0.7:
            return
        episodes = [episode.id for episode in await self.store.episodes()]
        wanted: dict[str, list[str]] = {"episode_ids": episodes[:1]}
        if chance.random() < 0.4:
            wanted = chance.choice([{"skill_ids": [self._skill(chance)]}, {"memory_ids": ["memory-0"]}])
        await self.store.forget(**wanted, origin=self.origin)


class _Clock:
    def __init__(self, skew: timedelta) -> None:
        self._now = datetime(2026, 11, 29, 12, tzinfo=UTC) + skew

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=7)
        return self._now

    def text(self) -> str:
        return self().isoformat(timespec="milliseconds").replace("+00:00", "Z")


@asynccontextmanager
async def machines(folder: Path, count: int) -> AsyncIterator[list[Machine]]:
    """Stores in ``folder``, whose clocks are a day and a year apart."""
    async with AsyncExitStack() as stack:
        found = []
        for number in range(count):
            clock = _Clock(timedelta(days=APART[number % len(APART)]))
            store = await stack.enter_async_context(Store.open(folder / f"m{number}", clock=clock))
            found.append(Machine(number, store, clock))
        yield found
