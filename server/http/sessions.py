"""Whose sessions are open, and what of one token is under way: nobody may take the places of all."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Sessions"]


class Sessions:
    """At most ``most`` sessions of one owner, and ``at_once`` requests.

    A session that ended by itself is the one that was longest without a request sooner or later, and goes then.
    """

    def __init__(self, most: int, at_once: int) -> None:
        self._most = most
        self._at_once = at_once
        self._open: dict[str, OrderedDict[str, int]] = {}  # of each session, its requests that are under way
        self._requests: Counter[str] = Counter()

    def is_busy(self, owner: str) -> bool:
        """Whether ``owner`` has as many requests under way as one may have."""
        return self._requests[owner] >= self._at_once

    def is_full(self, owner: str) -> bool:
        """Whether ``owner`` uses as many sessions just now as one may have: none of them could end for a new one."""
        return sum(count > 0 for count in self._open.get(owner, {}).values()) >= self._most

    def opened(self, owner: str, session: str) -> list[str]:
        """Note a new session; the sessions that have to end now, those first that were longest without a request.

        It is itself the last of them: where the others are all in use.
        """
        known = self._open.setdefault(owner, OrderedDict())
        known[session] = 0
        idle = [name for name, count in known.items() if not count]
        ended = idle[: max(0, len(known) - self._most)]
        for name in ended:
            del known[name]
        return ended

    def ended(self, owner: str, session: str) -> None:
        """The session is no more."""
        self._open.get(owner, OrderedDict()).pop(session, None)

    @contextmanager
    def using(self, owner: str, session: str) -> Iterator[None]:
        """A request of ``owner`` is under way; ``session`` is "" where it belongs to none."""
        known = self._open.get(owner, OrderedDict())
        self._requests[owner] += 1
        if session in known:
            known[session] += 1
            known.move_to_end(session)
        try:
            yield
        finally:
            self._requests[owner] -= 1
            if not self._requests[owner]:
                del self._requests[owner]
            if known.get(session):
                known[session] -= 1
