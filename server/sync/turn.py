"""Whose turn it is to send a backlog.

A libSQL database has one writer. Machines that send at every moment keep each other waiting inside the server until
some give up, so of those who have much to send one goes on at a time. It is politeness and not a lock: who sends little
does not ask, a turn that nobody prolongs ends by itself, and two at once do no harm but that they are slow.
"""

from __future__ import annotations

from uuid import uuid4

import anyio

from prowess.server.sync.database import Database
from prowess.server.sync.hrana import Statement

__all__ = ["Turn"]

SECONDS = 10.0  # that one machine goes on while others wait
PROLONG_SECONDS = 5.0
LEASE_SECONDS = 30  # by the remote's clock, after which a turn that was not prolonged is over

# The value is the holder's name and until when, in seconds. What lasts too long was written when the clock was wrong.
_FREE = (
    "(substr(value, 1, 32) = ? OR CAST(substr(value, 34) AS INTEGER) - CAST(strftime('%s', 'now') AS INTEGER)"
    " NOT BETWEEN 1 AND ?)"
)
_TAKEN = "SELECT 1 FROM prowess_meta WHERE key = 'turn' AND NOT " + _FREE  # noqa: S608 - constants
_SET = (
    "INSERT INTO prowess_meta (key, value) VALUES ('turn', ? || ' ' || (CAST(strftime('%s', 'now') AS INTEGER) + ?))"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_TAKE = f"{_SET} WHERE {_FREE} RETURNING key"
_GIVE_UP = "DELETE FROM prowess_meta WHERE key = 'turn' AND value LIKE ? || ' %'"


class Turn:
    """The turn at ``database``. Raises RemoteError of every kind."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._name = uuid4().hex  # 32 characters
        self._since: float | None = None
        self._prolonged = 0.0

    async def have(self) -> bool:
        """Whether it is this one's turn: it is taken if nobody has it, and given up when it has lasted long enough."""
        if self._since is None:
            return await self._taken()
        now = anyio.current_time()
        if now - self._since > SECONDS:
            await self.give_up()
            return False
        return now - self._prolonged < PROLONG_SECONDS or await self._take()

    async def give_up(self) -> None:
        if self._since is not None:
            self._since = None
            await self._database.batch([Statement(_GIVE_UP, (self._name,))])

    async def _taken(self) -> bool:
        [others] = await self._database.batch([Statement(_TAKEN, (self._name, LEASE_SECONDS))], write=False)
        return not others and await self._take()  # to look is cheap, and keeps nobody waiting

    async def _take(self) -> bool:
        wanted = Statement(_TAKE, (self._name, LEASE_SECONDS, self._name, LEASE_SECONDS))
        [mine] = await self._database.batch([wanted])
        self._prolonged = anyio.current_time()
        self._since = (self._since or self._prolonged) if mine else None
        return bool(mine)
