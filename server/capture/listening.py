"""What a person typed in a project, as hooks and transcripts have it: what an agent quotes as a rule is looked up here.

An agent's own words, and those of a page that it read, are nowhere in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess.learning.memories.quoted_rules import quoted
from prowess.learning.memories.recorded import done_at, is_recorded
from prowess.server.origins import now
from prowess.storage.models import EpisodeFilter
from prowess.tools.context import Heard

if TYPE_CHECKING:
    from prowess.server.capture.sessions import ClientSession, Sessions
    from prowess.storage.models import Episode
    from prowess.storage.store import Store

__all__ = ["Listening"]

EPISODES = 50  # the newest of the project that are looked through: the quote is mostly of the task at work


class Listening:
    """Over the prompts of tasks at work, which may have no step yet, and those of the project's newest episodes."""

    def __init__(self, sessions: Sessions, store: Store) -> None:
        self._sessions = sessions
        self._store = store

    async def heard(self, words: str, project: str) -> Heard | None:
        """See ``Listener``."""
        for session in self._sessions:
            if session.project == project and (found := await self._at_work(words, session)):
                return found
        wanted = EpisodeFilter(project=project, trusted=True)
        for episode in await self._store.episodes(wanted, limit=EPISODES):
            if episode.project == project and (found := await self._done(words, episode)):
                return found
        return None

    async def _at_work(self, words: str, session: ClientSession) -> Heard | None:
        for one in reversed(session.happenings):
            if one.kind == "prompt" and not one.command and (rule := quoted(words, one.text)):
                episode = await self._store.find_episode(session.where())
                return Heard(rule, one.at or now(), episode.id if episode else "")
        return None

    async def _done(self, words: str, episode: Episode) -> Heard | None:
        rules = (quoted(words, said) for said in reversed(episode.task.split("\n\n")))
        if not (rule := next(filter(None, rules), "")):
            return None
        ((trajectory, _),) = await self._store.outlines([episode])
        if not is_recorded(trajectory):
            return None
        return Heard(rule, done_at(trajectory, episode.closed_at or now()), episode.id)
