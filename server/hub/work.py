"""What the hub does by itself beside serving clients, and how it asks what goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prowess.server.background.background import Background
from prowess.server.opening import Opening

__all__ = ["STANDING", "MakeWork", "Work"]


class Work(Protocol):
    """Background work. It never holds up a call, and nothing of it is lost when it is cut short."""

    async def run(self) -> None:
        """Work until cancelled, which is how the hub leaves; what must still be ended is ended within some seconds."""
        ...

    def working(self) -> list[str]:
        """What goes on now, a few words each; while there is any, the hub does not leave for idleness."""
        ...


MakeWork = Callable[[Opening], Work]

STANDING: tuple[MakeWork, ...] = (Background,)
"""Made once by every hub."""
