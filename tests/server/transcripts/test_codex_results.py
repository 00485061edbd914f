"""Codex' results that come in other shapes than one call with one answer: scripts, and what goes on after a call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from clikit import Command
from transcriptkit import episode_of, write

Record = dict[str, Any]
FIRST = "Mend the till"


def enveloped(kind: str, payload: Record, second: int = 0) -> Record:
    return {"timestamp": f"2026-08-05T10:00:{second:02}.000Z", "type": kind, "payload": payload}


def head(identity: str, **more: Any) -> Record:
    return enveloped("session_meta", {"id": identity, "cwd": "/nowhere", "cli_version": "0.160.0", **more})


def message(text: str) -> Record:
    content = [{"type": "input_text", "text": text}]
    return enveloped("response_item", {"type": "message", "role": "user", "content": content})


def typed(text: str, **more: Any) -> list[Record]:
    return [message(text), enveloped("event_msg", {"type": "user_message", "message": text, **more})]


def called(identity: str, tool: str, given: Record | str, output: Any, second: int = 1) -> list[Record]:
    """A call, and its output a second later; that of a script where ``given`` is one."""
    kind = "custom_tool" if isinstance(given, str) else "function"
    told = {"input": given} if isinstance(given, str) else {"arguments": json.dumps(given)}
    call = {"type": f"{kind}_call", "call_id": identity, "name": tool, **told}
    answer = {"type": f"{kind}_call_output", "call_id": identity, "output": output}
    return [enveloped("response_item", call, second), enveloped("response_item", answer, second + 1)]


def script(command: str) -> str:
    return (
        f"const r = await tools.exec_command({{cmd: {json.dumps(command)}, yield_time_ms: 10000}});\ntext(r.output);\n"
    )


def shown(status: str, text: str) -> list[Record]:
    head = {"type": "input_text", "text": f"Script {status}\nWall time 0.5 seconds\nOutput:\n"}
    return [head, {"type": "input_text", "text": text}]


def imported(prowess: Command, tmp_path: Path, records: Sequence[Record], name: str = "t1", **more: Any) -> Any:
    write(tmp_path / f"rollout-{name}.jsonl", [head(name, **more), *records])
    ended = prowess("import", "codex", tmp_path, "--json")
    assert (ended.code, ended.json["unknown_records"]) == (0, {}), ended.err
    return ended.json


def test_a_script_that_runs_one_command_is_that_command(tmp_path: Path, prowess: Command) -> None:
    work = [
        *called("c1", "exec", script("pytest -q"), shown("completed", "2 failed, 1 passed in 3s")),
        *called("c2", "exec", script("cat x"), shown("completed", json.dumps({"exit_code": 2, "output": "no x"})), 3),
        *called("c3", "exec", "await tools.apply_patch('*** Begin Patch')", shown("failed", "Error: no such line"), 5),
        *called("c4", "exec", "for (const f of files) await tools.view_image(f)", shown("completed", "seen"), 7),
        *called(
            "c5", "exec", "text(await tools.mcp__prowess__find_skill({query: 'till'}))", shown("completed", "{}"), 9
        ),
    ]
    told = imported(prowess, tmp_path, [*typed(FIRST), *work])
    assert told["tasks"][0]["evidence"] == {"tests": {"passed": 1, "failed": 2}}
    steps = episode_of(prowess, FIRST)["steps"]
    assert [(step["action"], step["observation"], step["outcome"]) for step in steps] == [
        ("exec_command: pytest -q", "2 failed, 1 passed in 3s", "failure"),
        ("exec_command: cat x", "no x", "failure"),
        ("apply_patch", "Error: no such line", "failure"),
        ("exec", "seen", "unknown"),
    ]
    assert steps[0]["args"] == {"cmd": "pytest -q", "yield_time_ms": 10000}
    assert steps[0]["duration_ms"] == 500.0


def test_a_command_that_goes_on_has_the_output_that_was_asked_for_later(tmp_path: Path, prowess: Command) -> None:
    def told(status: str, text: str) -> str:
        return f"Chunk ID: ab12\nWall time: 10.0 seconds\n{status}\nOriginal token count: 9\nOutput:\n{text}"

    running, ended = "Process running with session ID 58711", "Process exited with code 1"
    ask = {"session_id": 58711, "chars": ""}
    write = {**ask, "chars": "y\n"}
    work = [
        *called("c1", "exec_command", {"cmd": "pytest -q"}, told(running, "collecting")),
        *called("c2", "write_stdin", ask, told(running, ""), 3),
        *called("c3", "write_stdin", write, told(running, "go on?"), 4),
        *called("c4", "write_stdin", ask, told(ended, "1 failed, 8 passed in 30s"), 5),
    ]
    result = imported(prowess, tmp_path, [*typed(FIRST), *work])
    assert result["tasks"][0]["evidence"] == {"tests": {"passed": 8, "failed": 1}}
    steps = episode_of(prowess, FIRST)["steps"]
    assert steps[0]["observation"] == "collecting\n1 failed, 8 passed in 30s"
    assert [(step["outcome"], step["duration_ms"]) for step in steps] == [
        ("failure", 5000.0),  # from its call to the last answer
        ("unknown", 1000.0),  # what was typed into it
    ]


def test_a_command_that_still_goes_on_is_no_step_yet(tmp_path: Path, prowess: Command) -> None:
    now = datetime.now(UTC).isoformat()
    started, answered = called("c1", "exec", script("npm test"), shown("running with cell ID 28", "1 of 3"))
    first = [*typed(FIRST), *called("c0", "exec_command", {"cmd": "ls"}, "till.py"), {**started, "timestamp": now}]
    first.append({**answered, "timestamp": now})
    assert imported(prowess, tmp_path, first)["steps"] == 1
    asked = called("c2", "wait", {"cell_id": "28"}, shown("completed", "3 passed in 2s"))
    assert imported(prowess, tmp_path, [*first, *({**record, "timestamp": now} for record in asked)])["steps"] == 1
    assert episode_of(prowess, FIRST)["steps"][1]["observation"] == "1 of 3\n3 passed in 2s"


def test_a_script_that_goes_on_has_the_output_that_was_waited_for(tmp_path: Path, prowess: Command) -> None:
    work = [
        *called("c1", "exec", script("npm test"), shown("running with cell ID 28", "")),
        *called("c2", "wait", {"cell_id": "28"}, shown("completed", "3 passed in 2s"), 3),
        *called("c3", "exec", script("make"), shown("running with cell ID 29", ""), 5),
        *called("c4", "wait", {"cell_id": "29"}, shown("failed", "Error: lost"), 7),
    ]
    result = imported(prowess, tmp_path, [*typed(FIRST), *work])
    assert result["tasks"][0]["evidence"]["tests"] == {"passed": 3, "failed": 0}
    assert [step["outcome"] for step in episode_of(prowess, FIRST)["steps"]][1] == "failure"


@pytest.mark.parametrize("told", [{"session_id": 98, "output": "building"}, "building\nSESSION=98"])
def test_a_script_may_tell_of_a_command_that_goes_on(tmp_path: Path, prowess: Command, told: Any) -> None:
    printed = told if isinstance(told, str) else json.dumps(told)
    rest = "Wall time: 1.0 seconds\nProcess exited with code 2\nOutput:\n1 failed, 2 passed in 9s"
    work = [
        *called("c1", "exec", script("pytest -q"), shown("completed", printed)),
        *called("c2", "exec", script("ls"), shown("completed", "1983 till.py"), 3),
        *called("c3", "write_stdin", {"session_id": 98, "chars": ""}, rest, 5),
    ]
    result = imported(prowess, tmp_path, [*typed(FIRST), *work])
    assert result["tasks"][0]["evidence"] == {"tests": {"passed": 2, "failed": 1}}
    steps = episode_of(prowess, FIRST)["steps"]
    assert [step["outcome"] for step in steps] == ["failure", "success"]


def test_the_commands_that_a_script_ran_are_the_steps_where_events_tell_of_them(
    tmp_path: Path, prowess: Command
) -> None:
    def ran(identity: str, command: str, output: str, code: int) -> Record:
        told = {"type": "CommandExecution", "id": identity, "command": ["/bin/zsh", "-lc", command]}
        ended = {"aggregated_output": output, "exit_code": code, "duration": {"secs": 2, "nanos": 0}}
        return enveloped("event_msg", {"type": "item_completed", "item": {**told, **ended}}, 2)

    looped = "for (const f of files) text((await tools.exec_command({cmd: `cat ${f}`})).output)"
    mixed = "await tools.exec_command({cmd: 'ls'}); await tools.apply_patch(`*** Begin Patch`)"
    (first, answered), (second, seen), (third, done) = (
        called("c1", "exec", script("pytest -q"), shown("completed", "1 failed, 2 passed in 3s")),
        called("c2", "exec", looped, shown("completed", "a\nb"), 4),
        called("c3", "exec", mixed, shown("completed", ""), 6),
    )
    work = [first, ran("exec-1", "pytest -q", "1 failed, 2 passed in 3s", 1), answered]
    work += [second, ran("exec-2", "cat a", "a", 0), ran("exec-3", "cat b", "b", 0), seen]
    work += [third, ran("exec-4", "ls", "till.py", 0), done]
    imported(prowess, tmp_path, [*typed(FIRST), *work])
    steps = episode_of(prowess, FIRST)["steps"]
    assert [(step["action"], step["external_id"].rpartition(":")[2]) for step in steps] == [
        ("exec_command: pytest -q", "exec-1"),
        ("exec_command: cat a", "exec-2"),
        ("exec_command: cat b", "exec-3"),
        ("exec", "c3"),
        ("exec_command: ls", "exec-4"),
    ]
    assert (steps[0]["outcome"], steps[0]["duration_ms"]) == ("failure", 2000.0)


@pytest.mark.parametrize("confirmed", [True, False])
def test_what_an_editor_knows_is_no_part_of_the_prompt(tmp_path: Path, prowess: Command, confirmed: bool) -> None:
    said = f"# Context from my IDE setup:\n\n## Open tabs:\n- till.py: till.py\n\n## My request for Codex:\n{FIRST}\n"
    prompt = typed(said) if confirmed else [message(said)]
    imported(prowess, tmp_path, [*prompt, *called("c1", "exec_command", {"cmd": "ls"}, "till.py")])
    assert episode_of(prowess, FIRST)["task"] == FIRST


def test_an_answer_of_the_users_own_is_their_word(tmp_path: Path, prowess: Command) -> None:
    told = {"answers": {"door": {"answers": ["Red", "user_note: not the northern one"]}, "wall": {"answers": ["Blue"]}}}
    work = called("c1", "request_user_input", {"questions": []}, json.dumps(told))
    work += called("c2", "exec_command", {"cmd": "cat x"}, '{"answers": {"a": {"answers": ["user_note: b"]}}}', 3)
    imported(prowess, tmp_path, [*typed(FIRST), *work])
    assert episode_of(prowess, FIRST)["task"] == f"{FIRST}\n\nnot the northern one"


def test_what_codex_says_in_the_users_name_is_no_prompt(tmp_path: Path, prowess: Command) -> None:
    others = [
        *typed("be brief", kind="user_instructions"),
        *typed("<environment_context>\n<cwd>/nowhere</cwd>\n</environment_context>"),
        *typed("<user_action>\n<context>a review was asked for</context>\n</user_action>"),
    ]
    imported(prowess, tmp_path, [*others, *typed(FIRST), *called("c1", "exec_command", {"cmd": "ls"}, "till.py")])
    assert episode_of(prowess, FIRST)["task"] == FIRST


def test_a_fork_that_begins_with_a_copy_of_its_thread_has_its_own_work_only(tmp_path: Path, prowess: Command) -> None:
    first = [*typed(FIRST), *called("call_0", "exec_command", {"cmd": "ls"}, "till.py")]
    second = [*first, *typed("Paint every door green"), *called("call_1", "exec_command", {"cmd": "paint"}, "done", 3)]
    other = [*typed("Count the lamps"), *called("call_0", "exec_command", {"cmd": "count"}, "7")]
    write(tmp_path / "rollout-a.jsonl", [head("a"), *first])
    write(tmp_path / "rollout-b.jsonl", [head("b", forked_from_id="a"), *second])
    write(tmp_path / "rollout-c.jsonl", [head("c"), *other])  # of a model that counts its calls
    ended = prowess("import", "codex", tmp_path, "--json").json
    assert [task["task"] for task in ended["tasks"]] == [FIRST, "Paint every door green", "Count the lamps"]
    assert ended["steps"] == 3
