"""Which episode a question belongs to that names none: most are asked before the first step of their task.

Told as the catalog tells it (``TRIALS`` of ``catalog/queries.py``), from what the log itself knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from prowess.storage.ids import id_text
from prowess.storage.log import state
from prowess.storage.log.batch import View
from prowess.storage.models import parse_time

__all__ = ["Questions"]

AHEAD_MS = 3_600_000  # an episode of the same session that begins within an hour is what the question was for


class _Span(NamedTuple):
    """From when to when an episode was at work, in Unix milliseconds; ``ended`` None where it is open."""

    opened: int
    episode: str
    session: str
    ended: int | None

    def goes_on_at(self, moment: int) -> bool:
        return self.ended is None or self.ended >= moment


class Questions:
    """The episodes of a log by what a question says of its own."""

    def __init__(self, view: View) -> None:
        self._of_task: dict[tuple[str, str], list[_Span]] = {}
        self._of_session: dict[tuple[str, str], list[_Span]] = {}
        for key, known in state.all_episodes(view):
            span = _Span(known.opened, id_text(key), known.session, known.touched if known.closed else None)
            self._of_task.setdefault((known.project, known.task_id), []).append(span)
            self._of_session.setdefault((known.project, known.session), []).append(span)

    def episode_of(self, exposure: Mapping[str, Any]) -> str | None:
        """The id of the episode, None where nothing tells which."""
        moment = int(parse_time(exposure["at"]).timestamp() * 1000)
        project, session, task = exposure["project"], exposure.get("session", ""), exposure["task_id"]
        if task is not None:
            spans = [span for span in sorted(self._of_task.get((project, task), ())) if span.goes_on_at(moment)]
            spans = [span for span in spans if span.session == session] or spans
        else:
            spans = list(_near(sorted(self._of_session.get((project, session), ())), moment)) if session else []
        return spans[0].episode if spans else None


def _near(spans: list[_Span], moment: int) -> Iterator[_Span]:
    """The last that had begun and goes on, then the first that begins soon."""
    yield from reversed([span for span in spans if span.opened <= moment and span.goes_on_at(moment)])
    yield from (span for span in spans if moment < span.opened <= moment + AHEAD_MS)
