"""The way to a remote libSQL database (Turso, sqld): a process beside the hub that moves batches of events."""

from __future__ import annotations

__all__ = ["ASKED"]

ASKED = b"!"
"""What wakes the process for somebody who waits for the look, whatever it is that it waits for."""
