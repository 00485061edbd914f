"""Cursor: why its transcripts are not imported."""

from __future__ import annotations

__all__ = ["HINT", "REASON"]

REASON = "transcripts of Cursor cannot be imported"
HINT = (
    "Cursor keeps its chats in a database (state.vscdb) of undocumented format, and there was no real one to check a "
    "reader against; convert what you need to the format of docs/import-format.md for `prowess import jsonl`"
)
