"""In whose name this program writes events of its own accord or a person's, and the time that they get."""

from __future__ import annotations

from datetime import UTC, datetime

from prowess.storage.models import Origin, format_time

__all__ = ["PERSON", "background", "now"]

PERSON = Origin(client="prowess", session="cli", actor="person")
"""The person at the terminal."""


def background(machine: str) -> Origin:
    """The server of ``machine`` that nobody asked."""
    return Origin(machine=machine, client="prowess", session="background", actor="machine")


def now() -> str:
    """The present, as the store writes it."""
    return format_time(datetime.now(UTC))
