"""What a hook says to its client: context for the agent, and a word to the person, in the client's own JSON."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["introduction", "not_recorded", "reply"]


def introduction(client: str, session: str) -> str:
    """What an agent is told at a session's start: its task id, and that it need not track by hand."""
    return (
        f"Prowess records the tool calls of this session by itself; there is no need for track_execution. "
        f"Where a tool of it wants a task_id, give {client}:{session}"
    )


def not_recorded(refusal: OSError) -> str:
    """What a person is told at a session's start of which nothing can be kept."""
    return (
        f"Prowess: this session is not recorded ({refusal.strerror or type(refusal).__name__}). "
        "`prowess doctor` tells what helps."
    )


def reply(client: str, event: str, context: str, warning: str) -> str:
    """The line for stdout; "" for nothing to say.

    Codex takes no field that it does not know. Cursor shows the person nothing, and takes context only at a
    session's start.
    """
    told: dict[str, Any] = {}
    if client == "cursor":
        text = "\n".join(filter(None, (context, warning)))
        told = {"additional_context": text} if text and event == "sessionStart" else {}
        told |= {"continue": True} if event == "beforeSubmitPrompt" else {}
    else:
        if context:
            told["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
        if warning:
            told["systemMessage"] = warning
    return json.dumps(told) if told else ""
