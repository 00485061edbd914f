"""Lets go of memories that today's rules would not make; once after each start, since another machine may be older."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from msgspec.structs import replace

from prowess.learning.memories.outdated import is_outdated
from prowess.server.origins import background, now
from prowess.storage.events import Event, MemoryDeleted, MemorySaved
from prowess.storage.models import Memory

if TYPE_CHECKING:
    from prowess.server.runtime import Runtime

__all__ = ["Outdated"]


class Outdated:
    """See the module."""

    name = "letting go of memories"

    def __init__(self) -> None:
        self._looked = False

    async def due(self, runtime: Runtime) -> bool:
        """Whether nobody looked since the start."""
        return not self._looked

    async def work(self, runtime: Runtime) -> None:
        """Delete them all in one commit. Raises StoreError."""
        async with runtime.turn:  # an agent's reflection may be counting what bears these out
            events = await anyio.to_thread.run_sync(_without_outdated, await runtime.store.memories())
            if events:
                with anyio.CancelScope(shield=True):
                    await runtime.store.append(events, origin=background(runtime.machine))
        self._looked = True


def _without_outdated(known: Sequence[Memory]) -> list[Event]:
    """What they replaced counts again."""
    at = now()
    gone = {each.id for each in known if is_outdated(each)}
    again = [each for each in known if each.superseded_by in gone and each.id not in gone]
    saved = [MemorySaved(memory=replace(each, superseded_by=None)) for each in again]
    return [*saved, *(MemoryDeleted(memory_id=key, at=at) for key in sorted(gone))]
