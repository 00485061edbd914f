"""Transcripts into the store.

A step's identity is that of its tool call, so that what a hook told already is not stored again. An import can be
repeated at any time: what is stored is recognised, what came since is added.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.to_thread
from msgspec.structs import replace as changed

from prowess.learning.redaction.masking import mask
from prowess.server.transcripts.episodes import PastEpisode, episodes_of
from prowess.server.transcripts.evidence import news
from prowess.server.transcripts.model import Notes, Session, Source
from prowess.server.transcripts.recognising import Calls
from prowess.storage.errors import InvalidInput, UnknownEpisode
from prowess.storage.models import NewStep, Origin, Reward, Where
from prowess.storage.scoring import combine, outcome_of
from prowess.tools.context import Context
from prowess.tools.text import cut

__all__ = ["Client", "ImportedTask", "ImportedTranscripts", "import_sessions", "preview"]

_TOGETHER = 8  # episodes on their way at once share their commits
_BATCH = 500  # steps of one call
_MAX_TOLD = 200  # characters of a task in the report


class Client(Protocol):
    """A module that reads one client's transcripts."""

    CLIENT: str

    def find(self, path: Path) -> list[Source]:
        """The sessions below ``path``, or of one file."""
        ...

    def read(self, source: Source, notes: Notes, seen: set[int]) -> Session:
        """One session; ``seen`` is shared by all that are read together."""
        ...


Report = Callable[[int], None]  # told how many bytes have been read


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """One episode: ``stored`` of its ``steps`` are new, ``failures`` of them failed."""

    session: str
    project: str
    task: str
    steps: int
    stored: int
    failures: int
    outcome: str
    evidence: dict[str, Any]


@dataclass(slots=True)
class ImportedTranscripts:
    """What became of the transcripts. ``known`` episodes had nothing new."""

    sessions: int = 0
    episodes: int = 0
    steps: int = 0
    known: int = 0
    failures: int = 0
    tasks: list[ImportedTask] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)

    def add(self, episode: PastEpisode, stored: int) -> None:
        told = _told(episode, stored)
        self.tasks.append(told)
        self.episodes += bool(stored)
        self.known += not stored
        self.steps += stored
        self.failures += told.failures

    def as_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in ("sessions", "episodes", "steps", "known", "failures")}
        outcomes = [task.outcome for task in self.tasks]
        return {
            **told,
            "outcomes": {name: outcomes.count(name) for name in ("success", "failure", "unknown")},
            "broken_lines": self.notes.broken_lines,
            "broken": [asdict(broken) for broken in self.notes.broken],
            "unknown_records": dict(self.notes.unknown),
            "tasks": [asdict(task) for task in self.tasks],
        }


async def import_sessions(
    client: Client, path: Path, ctx: Context, *, project: str = "", report: Report = lambda _: None
) -> ImportedTranscripts:
    """Store every session of ``client`` below ``path``.

    Raises ``StoreError`` in a group where the store fails; then run it again to go on.
    """
    result = ImportedTranscripts()
    async for source, episodes in _read(client, path, project or ctx.project, result, report):
        gate = anyio.Semaphore(_TOGETHER)
        async with anyio.create_task_group() as tasks:
            for episode in episodes:
                tasks.start_soon(_import, episode, client.CLIENT, source, ctx, gate, result)
    return result


async def preview(client: Client, path: Path, *, project: str = "") -> ImportedTranscripts:
    """What an import would find; stores nothing and asks no store."""
    result = ImportedTranscripts()
    async for _, episodes in _read(client, path, project, result, lambda _: None):
        for episode in episodes:
            result.add(episode, len(episode.steps))
    return result


async def _read(
    client: Client, path: Path, project: str, result: ImportedTranscripts, report: Report
) -> AsyncIterator[tuple[Source, list[PastEpisode]]]:
    """Session by session: no more than one of them is in memory."""
    seen: set[int] = set()
    done = 0
    for source in await anyio.to_thread.run_sync(client.find, path):
        yield source, await anyio.to_thread.run_sync(_episodes, client, source, project, result.notes, seen)
        result.sessions += 1
        done += source.size
        report(done)


def _episodes(client: Client, source: Source, project: str, notes: Notes, seen: set[int]) -> list[PastEpisode]:
    return episodes_of(client.read(source, notes, seen), project=project, now=datetime.now(UTC))


def _told(episode: PastEpisode, stored: int) -> ImportedTask:
    worth = combine(
        Reward(id="", episode_id="", at="", value=reward.value, source=reward.source) for reward in episode.rewards
    )
    return ImportedTask(
        session=episode.where.session,
        project=episode.where.project,
        task=cut(mask(episode.where.task), _MAX_TOLD),
        steps=len(episode.steps),
        stored=stored,
        failures=sum(step.outcome == "failure" for step in episode.steps),
        outcome=outcome_of(worth),
        evidence=dict(episode.evidence),
    )


async def _import(
    episode: PastEpisode, client: str, source: Source, ctx: Context, gate: anyio.Semaphore, result: ImportedTranscripts
) -> None:
    async with gate:
        # Hooks tell the same client and session, which makes their steps and ours the same ones.
        origin = changed(ctx.origin, client=client, session=episode.where.session)
        try:
            result.add(episode, await _store(episode, ctx, origin))
        except InvalidInput as error:
            result.notes.leave_out(source.files[0], 0, f"{episode.where.task_id}: {error}")


async def _store(episode: PastEpisode, ctx: Context, origin: Origin) -> int:
    """Store what is not stored yet; how many steps that were."""
    where, steps, stored = episode.where, await _missing(episode, ctx, origin), 0
    if steps:
        first = await ctx.store.track(where, steps[:1], origin=origin, late=True)
        stored = len(first.numbers) - len(first.duplicates)
        if first.duplicates:
            try:
                where = await _where_it_is(where, first.episode_id, ctx)
            except UnknownEpisode:
                return stored  # the task was forgotten, and stays so
    for start in range(1, len(steps), _BATCH):
        tracked = await ctx.store.track(where, steps[start : start + _BATCH], origin=origin, late=True)
        stored += len(tracked.numbers) - len(tracked.duplicates)
    if where == episode.where:
        await _score(episode, ctx, origin)
    return stored


async def _missing(episode: PastEpisode, ctx: Context, origin: Origin) -> list[NewStep]:
    """The steps that an earlier import left no trace of; a look at those spares masking and sending them again."""
    known = await ctx.store.find_episode(episode.where)
    if known is None or known.session != episode.where.session:
        return list(episode.steps)
    told = {step.external_id for step in await ctx.store.summaries(known.id)}
    missing = [step for step in episode.steps if step.external_id not in told]
    if missing and None in told:
        calls = Calls()
        for step in await ctx.store.steps(known.id):
            calls.add(step)
        await calls.recognise(known.id, missing, ctx.store, origin)
    return missing


async def _where_it_is(where: Where, episode_id: str, ctx: Context) -> Where:
    """Where a hook filed the task: what it missed belongs there, and the hook has scored it."""
    found = await ctx.store.episode(episode_id)
    if found.task_id == where.task_id:
        return where
    return Where(task_id=found.task_id, project=found.project, session=found.session, agent=found.agent)


async def _score(episode: PastEpisode, ctx: Context, origin: Origin) -> None:
    """Tell what is new of the evidence, and close what is over."""
    found = await ctx.store.find_episode(episode.where)
    if found is None:
        return
    told = {reward.source: reward.value for reward in await ctx.store.rewards(found.id) if reward.step is None}
    fresh = news(episode.evidence, told, final=episode.final)
    final = episode.final and not found.closed_at
    if fresh or final:
        await ctx.store.score(episode.where, fresh, final=final, origin=origin)
