"""An agent's own calls on a task that hooks record go to the episode of the hooks, and what both told is one step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from prowess.server.capture.sessions import ClientSession, Sessions
from prowess.storage.errors import InvalidInput
from prowess.storage.events import Event, ExposureMade
from prowess.storage.models import NewReward, NewStep, NewUse, Origin, Receipt, Scored, Tracked, Where

if TYPE_CHECKING:
    from prowess.storage.models import Episode
    from prowess.storage.store import Store

__all__ = ["BoundStore"]


class BoundStore:
    """A store in which a task's names mean the episode that hooks record: its own id, that of its session, and
    whatever the agent called it in a call that a hook saw."""

    def __init__(self, store: Store, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def _session(self, where: Where) -> ClientSession | None:
        for session in self._sessions:
            if where.task_id in (session.alias, session.task_id):
                return session
            if where.task_id in session.bound and session.project == where.project:
                return None if await self._is_elsewhere(where) else session
        return None

    async def _is_elsewhere(self, where: Where) -> bool:
        """Whether its agent, which names no project now, tracks a task of this name in another project."""
        if not where.assumed:
            return False
        episode = await self._store.find_episode(where)
        return episode is not None and episode.project != where.project

    async def track(
        self,
        where: Where,
        steps: Sequence[NewStep],
        *,
        origin: Origin,
        key: str | None = None,
        late: bool = False,
    ) -> Tracked:
        """As the store's; what a hook told already is a duplicate."""
        session = await self._session(where)
        if session is None:
            return await self._store.track(where, steps, origin=origin, key=key, late=late)
        origin = replace(origin, client=session.client, session=session.id)
        steps = [replace(step, number=None) for step in steps]  # hooks number them
        async with self._sessions.turn(session):
            return await self._track(session, where, steps, origin, key)

    async def _track(
        self, session: ClientSession, where: Where, steps: Sequence[NewStep], origin: Origin, key: str | None
    ) -> Tracked:
        meant, recorded = _meant(session, where), self._sessions.recorded(session)
        there = await recorded.catch_up(meant, self._store)
        known = recorded.calls.known(steps)
        if key is not None and any(known) and await self._store.tracked(key):
            with suppress(InvalidInput):  # a hook told of some in between; if of others before, there is no such answer
                return await self._store.track(meant, steps, origin=origin, key=key, late=True)
        if there and None not in known:
            numbers = tuple(number for number in known if number is not None)
            return Tracked(seq=self._store.head, episode_id=recorded.episode, numbers=numbers, duplicates=numbers)
        fresh = [step for step, number in zip(steps, known, strict=True) if number is None]
        self._sessions.agent_told(session)
        return _merged(known, await self._store.track(meant, fresh, origin=origin, key=key, late=True))

    async def score(
        self,
        where: Where,
        rewards: Sequence[NewReward],
        *,
        uses: Sequence[NewUse] = (),
        final: bool = False,
        origin: Origin,
        key: str | None = None,
    ) -> Scored:
        """As the store's, but hooks close what they record: more of the task may follow."""
        session = await self._session(where)
        if session is None:
            return await self._store.score(where, rewards, uses=uses, final=final, origin=origin, key=key)
        meant = _meant(session, where)
        if rewards or uses:
            return await self._store.score(meant, rewards, uses=uses, origin=origin, key=key)
        episode = await self._store.find_episode(meant)
        if episode is None:
            return await self._store.score(meant, rewards, final=final, origin=origin, key=key)  # tells what is wrong
        return await self._as_it_is(episode)

    async def _as_it_is(self, episode: Episode) -> Scored:
        return Scored(
            seq=self._store.head,
            episode_id=episode.id,
            reward=episode.reward,
            outcome=episode.outcome,
            rewards=await self._store.rewards(episode.id),
            closed=bool(episode.closed_at),
        )

    async def find_episode(self, where: Where) -> Episode | None:
        """As the store's."""
        session = await self._session(where)
        return await self._store.find_episode(where if session is None else _meant(session, where))

    async def append(
        self,
        events: Sequence[Event],
        *,
        origin: Origin,
        key: str | None = None,
        mark: tuple[str, int] | None = None,
    ) -> Receipt:
        """As the store's; exposures are those of the task that is recorded."""
        placed = [await self._placed(event) for event in events]
        return await self._store.append(placed, origin=origin, key=key, mark=mark)

    async def _placed(self, event: Event) -> Event:
        if not isinstance(event, ExposureMade) or not event.exposure.task_id:
            return event
        session = await self._session(Where(task_id=event.exposure.task_id, project=event.exposure.project))
        if session is None:
            return event
        return ExposureMade(exposure=msgspec.structs.replace(event.exposure, task_id=session.task_id))


def _meant(session: ClientSession, where: Where) -> Where:
    """Where hooks record; what the agent says of the task is no prompt's, also once the words of that are forgotten."""
    typed = not session.task_id.endswith(":start")
    return replace(session.where(), task=session.task if typed else session.task or where.task)


def _merged(known: Sequence[int | None], tracked: Tracked) -> Tracked:
    fresh = iter(tracked.numbers)
    numbers = tuple(next(fresh) if number is None else number for number in known)
    again = (*(number for number in known if number is not None), *tracked.duplicates)
    return replace(tracked, numbers=numbers, duplicates=tuple(sorted(again)))
