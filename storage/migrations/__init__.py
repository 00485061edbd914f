"""Numbered SQL files that bring an older catalog to the newest schema, in order."""

from __future__ import annotations

__all__: list[str] = []
