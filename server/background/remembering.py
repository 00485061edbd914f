"""Memory skills at work: adopt what a training run made, and apply what is in use to each finished episode.

What is in use is decided by an event (``controller.adopted``); until there is one, nothing is done here, and memories
come from the rules of ``reflect`` alone. docs/memories.md tells the rules.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from prowess.learning.memories.lessons import beyond, stable_id
from prowess.server.origins import background, now
from prowess.storage.errors import InvalidInput, StoreDamaged, UnknownEpisode
from prowess.storage.events import ControllerAdopted, Event, MemoryDeleted, MemorySaved
from prowess.storage.models import EpisodeFilter, Memory
from prowess.tools.remembering import is_believed

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from prowess.learning.memskill import Bank, Change, Controller, Kept, Limits, Remembered, Vectors
    from prowess.providers.embedding import Embedder
    from prowess.server.runtime import Runtime
    from prowess.server.trainer.runs import Run
    from prowess.storage.models import Adopted, Episode, Trajectory

__all__ = ["MARK", "Remembering"]

MARK = "remembered"
MISSED = "unremembered"  # the mark of a place: from which event on its episodes wait for files that can be used
AT_ONCE = 50  # episodes of one chore; the next look does more
LOOKED_AT = 200  # of those that finished before anything was adopted, the newest
KEPT_SHARE = 0.4  # of a project's memories that memory skills may make; the others come from rules and patterns
TOKENS_EACH = 40  # on average, of what memory skills keep
LEAST_RISE = 0.01  # of a memory's importance; less is not worth an event
EMBEDDED_AT_ONCE = 16  # a query that comes between waits for so many texts
MODEL_SECONDS = 60.0  # for the embedding model, which loads when the server starts

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _InUse:
    """Bank and controller of an adoption, with the vectors that they were made for."""

    bank: Bank
    controller: Controller | None
    vectors: Vectors
    embedding: str


class Remembering:
    """See the module. One episode is one commit, so that being cut short loses nothing."""

    name = "remembering"

    def __init__(self) -> None:
        self._looked = -1
        self._waiting = False
        self._considered = -1
        self._stuck = -1
        self._vectors: dict[str, Vectors] = {}

    async def due(self, runtime: Runtime) -> bool:
        """Whether a run has ended, or an episode was finished, since the last time."""
        return self._run_has_ended(runtime) or await self._has_episodes(runtime)

    def _run_has_ended(self, runtime: Runtime) -> bool:
        return runtime.trainer is not None and runtime.trainer.concluded != self._considered

    async def _has_episodes(self, runtime: Runtime) -> bool:
        if runtime.store.head != self._looked:
            self._looked = runtime.store.head
            adopted = await runtime.store.adopted()
            self._waiting = bool(adopted) and (
                bool(await _finished(runtime, 1)) or await self._misses(adopted, runtime)
            )
        return self._waiting

    async def _misses(self, adopted: Sequence[Adopted], runtime: Runtime) -> bool:
        """Whether episodes wait for files that could not be used, and something has happened since that was found."""
        if self._stuck == runtime.store.head:
            return False
        return any([await runtime.store.mark(_missed(each.project)) for each in adopted])

    async def work(self, runtime: Runtime) -> None:
        """Decide about runs that ended, then remember episodes, the oldest first."""
        if runtime.trainer is not None and self._run_has_ended(runtime):
            concluded = runtime.trainer.concluded
            for run in await runtime.trainer.undecided():
                await runtime.trainer.decide(run, await _judged(run, runtime))
            self._considered = concluded
        self._looked = -1
        adopted = {each.project: each for each in await runtime.store.adopted()}
        if adopted:
            await self._remember_all(adopted, runtime)

    async def _remember_all(self, adopted: Mapping[str, Adopted], runtime: Runtime) -> None:
        ready: dict[str, _InUse | None] = {}

        async def using(place: str) -> _InUse | None:
            if place not in ready:
                ready[place] = await self._made_ready(adopted[place], runtime)
            return ready[place]

        for place in adopted:
            if (first := await runtime.store.mark(_missed(place))) and (found := await using(place)) is not None:
                await _make_up(place, first, adopted, found, runtime)
        for episode in (await _finished(runtime, LOOKED_AT))[:AT_ONCE]:
            place = _place(episode, adopted)
            if place in adopted:
                await _remember_or_miss(episode, place, await using(place), runtime)
            await runtime.store.set_mark(MARK, episode.updated_seq)
        if None in ready.values():
            self._stuck = runtime.store.head

    async def _made_ready(self, adopted: Adopted, runtime: Runtime) -> _InUse | None:
        await runtime.index.settled(MODEL_SECONDS)
        embedder, home = runtime.index.embedder, runtime.settings.home
        try:
            return await anyio.to_thread.run_sync(self._loaded, adopted, embedder, home)
        except (StoreDamaged, InvalidInput) as error:
            _log.warning("memory skills are not applied: %s", error.explain())
            return None

    def _loaded(self, adopted: Adopted, embedder: Embedder | None, home: Path) -> _InUse:
        from prowess.learning.memskill import HASHED, Cached, hashed
        from prowess.server.memskill_files import load_bank, load_controller

        bank = load_bank(home, adopted.bank)
        controller = load_controller(home, adopted.weights) if adopted.weights else None
        ours = embedder.name if embedder is not None else HASHED
        wanted = controller.manifest.embedding if controller is not None else ours
        if wanted not in (ours, HASHED):
            raise InvalidInput(
                f"the controller knows the vectors of {wanted!r}, and the model here is {ours!r}",
                hint="train again, or set the embedding model back",
            )
        if wanted not in self._vectors:
            made = hashed if wanted == HASHED or embedder is None else partial(_in_slices, embedder)
            self._vectors[wanted] = Cached(made)
        return _InUse(bank, controller, self._vectors[wanted], wanted)


def _in_slices(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    import numpy as np

    parts = [embedder.embed(texts[at : at + EMBEDDED_AT_ONCE]) for at in range(0, len(texts), EMBEDDED_AT_ONCE)]
    return np.concatenate(parts) if parts else embedder.embed([])


async def _finished(runtime: Runtime, limit: int) -> list[Episode]:
    """Episodes that were closed, or changed after that, since the mark; the oldest change first."""
    wanted = EpisodeFilter(closed=True, trusted=True, after=await runtime.store.mark(MARK))
    return sorted(await runtime.store.episodes(wanted, limit=limit), key=lambda episode: episode.updated_seq)


def _place(episode: Episode, adopted: Mapping[str, Adopted]) -> str:
    """Whose memory skills are for the episode: its project's own, else those of all projects."""
    return episode.project if episode.project in adopted else ""


def _missed(place: str) -> str:
    return f"{MISSED}:{place}"


async def _make_up(place: str, first: int, adopted: Mapping[str, Adopted], using: _InUse, runtime: Runtime) -> None:
    """Remember what finished from the event ``first`` on, while the files of ``place`` could not be used."""
    upto = await runtime.store.mark(MARK)
    wanted = EpisodeFilter(closed=True, trusted=True, after=first - 1, project=place or None)
    found = await runtime.store.episodes(wanted, limit=LOOKED_AT)
    theirs = [each for each in found if each.updated_seq <= upto and _place(each, adopted) == place]
    for episode in sorted(theirs, key=lambda each: each.updated_seq):
        await _remember(episode, using, runtime)
        await runtime.store.set_mark(_missed(place), episode.updated_seq + 1)
    await runtime.store.set_mark(_missed(place), 0)


# ---- one episode


async def _remember_or_miss(episode: Episode, place: str, using: _InUse | None, runtime: Runtime) -> None:
    if using is not None:
        await _remember(episode, using, runtime)
    elif not await runtime.store.mark(_missed(place)):
        await runtime.store.set_mark(_missed(place), episode.updated_seq)


async def _remember(episode: Episode, using: _InUse, runtime: Runtime) -> None:
    """Apply the memory skills; what that changes is one commit."""
    try:
        (trajectory,) = await runtime.store.trajectories([episode.id])
    except UnknownEpisode:
        return  # forgotten just now
    if not trajectory.whole:
        return  # where its steps are, it is remembered
    own = [each for each in await runtime.store.memories(project=episode.project) if each.project == episode.project]
    cap = runtime.settings.memory_cap
    events = await anyio.to_thread.run_sync(_changed, trajectory, own, using, cap, abandon_on_cancel=True)
    if events:
        origin = background(runtime.machine)
        with anyio.CancelScope(shield=True):
            await runtime.store.append(events, origin=origin)
        await runtime.index.refresh(wait=False)


def _changed(trajectory: Trajectory, own: Sequence[Memory], using: _InUse, cap: int) -> list[Event]:
    """What an episode changes in its project's memories, as events; ``own`` are the newest first."""
    from prowess.learning.memskill import remember

    live = [each for each in own if each.made_by and each.superseded_by is None and is_believed(each)]
    ours = {memory.id: memory for memory in reversed(live)}
    done = remember(
        trajectory,
        [_kept(memory) for memory in ours.values()],
        using.vectors,
        bank=using.bank,
        controller=using.controller,
        embedding=using.embedding,
        limits=_limits(cap),
    )
    return _events(done, ours, own, trajectory.episode, cap)


def _kept(memory: Memory) -> Kept:
    from prowess.learning.memskill import Kept

    return Kept(key=memory.id, text=memory.text, importance=memory.importance)


def _limits(cap: int) -> Limits:
    from prowess.learning.memskill import Limits

    items = max(round(KEPT_SHARE * cap), 1)
    return Limits(items=items, tokens=TOKENS_EACH * items)


def _events(
    done: Remembered, ours: Mapping[str, Memory], own: Sequence[Memory], episode: Episode, cap: int
) -> list[Event]:
    at = episode.closed_at or now()
    saved: dict[str, Memory] = {}
    for change in done.changes:
        for memory in _memories(change, ours, episode, at) or _strengthened(change, ours, episode):
            saved[memory.id] = memory
    held = {memory.id: memory for memory in own}
    after = {key: memory for key, memory in {**held, **saved}.items() if key not in done.removed}
    live = {key: memory for key, memory in after.items() if memory.made_by and memory.superseded_by is None}
    # What was joined stands beside, so there may be more of them than the skills counted.
    gone = {*beyond(after, cap), *beyond(live, _limits(cap).items)}
    dropped = sorted((gone | set(done.removed)) & held.keys())
    fresh = [memory for key, memory in saved.items() if key not in gone and held.get(key) != memory]
    return [*(MemorySaved(memory=memory) for memory in fresh), *(MemoryDeleted(memory_id=k, at=at) for k in dropped)]


def _memories(change: Change, ours: Mapping[str, Memory], episode: Episode, at: str) -> list[Memory]:
    """A change as memories. None holds words of two episodes, so that forgetting one takes all of its words with it:
    what was joined to a memory stands beside it under the same subject, and what replaces one supersedes it.
    """
    old = ours.get(change.key) if change.key else None
    joined = old is not None and change.text.startswith(old.text)
    text = change.text[len(old.text) :].strip() if old is not None and joined else change.text
    if not text:
        return []
    key = stable_id("memory skill", episode.project, episode.id, text)
    new = Memory(
        id=key,
        kind=change.kind,
        text=text,
        at=at,
        project=episode.project,
        episode_id=episode.id,
        importance=round(change.importance, 4),
        subject=(old.subject or f"memory | {old.id}") if old is not None else f"memory | {key}",
        made_by=change.skills,
    )
    return [new] if old is None or joined else [new, _superseded(old, key)]


def _strengthened(change: Change, ours: Mapping[str, Memory], episode: Episode) -> list[Memory]:
    """A memory that is more important now, since the same came again in this episode, which counts once."""
    from msgspec.structs import replace

    from prowess.learning.memories.joining import MARKS
    from prowess.learning.memories.lessons import mark_of

    old, mark = ours.get(change.key) if change.key else None, f"+{mark_of(episode.id)}"
    if old is None or episode.id == old.episode_id or mark in old.evidence:
        return []
    if change.importance < old.importance + LEAST_RISE:
        return []
    importance, evidence = round(change.importance, 4), (*old.evidence, mark)[-MARKS:]
    return [replace(old, importance=importance, support=old.support + 1, evidence=evidence)]


def _superseded(old: Memory, by: str) -> Memory:
    from msgspec.structs import replace

    return replace(old, superseded_by=by)


# ---- what a training run made


async def _judged(run: Run, runtime: Runtime) -> str:
    """Adopt what the run made if it did better on held-back episodes than what is in use; how that was decided."""
    result = run.result or {}
    if _told(result, "reward") is None or not isinstance(result.get("best"), str):
        return "not adopted: it tells no result"
    adopted = {each.project: each for each in await runtime.store.adopted()}
    try:
        return await _compared(run, result, adopted.get(run.project) or adopted.get(""), runtime)
    except (StoreDamaged, InvalidInput) as error:
        return f"not adopted: {error.explain()}"


def _told(result: Mapping[str, Any], name: str) -> float | None:
    value = result.get(name)
    return float(value) if isinstance(value, float | int) else None


def _in_use(run: Run, result: Mapping[str, Any], current: Adopted, embedding: str) -> tuple[float, float] | None:
    """The reward of what is in use, and the standard error of the gain over it; None where they cannot be compared.

    The trainer measured it on the queries that its result was measured on. Where something else was adopted since,
    there is only what that one's own run told.
    """
    reward = _told(result, "reward_in_use")
    if reward is not None and result.get("in_use_sha256") == current.weights:
        return reward, _told(result, "in_use_error") or 0.0
    if current.reward is None or (current.project, current.embedding) != (run.project, embedding):
        return None
    return None if current.run_id == run.id else (current.reward, 0.0)  # it was adopted, and that was not noted yet


async def _compared(run: Run, result: Mapping[str, Any], current: Adopted | None, runtime: Runtime) -> str:
    """A gain within its standard error is none: the best of many evaluations is a little better by chance."""
    from prowess.learning.memskill import Controller
    from prowess.server.memskill_files import keep_bank, keep_controller, read_export

    reward, before = _told(result, "reward") or 0.0, _told(result, "reward_before") or 0.0
    if reward - before <= (_told(result, "before_error") or 0.0):
        return f"not adopted: {reward:.4f} on held-back episodes is no better than {before:.4f} without training"
    assert runtime.trainer is not None
    folder = runtime.trainer.folder_of(run.id).best(str(result["best"]))
    weights, manifest, bank = await anyio.to_thread.run_sync(read_export, folder)
    embedding = Controller.from_files(weights, manifest).manifest.embedding
    in_use = _in_use(run, result, current, embedding) if current is not None else None
    if in_use is not None and reward - in_use[0] <= in_use[1]:
        return f"not adopted: {reward:.4f} on held-back episodes is no better than the {in_use[0]:.4f} in use"
    home = runtime.settings.home
    bank, told = await _with_edits(bank, run.project, runtime)
    event = ControllerAdopted(
        project=run.project,
        at=now(),
        bank=await anyio.to_thread.run_sync(keep_bank, home, bank),
        weights=await anyio.to_thread.run_sync(keep_controller, home, weights, manifest),
        run_id=run.id,
        embedding=embedding,
        reward=reward,
        before=before,
        skills=tuple(skill.name for skill in bank.skills),
        reason=f"better on held-back episodes{told}",
    )
    origin = background(runtime.machine)
    await runtime.store.append([event], origin=origin, key=f"adopt {run.id}")
    return f"adopted: {reward:.4f} on held-back episodes, {before:.4f} without training{told}"


async def _with_edits(bank: Bank, project: str, runtime: Runtime) -> tuple[Bank, str]:
    """The bank with all that a person did to the one in use, also since the run began, and a note of that."""
    from prowess.server.memskill_files import load_bank

    adopted = {each.project: each.bank for each in await runtime.store.adopted()}
    used = adopted.get(project) or adopted.get("")
    if not used:
        return bank, ""
    try:
        before = await anyio.to_thread.run_sync(load_bank, runtime.settings.home, used)
    except StoreDamaged:
        return bank, "; what a person may have edited before could not be read"
    names = ", ".join(before.by_hand)
    return bank.keeping(before), f"; as a person left it: {names}" if names else ""
