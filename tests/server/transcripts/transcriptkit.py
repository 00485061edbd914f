"""Transcripts made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clikit import Command

__all__ = ["SAMPLES", "call", "episode_of", "queued", "result", "said", "shell", "user", "write"]

SAMPLES = Path(__file__).parent / "samples"
Record = dict[str, Any]


def at(second: int) -> str:
    return f"2026-01-05T10:{second // 60:02}:{second % 60:02}.000Z"


def record(kind: str, second: int, content: Any, **more: Any) -> Record:
    """One record of Claude Code's session ``s1`` in a folder that does not exist."""
    head = {"type": kind, "sessionId": "s1", "version": "2.1.0", "cwd": "/nowhere/shop", "isSidechain": False}
    message = {"role": kind, "content": content}
    return {**head, "uuid": f"{kind}-{second}", "timestamp": at(second), "message": message, **more}


def user(second: int, text: str, **more: Any) -> Record:
    return record("user", second, text, **more)


def queued(second: int, text: Any, *, uuid: str = "", **more: Any) -> Record:
    """What was typed while the agent worked."""
    told = {"type": "queued_command", "commandMode": "prompt", "prompt": text, **more}
    made = record("attachment", second, None, attachment=told)
    del made["message"]
    return {**made, "uuid": uuid or made["uuid"]}


def said(second: int, text: str) -> Record:
    return record("assistant", second, [{"type": "text", "text": text}])


def call(second: int, identity: str, tool: str, args: Any, **more: Any) -> Record:
    return record("assistant", second, [{"type": "tool_use", "id": identity, "name": tool, "input": args}], **more)


def result(second: int, identity: str, content: Any, *, is_error: bool | None = None, **more: Any) -> Record:
    block = {"type": "tool_result", "tool_use_id": identity, "content": content}
    return record("user", second, [block if is_error is None else {**block, "is_error": is_error}], **more)


def shell(second: int, identity: str, command: str, answer: str, *, is_error: bool = False) -> list[Record]:
    """A command and, a second later, its answer."""
    return [
        call(second, identity, "Bash", {"command": command}),
        result(second + 1, identity, answer, is_error=is_error),
    ]


def write(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def episode_of(prowess: Command, words: str) -> Any:
    """The stored episode whose task begins with ``words``, with steps and rewards."""
    found = [e for e in prowess("episodes", "list", "--json").json if e["task"].startswith(words)]
    assert len(found) == 1, [e["task"] for e in found]
    return prowess("episodes", "show", found[0]["episode_id"], "--json").json
