"""Memories that a rule made which was given up since.

Until it was, what a person rejected or interrupted was a failure of the tool: that it worked after it was called again
became a lesson, which taught agents to override the person. And so was what a client says of its own tools, which every
agent is told at once.
"""

from __future__ import annotations

import re

from prowess.learning.memories.client_errors import is_of_client, misses_a_file
from prowess.learning.memories.lessons import RULE, TASK
from prowess.learning.memories.quotations import example_in
from prowess.learning.outcomes import says_stopped
from prowess.storage.models import Memory

__all__ = ["is_outdated"]

_RESULT = re.compile(r"(?: error:| ->) ")  # what a memory skill kept of a step, before what came back


def is_outdated(memory: Memory) -> bool:
    """Whether it says of a tool what was a person's or the client's doing, as none that is made now does.

    The rules' memories have the error in their subject; what memory skills made quotes it.
    """
    if not memory.made_by and _tells_of_client(memory):
        return True
    parts = _RESULT.split(memory.text) if memory.made_by else memory.subject.split(" | ")
    return any(map(says_stopped, parts[1:]))


def _tells_of_client(memory: Memory) -> bool:
    verb, _, error = memory.subject.partition(" | ")
    if not error or memory.subject.startswith((TASK, RULE)):
        return False
    return is_of_client(error) or (misses_a_file(verb, error) and not example_in(memory.text))
