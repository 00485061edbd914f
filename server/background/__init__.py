"""What the hub does by itself between calls: learning, memories, backups, forgetting.

``background`` divides the time among the others. docs/background.md tells when what is done.
"""

from __future__ import annotations

__all__: list[str] = []
