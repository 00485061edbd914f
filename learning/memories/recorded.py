"""What hooks and transcripts recorded: whose words a task has, and when its work was done."""

from __future__ import annotations

from prowess.storage.models import Trajectory

__all__ = ["begun_at", "done_at", "is_recorded"]


def is_recorded(trajectory: Trajectory) -> bool:
    """Whether the task's words are what a person typed, as hooks and transcripts have it.

    These name a task, and each call, by its session. What an agent tells of a task are its own words, or those of a
    page that it read; and so are those of a session's start, before anything was typed.
    """
    episode = trajectory.episode
    session, _, prompt = episode.task_id.rpartition(":")
    named = bool(prompt) and prompt != "start" and session.count(":") == 1 and session.endswith(f":{episode.session}")
    return named and any((step.external_id or "").startswith(f"{session}:") for step in trajectory.steps)


def begun_at(trajectory: Trajectory) -> str:
    """When the work began: what is imported was done long before it was stored."""
    return min((*_times(trajectory), trajectory.episode.opened_at))


def done_at(trajectory: Trajectory, closed_at: str) -> str:
    """When the work ended, ``closed_at`` at the latest."""
    return min(max(_times(trajectory), default=closed_at), closed_at)


def _times(trajectory: Trajectory) -> list[str]:
    """When the calls were made, by the client's records; what an agent says of the time is no record."""
    return [step.at for step in trajectory.steps] if is_recorded(trajectory) else []
