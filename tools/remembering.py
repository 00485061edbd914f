"""What finished episodes teach, joined with what is remembered: which memories a reflection saves, and which it drops.

Each closed episode is looked at once, or again when it changed since; up to where stands in a mark of the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from prowess.learning.memories.joining import MARKS, merged, reworded
from prowess.learning.memories.lessons import beyond, lessons_of, quoting, utility
from prowess.learning.memories.quotations import error_in
from prowess.learning.memories.recorded import done_at
from prowess.storage.errors import StoreDamaged, UnknownEpisode
from prowess.storage.events import Event, MemoryDeleted, MemorySaved
from prowess.storage.models import EpisodeFilter, Memory, Reward, Trajectory, Trust, format_time

if TYPE_CHECKING:
    from prowess.tools.context import Context

__all__ = ["Learned", "Look", "is_believed", "learned", "looked", "mark_of", "remembered"]

LOOKED_AT = 500  # episodes in one reflection, the newest: what a larger import teaches beyond, its patterns tell
QUOTED = 30  # episodes whose raw steps are read for how errors were worded
_KINDS = ("lesson", "warning", "constraint")


class Look(msgspec.Struct, frozen=True):
    """What ``episodes`` teach that were closed, or changed after it, between the events ``after`` and ``upto``."""

    after: int = 0
    upto: int = 0
    episodes: int = 0
    taught: tuple[Memory, ...] = ()


class Learned(msgspec.Struct, frozen=True):
    """``saved`` are memories that changed, ``new`` of them in their words, ``dropped`` the ids of those too many."""

    saved: tuple[Memory, ...] = ()
    dropped: tuple[str, ...] = ()
    new: int = 0
    upto: int = 0

    def without(self, gone: Collection[str]) -> Learned:
        """The same without those memories, none of which was stored."""
        saved = tuple(memory for memory in self.saved if memory.id not in gone)
        return replace(self, saved=saved, new=self.new - len(self.saved) + len(saved))

    def events(self, at: str) -> list[Event]:
        """What the journal keeps of it."""
        gone = [MemoryDeleted(memory_id=key, at=at) for key in self.dropped]
        return [*(MemorySaved(memory=memory) for memory in self.saved), *gone]


async def remembered(project: str, ctx: Context) -> Sequence[Memory]:
    """The lessons and warnings that the project has, or all projects, the newest first; without one those of each."""
    return await ctx.store.memories(project=project or None, kinds=_KINDS)


async def looked(project: str, ctx: Context) -> Look:
    """What became of the project's episodes since the last reflection."""
    upto = ctx.store.head  # before the look: what changes meanwhile is looked at again
    after = await ctx.store.mark(mark_of(project))
    changed = EpisodeFilter(project=project, closed=True, trusted=True, after=after)
    # Summaries, as mining has them: so both call the same things by the same names.
    past = await ctx.store.outlines(await ctx.store.episodes(changed, limit=LOOKED_AT))
    taught = await anyio.to_thread.run_sync(_taught, past, ctx.origin.trust) if past else ()
    taught = await _quoted(taught, ctx)
    return Look(after, upto, len(past), taught)


def _taught(past: Sequence[tuple[Trajectory, Sequence[Reward]]], trust: Trust) -> tuple[Memory, ...]:
    """What each teaches, the earlier work before the later."""
    now, memories = format_time(datetime.now(UTC)), list[Memory]()
    done = [(done_at(one, one.episode.closed_at or now), one, rewards) for one, rewards in past]
    for at, one, rewards in sorted(done, key=lambda each: (each[0], each[1].episode.id)):
        reasons = [reward.reason for reward in rewards if reward.step is None]
        memories += lessons_of(one, reasons, at=at, trust=trust)
    return tuple(memories)


async def _quoted(taught: tuple[Memory, ...], ctx: Context) -> tuple[Memory, ...]:
    """With errors as they were told, of the newest episodes: a summary leaves names and numbers out."""
    bare = [each.episode_id for each in taught if each.episode_id and "<" in error_in(each.text)]
    for key in list(dict.fromkeys(reversed(bare)))[:QUOTED]:  # one by one: a long episode takes some megabytes
        try:
            (raw,) = await ctx.store.trajectories([key])
        except (UnknownEpisode, StoreDamaged):
            continue  # forgotten meanwhile, or it cannot be read: the summary's words are true as well
        taught = await anyio.to_thread.run_sync(_as_told, taught, raw)
    return taught


def _as_told(taught: tuple[Memory, ...], raw: Trajectory) -> tuple[Memory, ...]:
    return tuple(quoting(each, raw) if each.episode_id == raw.episode.id else each for each in taught)


async def learned(
    patterns: Sequence[Memory], look: Look, known: Sequence[Memory], project: str, ctx: Context
) -> Learned:
    """What to save and drop, given the memories of ``patterns`` that say something new and the project's ``known``."""
    if await ctx.store.mark(mark_of(project)) != look.after:
        look = await looked(project, ctx)  # another reflection has learned from these meanwhile
    if not look.episodes and not patterns:
        return Learned()
    homes = sorted({memory.project for memory in patterns} | {project}) if not project else [project]
    parts = [
        await anyio.to_thread.run_sync(
            _decided,
            {memory.id: memory for memory in known if memory.project == home},
            [memory for memory in patterns if memory.project == home],
            look if home == project else Look(),
            ctx.memory_cap,
        )
        for home in homes
    ]
    return Learned(
        tuple(memory for part in parts for memory in part.saved),
        tuple(key for part in parts for key in part.dropped),
        sum(part.new for part in parts),
        look.upto,
    )


def _decided(mine: dict[str, Memory], patterns: Sequence[Memory], look: Look, most: int) -> Learned:
    held = {key: memory for key, memory in mine.items() if is_believed(memory)}
    coming = _coming(held, look.taught)
    before, held = held, {key: _not_twice(memory, coming[key]) for key, memory in held.items()}
    seen = _last_seen([*held.values(), *look.taught])
    base = held | {
        one.id: replace(_with_evidence(one, held.get(one.id), coming[one.id]), at=seen.get(one.id, one.at))
        for one in patterns
    }
    after = merged(base.values(), look.taught)
    gone = set(beyond(mine | after, most))
    saved = tuple(memory for key, memory in after.items() if key not in gone and before.get(key) != memory)
    new = sum(memory.id not in before or before[memory.id].text != memory.text for memory in saved)
    return Learned(saved, tuple(sorted(gone & mine.keys())), new, look.upto)


def _last_seen(memories: Iterable[Memory]) -> dict[str, str]:
    """When each was last borne out, by id: a pattern is found now, of what was done before."""
    seen: dict[str, str] = {}
    for memory in memories:
        if memory.support:
            seen[memory.id] = max(memory.at, seen.get(memory.id, ""))
    return seen


def is_believed(memory: Memory) -> bool:
    """Whether what is learned here may go on from it: with a stranger's words it would tell them as its own."""
    return memory.trust != "untrusted"


def _coming(held: Mapping[str, Memory], taught: Sequence[Memory]) -> Counter[str]:
    """How many episodes will bear a memory out anew, by its id: a pattern counts them already."""
    known = {key: {mark[1:] for mark in memory.evidence} for key, memory in held.items()}
    return Counter(
        memory.id
        for memory in taught
        if memory.support and not {mark[1:] for mark in memory.evidence} <= known.get(memory.id, set())
    )


def _not_twice(memory: Memory, coming: int) -> Memory:
    """Without as many of the episodes that are to bear it out now as a pattern may have counted already: of these there
    is no evidence. Where the evidence is full the count is kept, and a rule that has none is a person's own.
    """
    if memory.kind == "constraint" or len(memory.evidence) >= MARKS:
        return memory
    untold = memory.support - sum(mark.startswith("+") for mark in memory.evidence)
    return replace(memory, support=memory.support - min(coming, max(0, untold)))


def _with_evidence(memory: Memory, known: Memory | None, coming: int) -> Memory:
    """A pattern's memory with what episodes said of it before, and with the example that one gave."""
    support = memory.support - coming
    if known is None:
        return replace(memory, support=support)
    whole = replace(
        memory,
        text=reworded(memory, known),
        episode_id=known.episode_id,
        support=max(support, known.support),
        against=known.against,
        evidence=known.evidence,
    )
    return replace(whole, importance=max(memory.importance, utility(whole)))  # as it was when they joined it


def mark_of(project: str) -> str:
    """The name of the mark that says up to which event the project's episodes were looked at."""
    return f"lessons:{project}"
