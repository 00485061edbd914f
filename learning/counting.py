"""Counts in words."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 skill``, ``2 skills``, ``1,000 memories``; ``plural`` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
