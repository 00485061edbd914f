"""Subagents' work goes where the call stands that started them."""

from __future__ import annotations

from collections.abc import Sequence

from prowess.server.transcripts.model import Call, Event

__all__ = ["attach"]


def attach(events: list[Event], calls: Sequence[Call], agent: str) -> None:
    """Put the ``calls`` of ``agent`` into its parent's ``events``: behind the call that names it, else by time.

    An agent that was given the conversation, such as to sum it up, has a copy of its calls; those are left out.
    """
    known = {event.id for event in events if isinstance(event, Call)}
    calls = [call for call in calls if call.id not in known]
    if not calls:
        return
    named = next((i for i, event in enumerate(events) if isinstance(event, Call) and agent in event.children), None)
    place = named if named is not None else _by_time(events, calls[0].at)
    events[place + 1 : place + 1] = calls


def _by_time(events: Sequence[Event], at: str | None) -> int:
    """The last event that is not later; the end where no time is known."""
    if at is None:
        return len(events) - 1
    return max((i for i, event in enumerate(events) if event.at is not None and event.at <= at), default=-1)
