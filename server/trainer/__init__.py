"""The hub's side of the trainer: its batch, its process, what it says and the runs it left. `training/` is the process.

``supervisor`` starts, follows and ends it. docs/background.md has the protocol.
"""

from __future__ import annotations

__all__: list[str] = []
