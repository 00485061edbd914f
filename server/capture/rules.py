"""What a person wants always, kept when the task is over in which they said it: the next session is to know it.

All else that an episode teaches is learned at a quiet time, with others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from prowess.learning.memories.lessons import rules_of
from prowess.tools.rules import keep

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
    if said:
        await keep(said, episode.project, ctx)
