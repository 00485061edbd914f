"""``prowess import codex``: real rollouts, and what older versions wrote."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from clikit import Command
from transcriptkit import SAMPLES, episode_of, write

REAL = SAMPLES / "codex"
THREAD = "01a227e3-e66a-7db1-9561-04bebade8040"


def told(prowess: Command, path: Path) -> dict[str, object]:
    ended = prowess("import", "codex", path, "--json")
    assert ended.code == 0, ended.err
    assert ended.json["unknown_records"] == {}
    return {name: ended.json[name] for name in ("sessions", "episodes", "steps", "known", "failures")}


def enveloped(kind: str, second: int, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": f"2025-10-05T10:00:{second:02}.000Z", "type": kind, "payload": payload}


def test_real_rollouts_become_episodes(prowess: Command) -> None:
    assert told(prowess, REAL) == {"sessions": 2, "episodes": 3, "steps": 13, "known": 0, "failures": 6}

    mended = episode_of(prowess, "The test of add fails. Mend it and commit.")
    assert mended["task"] == "The test of add fails. Mend it and commit.\n\nyes"
    assert (mended["agent"], mended["session"]) == ("codex 0.171.0", THREAD)
    # The patch was refused, so the tests still failed: 0 of 1 (-8, weight 6) and a commit (6, weight 3) are -30 / 9.
    assert [(step["tool"], step["outcome"]) for step in mended["steps"]] == [
        ("exec_command", "failure"),
        ("exec_command", "success"),
        ("exec_command", "success"),
        ("apply_patch", "failure"),
        ("update_plan", "failure"),
        ("no_such_tool", "failure"),
        ("exec_command", "failure"),
        ("exec_command", "success"),
        ("exec_command", "success"),
    ]
    assert (round(mended["reward"], 3), mended["outcome"]) == (-3.333, "failure")

    other = episode_of(prowess, "Now show me")
    assert [(step["action"], step["outcome"]) for step in other["steps"]] == [("exec_command: exit 3", "failure")]


def test_rollouts_that_codex_has_packed_are_read_as_well(tmp_path: Path, prowess: Command) -> None:
    for file in REAL.rglob("rollout-*.jsonl"):
        packed = zstandard.ZstdCompressor().compress(file.read_bytes())
        (tmp_path / f"{file.name}.zst").write_bytes(packed)
    shutil.copy(file, tmp_path)  # it was unpacked, since its session goes on
    assert told(prowess, tmp_path) == {"sessions": 2, "episodes": 3, "steps": 13, "known": 0, "failures": 6}
    (alone,) = [file for file in tmp_path.iterdir() if file.suffix == ".zst" and not file.with_suffix("").exists()][:1]
    assert told(prowess, alone)["known"]


def test_a_packed_rollout_that_is_damaged_is_told(tmp_path: Path, prowess: Command) -> None:
    packed = zstandard.ZstdCompressor().compress(next(REAL.rglob("rollout-*.jsonl")).read_bytes())
    for name, content in (("rollout-a", packed[:-9]), ("rollout-b", b"garbage" * 99), ("rollout-c", packed)):
        (tmp_path / f"{name}.jsonl.zst").write_bytes(content)
    ended = prowess("import", "codex", tmp_path, "--json")
    assert (ended.code, ended.json["sessions"]) == (1, 3)
    assert [Path(broken["file"]).name for broken in ended.json["broken"]] == ["rollout-b.jsonl.zst"]
    assert ended.json["steps"] > 0


def test_a_step_has_all_that_the_rollout_says_of_it(prowess: Command) -> None:
    told(prowess, REAL)
    first = episode_of(prowess, "The test of add")["steps"][0]
    assert first["args"] == {"cmd": "python3 -m unittest -q"}
    assert first["observation"].startswith("=====")
    assert first["error"] == first["observation"]
    assert first["context"] == "I run the tests first."
    assert (first["at"], first["duration_ms"]) == ("2026-11-29T15:19:36.932Z", 0.007226)
    assert first["external_id"] == f"codex:{THREAD}:call_a1"


def test_a_subagents_work_stands_behind_the_call_that_started_it(prowess: Command) -> None:
    told(prowess, REAL)
    steps = episode_of(prowess, "Let another agent list the files")["steps"]
    assert [step["action"] for step in steps] == [
        "spawn_agent",
        "exec_command: ls",
        "exec_command: sleep 1; false",
    ]  # by time: the subagent's command was called after its parent's
    assert steps[2]["outcome"] == "unknown"  # it was stopped


def test_a_subagents_file_alone_does_not_lose_its_work(prowess: Command) -> None:
    (file,) = REAL.rglob("*01a227e4-bc52*.jsonl")
    assert told(prowess, file)["steps"] == 1


def test_a_second_import_stores_nothing(prowess: Command) -> None:
    told(prowess, REAL)
    assert told(prowess, REAL) == {"sessions": 2, "episodes": 0, "steps": 0, "known": 3, "failures": 6}


def test_the_events_of_older_versions_are_read(tmp_path: Path, prowess: Command) -> None:
    context = [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]
    shell = {"command": ["bash", "-lc", "pytest -q"], "workdir": "/nowhere"}
    answer = json.dumps({"output": "2 passed in 0.1s", "metadata": {"exit_code": 0, "duration_seconds": 0.5}})
    mcp = {"call_id": "c2", "result": {"Err": "no such order"}, "duration": {"secs": 1, "nanos": 500_000_000}}
    called = {"type": "function_call", "name": "shell", "arguments": json.dumps(shell), "call_id": "c1"}
    server = {"type": "function_call", "name": "find", "namespace": "mcp__shop", "arguments": "{}", "call_id": "c2"}
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<b> is lost, mend it"}]}
    path = write(
        tmp_path / "rollout-2025-10-05T10-00-00-t1.jsonl",
        [
            enveloped("session_meta", 0, {"id": "t1", "cwd": "/nowhere", "cli_version": "0.46.0"}),
            enveloped("response_item", 1, {"type": "message", "role": "user", "content": context}),
            enveloped("response_item", 2, prompt),
            enveloped("event_msg", 2, {"type": "user_message", "message": "<b> is lost, mend it"}),
            enveloped("response_item", 3, called),
            enveloped("response_item", 4, {"type": "function_call_output", "call_id": "c1", "output": answer}),
            enveloped("response_item", 5, server),
            enveloped("event_msg", 6, {"type": "mcp_tool_call_end", **mcp}),
            enveloped("response_item", 7, {"type": "function_call_output", "call_id": "c2", "output": "no such order"}),
        ],
    )
    assert told(prowess, path)["episodes"] == 1
    episode = episode_of(prowess, "<b> is lost")
    assert [(step["action"], step["outcome"], step["duration_ms"]) for step in episode["steps"]] == [
        ("shell: pytest -q", "success", 500.0),
        ("mcp__shop__find", "failure", 1500.0),
    ]
    assert (episode["steps"][0]["observation"], episode["reward"]) == ("2 passed in 0.1s", 10.0)


def test_records_without_an_envelope_are_read(tmp_path: Path, prowess: Command) -> None:
    path = write(
        tmp_path / "rollout-2025-05-05-t0.jsonl",
        [
            {"id": "t0", "timestamp": "2025-05-05T10:00:00.000Z", "instructions": None},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the orders"}]},
            {"record_type": "state"},
            {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["bash", "-lc", "ls"]}},
            {"type": "function_call_output", "call_id": "c1", "output": "orders"},
        ],
    )
    assert told(prowess, path)["steps"] == 1
    (step,) = episode_of(prowess, "List the orders")["steps"]
    assert (step["action"], step["observation"], step["external_id"]) == ("local_shell: ls", "orders", "codex:t0:c1")


def test_without_a_path_the_clients_own_folder_is_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prowess: Command
) -> None:
    assert prowess("import", "codex").code == 4
    (home / ".codex").parent.mkdir(parents=True)
    (home / ".codex").symlink_to(REAL, target_is_directory=True)
    assert prowess("import", "codex", "--dry-run", "--json").json["episodes"] == 3
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    ended = prowess("import", "codex", "--dry-run")
    assert (ended.code, str(tmp_path) in ended.err) == (4, True)


def test_mutated_lines_crash_nothing(tmp_path: Path, prowess: Command) -> None:
    chance = random.Random(4)
    lines = [line for file in REAL.rglob("*.jsonl") for line in file.read_text().splitlines()]
    mutated = []
    for _ in range(1000):
        data = bytearray(chance.choice(lines).encode())
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.choice(b'{}[]",:0nt\\')
        mutated.append(bytes(data))
    (tmp_path / "rollout-1.jsonl").write_bytes(b"\n".join(mutated))
    ended = prowess("import", "codex", tmp_path / "rollout-1.jsonl", "--json")
    assert ended.code in (0, 1)
    assert ended.json["steps"] > 0


def test_cursor_says_why_it_cannot(prowess: Command) -> None:
    ended = prowess("import", "cursor", "--json")
    assert ended.code == 1
    assert ended.json["error"]["message"] == "transcripts of Cursor cannot be imported"
    assert "state.vscdb" in ended.json["error"]["hint"]
