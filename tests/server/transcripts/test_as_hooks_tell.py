"""A call is judged alike, whether a hook of Claude Code told of it or its transcript."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from transcriptkit import call, result, user, write

from prowess.server.capture.filing import call_of
from prowess.server.hooks.records import record_of
from prowess.server.transcripts import claude_code
from prowess.server.transcripts.episodes import episodes_of, step_of
from prowess.server.transcripts.model import Notes, Session
from prowess.storage.models import NewStep, Outcome


def shell(stdout: str, **more: Any) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, **more}


def imported(folder: Path, tool: str, args: dict[str, Any], shown: str, details: dict[str, Any]) -> NewStep:
    records = [
        user(0, "mend the till"),
        call(1, "c1", tool, args),
        result(2, "c1", shown, is_error=False, toolUseResult=details),
    ]
    (source,) = claude_code.find(write(folder / "s1.jsonl", records))
    session = claude_code.read(source, Notes(), set())
    (episode,) = episodes_of(session, project="shop", now=datetime.now(UTC))
    return episode.steps[0]


def hooked(tool: str, args: dict[str, Any], details: dict[str, Any]) -> NewStep:
    told = {"session_id": "s1", "cwd": "/", "tool_name": tool, "tool_use_id": "c1", "tool_input": args}
    record = record_of("claude-code", "PostToolUse", {**told, "tool_response": details})
    assert record is not None
    return step_of(Session("claude-code", "s1"), call_of("e1", record), None)


@pytest.mark.parametrize(
    ("command", "shown", "details", "expected"),
    [
        ("tsc --noEmit", "", shell(""), "success"),
        ("make && make check", "checked", shell("checked"), "success"),
        ("pytest -q | tail -1", "2 failed in 1s", shell("2 failed in 1s"), "failure"),
        ("npm install | tail -1", "added 3 packages", shell("added 3 packages"), "unknown"),
        ("pnpm dev", "Command running in background with ID: b1", shell("", backgroundTaskId="b1"), "unknown"),
        ("rg till", "", shell("", returnCodeInterpretation="No matches found"), "unknown"),
        ("make", "stopped", shell("stopped", interrupted=True), "unknown"),
    ],
)
def test_commands_are_judged_alike(
    tmp_path: Path, command: str, shown: str, details: dict[str, Any], expected: Outcome
) -> None:
    args = {"command": command}
    assert imported(tmp_path, "Bash", args, shown, details).outcome == expected
    assert hooked("Bash", args, details).outcome == expected


@pytest.mark.parametrize(
    ("tool", "shown", "details", "expected"),
    [
        ("Glob", "No files found", {"filenames": [], "durationMs": 5, "numFiles": 0}, "unknown"),
        ("Glob", "/shop/a.py\n/shop/b.py", {"filenames": ["/shop/a.py", "/shop/b.py"], "numFiles": 2}, "success"),
        ("Grep", "No files found", {"mode": "files_with_matches", "filenames": [], "numFiles": 0}, "unknown"),
        ("Grep", "Found 1 file\na.py", {"mode": "files_with_matches", "filenames": ["a.py"]}, "success"),
        ("Grep", "No matches found", {"mode": "content", "filenames": [], "content": "", "numLines": 0}, "unknown"),
        ("Grep", "a.py:1:x", {"mode": "content", "filenames": [], "content": "a.py:1:x", "numLines": 1}, "success"),
        ("Skill", "Launching skill: till", {"success": True, "commandName": "till"}, "unknown"),
    ],
)
def test_searches_say_the_same_and_are_judged_alike(
    tmp_path: Path, tool: str, shown: str, details: dict[str, Any], expected: Outcome
) -> None:
    steps = imported(tmp_path, tool, {"pattern": "till"}, shown, details), hooked(tool, {"pattern": "till"}, details)
    assert {step.observation for step in steps} == {shown}
    assert {step.outcome for step in steps} == {expected}


@pytest.mark.parametrize(
    ("code", "printed", "expected"), [(1, "1 failed in 0.1s", "failure"), (0, "3 passed in 1s", "success")]
)
def test_a_command_that_was_waited_for_is_told_alike(
    tmp_path: Path, code: int, printed: str, expected: Outcome
) -> None:
    task = {"task_id": "b1", "task_type": "local_bash", "status": "completed", "description": "Run the tests"}
    details = {"retrieval_status": "success", "task": {**task, "output": f"{printed}\n", "exitCode": code}}
    shown = (
        "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n<task_type>local_bash</task_type>\n\n"
        f"<status>completed</status>\n\n<exit_code>{code}</exit_code>\n\n<output>\n{printed}\n</output>"
    )
    args = {"task_id": "b1", "block": True, "timeout": 30_000}
    one, other = imported(tmp_path, "TaskOutput", args, shown, details), hooked("TaskOutput", args, details)
    assert (other.observation, other.outcome) == (one.observation, one.outcome) == (shown, expected)


@pytest.mark.parametrize(("command", "kept"), [("gh auth token", "[masked:printed-secret]"), ("cat x", "hunter2x9")])
def test_a_secret_that_a_command_prints_is_masked_alike(tmp_path: Path, command: str, kept: str) -> None:
    args, details = {"command": command}, shell("hunter2x9")
    assert imported(tmp_path, "Bash", args, "hunter2x9", details).observation == kept
    assert hooked("Bash", args, details).observation == kept
