"""What real clients sent at their events, as the one record that the hub understands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hookkit import sample

from prowess.server.hooks.events import EVENTS, MATCHERS, made_up
from prowess.server.hooks.records import is_own_tool, record_of
from prowess.server.hooks.replies import reply


def of(client: str, event: str, name: str = "") -> dict[str, Any]:
    record = record_of(client, event, sample(client, name or event))
    assert record is not None
    return record


def test_a_command_of_claude_code_that_worked_has_exit_code_0() -> None:
    record = of("claude-code", "PostToolUse", "Bash")
    assert (record["kind"], record["tool"], record["exit_code"], record["is_error"]) == ("step", "Bash", 0, None)
    assert record["observation"].endswith("[100%]")
    assert record["args"]["command"] == "python3 -m pytest -q test_calc.py"
    assert record["call"].startswith("toolu_")
    assert record["duration_ms"] > 0
    assert record["cwd"] == "/home/me/shop"


def test_a_command_of_claude_code_that_failed_is_told_by_an_event_of_its_own() -> None:
    record = of("claude-code", "PostToolUseFailure")
    assert (record["kind"], record["is_error"]) == ("step", True)
    assert record["observation"].startswith("Exit code 1\n")


def test_what_a_password_manager_prints_does_not_leave_the_hook() -> None:
    given = {**sample("claude-code", "Bash"), "tool_input": {"command": "pass show shop/till"}}
    record = record_of("claude-code", "PostToolUse", {**given, "tool_response": {"stdout": "hunter2x9", "stderr": ""}})
    assert record is not None
    assert record["observation"] == "[masked:printed-secret]"
    failed = {**sample("claude-code", "PostToolUseFailure"), "tool_input": {"command": "pass show shop/till"}}
    record = record_of("claude-code", "PostToolUseFailure", failed)
    assert record is not None
    assert record["observation"] == failed["error"]


def test_an_edit_keeps_no_copy_of_the_file() -> None:
    record = of("claude-code", "PostToolUse", "Edit")
    assert (record["exit_code"], json.loads(record["observation"])["filePath"]) == (0, "/home/me/shop/calc.py")
    assert "originalFile" not in record["observation"]


def test_what_was_read_is_the_files_text() -> None:
    record = of("claude-code", "PostToolUse", "Read")
    assert record["observation"] == "def add(a, b):\n    return a - b\n"
    assert record["exit_code"] is None


def test_a_subagents_report_is_its_text() -> None:
    assert of("claude-code", "PostToolUse", "Agent")["observation"]
    record = of("claude-code", "PostToolUse", "Bash-subagent")
    assert record["agent"]
    assert record["session"] == sample("claude-code", "Agent")["session_id"]


def test_a_prompt_has_the_id_that_the_transcript_has() -> None:
    record = of("claude-code", "UserPromptSubmit")
    assert (record["kind"], record["text"]) == ("prompt", "The test in test_calc.py fails. Mend it.")
    assert record["prompt_id"] == sample("claude-code", "UserPromptSubmit")["prompt_id"]
    assert of("codex", "UserPromptSubmit")["prompt_id"] == sample("codex", "UserPromptSubmit")["turn_id"]


def test_a_subagents_prompt_is_no_users() -> None:
    assert record_of("codex", "UserPromptSubmit", sample("codex", "subagent-prompt")) is None
    for event in ("SessionStart", "Stop", "SessionEnd"):
        assert record_of("codex", event, {**sample("codex", event), "agent_id": "a1"}) is None


def test_codex_tells_what_was_printed_and_where_the_rest_is_written() -> None:
    record = of("codex", "PostToolUse")
    assert (record["tool"], record["exit_code"]) == ("Bash", None)
    assert record["transcript"].endswith(".jsonl")
    assert of("codex", "PostToolUse", "apply-patch")["observation"].startswith("Exit code: 0\n")


def test_a_patch_of_codex_is_no_command_line() -> None:
    assert of("codex", "PostToolUse", "apply-patch")["args"].keys() == {"input"}


def test_a_call_of_our_own_is_no_step_and_tells_its_task() -> None:
    given = {"session_id": "s1", "tool_name": "mcp__prowess__track_execution", "tool_input": {"task_id": "till"}}
    for event in ("PreToolUse", "PostToolUse"):
        record = record_of("claude-code", event, given)
        assert record is not None
        assert (record["kind"], record["task_id"]) == ("bind", "till")
    assert record_of("codex", "PreToolUse", sample("codex", "own-tool")) is None  # it named no task


def test_tools_of_others_are_not_looked_at_before_they_are_used() -> None:
    assert record_of("claude-code", "PreToolUse", {"session_id": "s1", "tool_name": "Bash", "tool_input": {}}) is None


@pytest.mark.parametrize(
    ("tool", "own"),
    [
        ("mcp__prowess__find_skill", True),
        ("mcp__plugin_prowess_prowess__find_skill", True),
        ("MCP:find_skill", True),
        ("MCP:prowess:reflect", True),
        ("mcp__prowess-shared__score_reward", True),
        ("mcp__github__find_skill", False),
        ("mcp__github__search_prowess", False),
        ("mcp__prowess-docs__search", False),
        ("MCP:auto_reflect", False),
        ("MCP:get_issue", False),
        ("Bash", False),
        ("prowess", False),
    ],
)
def test_our_own_tools_are_known_by_any_clients_name(tool: str, own: bool) -> None:
    assert is_own_tool(tool) is own


def test_matchers_take_our_own_tools() -> None:
    import re

    for client in ("claude-code", "codex"):
        assert re.fullmatch(MATCHERS[client]["PreToolUse"], "mcp__plugin_prowess_prowess__find_skill")
        assert not re.fullmatch(MATCHERS[client]["PreToolUse"], "Bash")


@pytest.mark.parametrize(
    ("event", "given", "text"),
    [
        ("PostToolUse", {"tool_response": {"stdout": "ok", "stderr": "\nShell cwd was reset to /home/me"}}, "ok"),
        ("PostToolUse", {"tool_response": {"stdout": "Shell cwd was reset to /\nok", "stderr": ""}}, None),
        ("PostToolUseFailure", {"error": "Exit code 2\nShell cwd was reset to /home/me\n"}, "Exit code 2"),
    ],
)
def test_where_the_client_went_back_to_is_no_part_of_a_result(
    event: str, given: dict[str, Any], text: str | None
) -> None:
    told = {"session_id": "s1", "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "cd x && make"}}
    record = record_of("claude-code", event, {**told, **given})
    assert record is not None
    assert record["observation"] == (text or "Shell cwd was reset to /\nok")


CURSOR = {"conversation_id": "c1", "generation_id": "g1", "workspace_roots": ["/home/me/shop"], "cursor_version": "2.4"}


@pytest.mark.parametrize(
    ("output", "text", "code"),
    [
        ('{"exitCode":2,"output":"no rule"}', "no rule", 2),
        ('{"stdout":"a\\n","stderr":"b\\n","exit_code":0}', "a\nb", 0),
        ("plain", "plain", None),
        ('{"broken', '{"broken', None),
        ('{"content":[{"type":"text","text":"hi"}]}', "hi", None),
    ],
)
def test_cursors_output_is_json_in_a_text(output: str, text: str, code: int | None) -> None:
    given = {**CURSOR, "tool_name": "Shell", "tool_input": {"command": "make"}, "tool_output": output, "duration": 5}
    record = record_of("cursor", "postToolUse", given)
    assert record is not None
    assert (record["observation"], record["exit_code"], record["duration_ms"]) == (text, code, 5.0)
    assert (record["session"], record["cwd"], record["version"]) == ("c1", "/home/me/shop", "2.4")


def test_a_failure_in_cursor_has_its_message() -> None:
    given = {**CURSOR, "tool_name": "Shell", "tool_input": {}, "error_message": "timed out", "failure_type": "timeout"}
    record = record_of("cursor", "postToolUseFailure", given)
    assert record is not None
    assert (record["observation"], record["is_error"]) == ("timed out", True)


@pytest.mark.parametrize("client", sorted(EVENTS))
def test_every_event_that_a_client_is_told_to_send_is_understood(client: str) -> None:
    made = [record_of(client, event, made_up(client, event, session="d", cwd="/")) for event in EVENTS[client]]
    kinds = [record["kind"] for record in made if record is not None]
    among = {"step", "compact"} if client == "cursor" else {"step"}  # the others begin the session anew behind it
    assert (kinds[:2], set(kinds[2:-2]), kinds[-2:]) == (["start", "prompt"], among, ["stop", "end"])
    assert [event for event, record in zip(EVENTS[client], made, strict=True) if record is None] in ([], ["PreToolUse"])


def test_replies_are_in_the_clients_own_words() -> None:
    told = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "c"}, "systemMessage": "w"}
    assert json.loads(reply("codex", "SessionStart", "c", "w")) == told
    assert json.loads(reply("claude-code", "SessionStart", "c", "w")) == told
    assert json.loads(reply("cursor", "sessionStart", "c", "w")) == {"additional_context": "c\nw"}
    assert json.loads(reply("cursor", "beforeSubmitPrompt", "", "")) == {"continue": True}
    assert json.loads(reply("cursor", "beforeSubmitPrompt", "c", "")) == {"continue": True, "additional_context": "c"}
    assert reply("claude-code", "UserPromptSubmit", "", "") == ""
