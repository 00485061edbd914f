"""What a client tells at an event, as the one record that the hub understands.

Checked against Claude Code 2.1.197 and Codex 0.171.0 (run by scripts) and the documented formats of Cursor; see
docs/hooks.md. Fields of another type than documented count as missing.
"""

from __future__ import annotations

import time

from prowess.server.hooks import texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["KINDS", "exit_code_of", "is_own_tool", "record_of", "without_reset"]

KINDS: dict[str, str] = {
    "sessionstart": "start",
    "userpromptsubmit": "prompt",
    "beforesubmitprompt": "prompt",
    "pretooluse": "before",
    "posttooluse": "step",
    "posttoolusefailure": "step",
    "precompact": "compact",
    "stop": "stop",
    "sessionend": "end",
}
"""What an event is to us, by its name in small letters."""

MAX_NAME = 400  # characters of an identifier
MAX_PATH = 4096
MAX_WORD = 40
_TOOLS = ("track_execution", "score_reward", "reflect", "find_skill", "evolve_skills")
_PROMPT_IDS = ("prompt_id", "turn_id", "generation_id")
_WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_COPIES = (
    "originalFile",
    "structuredPatch",
    "content",
    "gitDiff",
    "oldString",
    "newString",
)  # of what the arguments hold already


def record_of(client: str, event: str, given: Mapping[str, Any], project: str = "") -> dict[str, Any] | None:
    """The record of an event, masked and bounded; None for one that tells nothing that is kept."""
    kind = KINDS.get(event.lower())
    session = _name(given.get("session_id")) or _name(given.get("conversation_id"))
    if kind is None or not session or (given.get("agent_id") and kind not in ("step", "before")):
        return None  # subagents work; sessions, prompts and turns of theirs are not the user's
    told = {"client": client, "kind": kind, "session": session, "at": _now(), "cwd": _folder(given)}
    told |= {"project": project[:200], "version": _name(given.get("cursor_version"))}
    told |= {"agent": _name(given.get("agent_id")), "prompt_id": _first(given, _PROMPT_IDS)}
    details = _DETAILS[kind](client, event, given)
    return None if details is None else {**told, **details}


def _now() -> str:
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"


def _folder(given: Mapping[str, Any]) -> str:
    roots = given.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else ""
    return (_text(given.get("cwd")) or _text(root))[:MAX_PATH]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name(value: Any) -> str:
    return _text(value)[:MAX_NAME]


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := _name(given.get(name)))), "")


# ---- the details of each kind


def _start(client: str, event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"source": _word(given.get("source")) or "startup"}


def _compact(client: str, event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _word(value: Any) -> str:
    """One of the client's own words; "" for anything that could be somebody's text."""
    word = _name(value)
    return word if len(word) <= MAX_WORD and word.replace("-", "_").isidentifier() else ""


def _prompt(client: str, event: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    text = _text(given.get("prompt"))
    return {"text": texts.safe(text, texts.MAX_PROMPT)} if text.strip() else None


def _stop(client: str, event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"said": texts.safe(_text(given.get("last_assistant_message")), texts.MAX_ARGS // 8)}


def _end(client: str, event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"reason": _word(given.get("reason"))}


def _before(client: str, event: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    tool = _name(given.get("tool_name"))
    return _own(given) if is_own_tool(tool) else None


def _step(client: str, event: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    tool, call = _name(given.get("tool_name")), _name(given.get("tool_use_id"))
    if not tool:
        return None
    if is_own_tool(tool):
        return _own(given)
    failed = event.lower() == "posttoolusefailure"
    said, code = _failure(given) if failed else _answer(client, tool, given)
    args = _given(tool, given)
    if not failed and not code:
        said = texts.unprinted(args, said)
    return {
        "call": call,
        "tool": texts.safe(tool, MAX_NAME),
        "args": texts.bounded(args),
        "observation": texts.safe(said, texts.MAX_OBSERVATION),
        "is_error": True if failed else None,
        "exit_code": code,
        "duration_ms": _number(given.get("duration_ms")) or _number(given.get("duration")),
        "transcript": _text(given.get("transcript_path"))[:MAX_PATH],
        "saved": _saved(given),
    }


def is_own_tool(tool: str) -> bool:
    """Whether it is one of ours, however the client names tools of MCP servers, and whatever a person the server."""
    name = tool.lower()
    if name.startswith("mcp__"):
        server, _, called = name.removeprefix("mcp__").rpartition("__")
        return "prowess" in server and called in _TOOLS
    return name.startswith("mcp:") and (name.rpartition(":")[2] in _TOOLS or ":prowess:" in name)


def _own(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """A call of our own is no step; it tells by which name the agent calls its task."""
    task = _name(_args(given.get("tool_input")).get("task_id"))
    return {"kind": "bind", "task_id": texts.safe(task, MAX_NAME)} if task.strip() else None


def _args(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value.startswith("{"):
        value = _parsed(value)
    return value if isinstance(value, dict) else {} if value is None else {"input": value}


def _given(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments. Codex tells a hook of a patch as of a command; its transcript, as ``input``."""
    args = _args(given.get("tool_input"))
    return {"input": args["command"]} if tool == "apply_patch" and args.keys() == {"command"} else args


def _parsed(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e12
    return float(value) if known else None


# ---- what a tool answered


def _saved(given: Mapping[str, Any]) -> str:
    """The file that Claude Code put a long output into; the hub reads it, which takes longer than a hook may."""
    said = given.get("tool_response")
    return _text(said.get("persistedOutputPath"))[:MAX_PATH] if isinstance(said, dict) else ""


def _failure(given: Mapping[str, Any]) -> tuple[str, int | None]:
    said = _text(given.get("error")) or _text(given.get("error_message")) or "the tool failed"
    return without_reset(said), None


def without_reset(text: str) -> str:
    """A command's result without the last line that Claude Code adds where the command had left the folder."""
    before, _, line = text.rstrip().rpartition("\n")
    return before.rstrip() if line.startswith("Shell cwd was reset to ") else text


def _answer(client: str, tool: str, given: Mapping[str, Any]) -> tuple[str, int | None]:
    """Text and exit code, as far as the client tells them."""
    said = given.get("tool_output") if client == "cursor" else given.get("tool_response")
    if client == "cursor" and isinstance(said, str) and said.startswith("{"):
        said = _parsed(said)
    if not isinstance(said, dict):
        return _plain(said), None
    if "stdout" in said or "stderr" in said:
        return _shell(client, said)
    if client == "cursor" and isinstance(said.get("output"), str):
        return said["output"], _exit_code(said)
    if client == "claude-code" and tool in _WRITES:
        # A write that did not work is told by another event.
        return texts.as_json({name: value for name, value in said.items() if name not in _COPIES}), 0
    if client == "claude-code" and (found := _found(tool, said)):
        return found, None
    file = said.get("file")
    shown = file.get("content") if isinstance(file, dict) else said.get("content")
    return _plain(shown) or texts.as_json(said), None


def _found(tool: str, said: Mapping[str, Any]) -> str:
    """What the agent is shown of a search, a started skill or a command in the background; "" of others."""
    if tool == "Skill" and (name := _text(said.get("commandName"))):
        return f"Launching skill: {name}"
    if tool == "TaskOutput" and isinstance(task := said.get("task"), dict):
        return _waited_for(said, task)
    files = said.get("filenames")
    if tool not in ("Grep", "Glob") or not isinstance(files, list):
        return ""
    names = "\n".join(name for name in files if isinstance(name, str))
    if said.get("mode") in ("content", "count"):
        return _text(said.get("content")) or "No matches found"
    heading = f"Found {len(files)} file{'s' * (len(files) > 1)}\n" if tool == "Grep" else ""
    return f"{heading}{names}" if names else "No files found"


def _waited_for(said: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    told = {
        "retrieval_status": said.get("retrieval_status"),
        "task_id": task.get("task_id"),
        "task_type": task.get("task_type"),
        "status": task.get("status"),
        "exit_code": task.get("exitCode"),
    }
    lines = [f"<{name}>{value}</{name}>" for name, value in told.items() if isinstance(value, str | int)]
    output = _text(task.get("output"))
    return "\n\n".join([*lines, f"<output>\n{output.rstrip()}\n</output>"] if output.strip() else lines)


def _shell(client: str, said: Mapping[str, Any]) -> tuple[str, int | None]:
    text = "\n".join(part.rstrip() for name in ("stdout", "stderr") if (part := _text(said.get(name))))
    # Claude Code tells of a command that failed by another event.
    return (without_reset(text), exit_code_of(said)) if client == "claude-code" else (text, _exit_code(said))


def exit_code_of(said: Mapping[str, Any]) -> int | None:
    """Of a command of Claude Code's shell that did not fail, by its result as hooks and transcripts have it.

    None for one that goes on or was stopped, and for a search that found nothing, of which the code is not told.
    """
    untold = any(said.get(name) for name in ("backgroundTaskId", "interrupted", "returnCodeInterpretation"))
    code = _exit_code(said)
    return 0 if code is None and not untold else code


def _exit_code(said: Mapping[str, Any]) -> int | None:
    code = said.get("exitCode", said.get("exit_code"))
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _plain(value: Any) -> str:
    """A result's text: as it is, or of a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "\n".join(_text(part.get("text")) or f"[{_text(part.get('type')) or 'part'}]" for part in value)
    return "" if value is None else texts.as_json(value)


_DETAILS = {
    "start": _start,
    "prompt": _prompt,
    "before": _before,
    "step": _step,
    "compact": _compact,
    "stop": _stop,
    "end": _end,
}
