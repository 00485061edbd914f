"""What a person wants always, kept when the task is over in which they said it: the next session is to know it.

All else that an episode teaches is learned at a quiet time, with others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from prowess.learning.memories.joining import merged
from prowess.learning.memories.lessons import rules_of
from prowess.storage.events import MemorySaved
from prowess.tools.remembering import is_believed, remembered

if TYPE_CHECKING:
    from prowess.server.runtime import Runtime
    from prowess.storage.models import Episode

__all__ = ["keep_rules"]

_LEARNER = "prowess"


async def keep_rules(episode: Episode, runtime: Runtime, *, at: str) -> None:
    """Save the rules that the words of ``episode`` hold as of ``at``, and what gives way. Raises the store's errors.

    Only where the server learns by itself. The words have to be a person's. A reflection that looks at the episode
    later finds them said and changes nothing.
    """
    if not (runtime.settings.learn_after and runtime.settings.memory_cap and episode.project and episode.task):
        return
    ctx = runtime.context(client=_LEARNER, project=episode.project, actor="machine")
    said = await anyio.to_thread.run_sync(lambda: rules_of(episode, at=at, trust=ctx.origin.trust))
    if not said:
        return
    async with ctx.turn:
        gone = await ctx.store.forgotten_memories({memory.id for memory in said})
        known = await remembered(episode.project, ctx)
        held = {one.id: one for one in known if one.project == episode.project and is_believed(one)}
        fresh = [memory for memory in said if memory.id not in gone]
        after = await anyio.to_thread.run_sync(merged, held.values(), fresh)
        saved = [MemorySaved(memory=memory) for key, memory in after.items() if held.get(key) != memory]
        if saved:
            await ctx.store.append(saved, origin=ctx.origin)
            await ctx.index.refresh(wait=False)
