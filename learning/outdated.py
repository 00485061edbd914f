"""Memories that a rule made which was given up since.

Until it was, what a person rejected or interrupted was a failure of the tool: that it worked after it was called again
became a lesson, which taught agents to override the person.
"""

from __future__ import annotations

import re

from prowess.learning.outcomes import says_stopped
from prowess.storage.models import Memory

__all__ = ["is_outdated"]

_RESULT = re.compile(r"(?: error:| ->) ")  # what a memory skill kept of a step, before what came back


def is_outdated(memory: Memory) -> bool:
    """Whether it says of a tool what was a person's doing, as none that is made now does.

    The rules' memories have the error in their subject; what memory skills made quotes it.
    """
    parts = _RESULT.split(memory.text) if memory.made_by else memory.subject.split(" | ")
    return any(map(says_stopped, parts[1:]))
