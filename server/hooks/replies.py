"""What a hook says to its client: context for the agent, and a word to the person, in the client's own JSON."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["introduction", "not_recorded", "reply", "takes_context"]

# From which on Cursor gives an agent what a hook says at a prompt; its command line has dates for versions. It is not
# documented. An earlier one may take a field that it does not know for a broken answer, and stop the prompt.
_CURSOR = (3, 20)
_CURSOR_LINE = (2026, 7, 23)


def introduction(client: str, session: str) -> str:
    """What an agent is told at a session's start: its task id, and that it need not track by hand."""
    return (
        f"Prowess records this session's tool calls by itself; track_execution is not needed. "
        f"Where its tools want a task_id, give {client}:{session}"
    )


def not_recorded(refusal: OSError) -> str:
    """What a person is told at a session's start of which nothing can be kept."""
    return (
        f"Prowess: this session is not recorded ({refusal.strerror or type(refusal).__name__}). "
        "`prowess doctor` tells what helps."
    )


def takes_context(client: str, event: str, version: str) -> bool:
    """Whether what a hook says at a session's start or a prompt reaches the agent."""
    if client != "cursor" or event != "beforeSubmitPrompt":
        return True
    words = version.partition("-")[0].split(".")
    if not all(word.isascii() and word.isdigit() for word in words):
        return False
    known = tuple(map(int, words))
    return known >= (_CURSOR_LINE if known[0] > 2000 else _CURSOR)  # a year


def reply(client: str, event: str, context: str, warning: str) -> str:
    """The line for stdout; "" for nothing to say.

    Codex takes no field that it does not know. Cursor shows the person nothing.
    """
    told: dict[str, Any] = {}
    if client == "cursor":
        text = "\n".join(filter(None, (context, warning)))
        told = {"additional_context": text} if text else {}
        told |= {"continue": True} if event == "beforeSubmitPrompt" else {}
    else:
        if context:
            told["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
        if warning:
            told["systemMessage"] = warning
    return json.dumps(told) if told else ""
