"""Which events of which client need a hook, how it is started, and what a client would send.

The one list for installers, ``prowess doctor`` and tests.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DOCTOR", "EVENTS", "MATCHERS", "command", "made_up", "program", "seconds"]

EVENTS: dict[str, tuple[str, ...]] = {
    "claude-code": (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    ),
    "codex": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"),
    "cursor": (
        "sessionStart",
        "beforeSubmitPrompt",
        "postToolUse",
        "postToolUseFailure",
        "preCompact",
        "stop",
        "sessionEnd",
    ),
}
"""The client's own names of the events that its configuration has to name, in the order in which they occur."""

MATCHERS: dict[str, dict[str, str]] = {
    "claude-code": {"PreToolUse": "mcp__.*prowess.*"},
    "codex": {"PreToolUse": "mcp__.*prowess.*"},
    "cursor": {},
}
"""The tools of an event, as the client's matcher has them. What is not named here takes every tool (no matcher)."""

DOCTOR = "prowess-doctor-"
"""How the made-up sessions of ``prowess doctor`` begin; they count in no statistics of capture."""


def seconds(client: str, event: str) -> int:
    """What to write where a client wants a timeout: more than a hook ever takes. Codex allows an end no more than 3."""
    return 3 if client == "codex" and event == "SessionEnd" else 10


def program() -> str:
    """The absolute path of the file that a client starts."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")  # noqa: PTH100, PTH118, PTH120


def command(client: str, event: str, *, store: str = "", python: str = "") -> list[str]:
    """The command line of one hook; ``store`` where it is not the default one. Raises KeyError for unknown clients."""
    if event not in EVENTS[client]:
        raise KeyError(f"{client} has no event {event!r}")
    words = [python or sys.executable, "-I", "-S", program(), client, event]
    return [*words, "--store", store] if store else words


def made_up(client: str, event: str, *, session: str, cwd: str) -> dict[str, Any]:
    """What ``client`` would send at ``event``: a shell command that ran one test, and it passed."""
    said, ran, shown = "Say that Prowess works.", "python -m pytest -q", "1 passed in 0.01s"
    told: dict[str, Any] = {"hook_event_name": event, "cwd": cwd, "session_id": session}
    name = event.lower()
    if client == "cursor":
        told |= {"conversation_id": session, "generation_id": f"{session}-1", "workspace_roots": [cwd]}
    if name in ("userpromptsubmit", "beforesubmitprompt"):
        told["prompt"] = said
    elif name in ("pretooluse", "posttooluse", "posttoolusefailure"):
        told |= {"tool_name": "Shell" if client == "cursor" else "Bash", "tool_use_id": "made-up-1"}
        told |= {"tool_input": {"command": ran}, _RESPONSES[client]: _response(client, shown)}
        if name == "posttoolusefailure":
            del told[_RESPONSES[client]]
            told["error_message" if client == "cursor" else "error"] = "Exit code 1\n1 failed in 0.01s"
    elif name == "sessionend":
        told["reason"] = "other"
    return told


_RESPONSES = {"claude-code": "tool_response", "codex": "tool_response", "cursor": "tool_output"}


def _response(client: str, shown: str) -> Any:
    if client == "claude-code":
        return {"stdout": shown, "stderr": "", "interrupted": False, "isImage": False}
    return shown if client == "codex" else f'{{"exitCode": 0, "output": "{shown}"}}'
