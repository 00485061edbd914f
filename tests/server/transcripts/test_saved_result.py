"""Results that Claude Code saved beside the transcript: the whole one is stored, and no other file is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from clikit import Command
from transcriptkit import call, episode_of, result, user, write

from prowess.server.transcripts.saved_result import MAX_SAVED, saved_result


def preview(named: str) -> str:
    """What Claude Code writes instead of a result that is too long."""
    said = f"Output too large (86KB). Full output saved to: {named}"
    return f"<persisted-output>\n{said}\n\nPreview (first 2KB):\nrunning\n...\n</persisted-output>"


NAMED = "/home/dev/.claude/projects/-shop/s1/tool-results/b1.txt"


def stored_of(prowess: Command, folder: Path, shown: Any, *, name: str = "s1.jsonl") -> dict[str, Any]:
    """The step of a session that ran the tests and was shown this."""
    records = [user(0, "Run the tests"), call(1, "t1", "Bash", {"command": "pytest"}), result(2, "t1", shown)]
    ended = prowess("import", "claude-code", write(folder / name, records), "--json")
    assert (ended.code, ended.json["steps"]) == (0, 1)
    (step,) = episode_of(prowess, "Run the tests")["steps"]
    return dict(step)


@pytest.mark.parametrize(
    ("named", "file"),
    [
        (NAMED, "s1/tool-results/b1.txt"),
        (r"C:\Users\A B\.claude\projects\-shop\s1\tool-results\b1.txt", "s1/tool-results/b1.txt"),
        (NAMED.replace("s1", "s0"), "s0/tool-results/b1.txt"),  # a fork names the first session's
    ],
)
def test_a_result_that_was_saved_beside_the_transcript_is_whole(
    tmp_path: Path, prowess: Command, named: str, file: str
) -> None:
    secret = "sk-ant-" + "api03-" + "Zq7" * 30
    text = "running\n" + "test one ... ok\n" * 9_000 + f"key {secret}\n1 failed, 2 passed in 3.0s\n"
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    step = stored_of(prowess, tmp_path, preview(named))
    assert len(step["observation"]) > 140_000
    assert step["observation"].endswith("\n1 failed, 2 passed in 3.0s\n")
    assert (step["outcome"], secret in step["observation"]) == ("failure", False)


def test_a_result_of_several_parts_is_saved_as_json(tmp_path: Path, prowess: Command) -> None:
    file = tmp_path / "s1" / "tool-results" / "mcp-shop-1.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([{"type": "text", "text": "twelve orders"}, {"type": "image"}]))
    said = f"Error: result (374,984 characters) exceeds maximum allowed tokens. Output has been saved to {file}.\n"
    assert stored_of(prowess, tmp_path, f"{said}Format: JSON")["observation"] == "twelve orders\n[image]"


def test_a_subagents_result_lies_with_those_of_its_session(tmp_path: Path, prowess: Command) -> None:
    file = tmp_path / "s1" / "tool-results" / "b1.txt"
    file.parent.mkdir(parents=True)
    file.write_text("3 passed in 0.1s")
    agent = [call(3, "a1", "Bash", {"command": "pytest"}), result(4, "a1", [{"type": "text", "text": preview(NAMED)}])]
    write(tmp_path / "s1" / "subagents" / "agent-x.jsonl", agent)
    records = [
        user(0, "Run the tests"),
        call(1, "t1", "Agent", {}),
        result(5, "t1", "done", toolUseResult={"agentId": "x"}),
    ]
    assert prowess("import", "claude-code", write(tmp_path / "s1.jsonl", records)).code == 0
    assert [step["observation"] for step in episode_of(prowess, "Run the tests")["steps"]] == [
        "done",
        "3 passed in 0.1s",
    ]


def test_no_other_file_is_read_for_a_result(tmp_path: Path, prowess: Command) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project / "s1" / "tool-results", outside / "tool-results", project / "s1" / "other"):
        folder.mkdir(parents=True)
        (folder / "b1.txt").write_text("not for you")
    saved = project / "s1" / "tool-results"
    (saved / "link.txt").symlink_to(outside / "tool-results" / "b1.txt")
    (saved / "folder.txt").mkdir()
    os.mkfifo(saved / "pipe.txt")
    with (saved / "large.txt").open("wb") as file:
        file.truncate(MAX_SAVED + 1)
    (project / "led").symlink_to(outside)
    (project / "s2").mkdir()
    (project / "s2" / "tool-results").symlink_to(outside / "tool-results")
    (project / "round").symlink_to(project / "round")
    for number, named in enumerate(
        (
            str(outside / "tool-results" / "b1.txt"),
            "../outside/tool-results/b1.txt",
            "x/../tool-results/b1.txt",
            "s1/tool-results/..",
            "s1/other/b1.txt",
            "s1/tool-results/link.txt",
            "s1/tool-results/folder.txt",
            "s1/tool-results/pipe.txt",
            "s1/tool-results/large.txt",
            "s1/tool-results/gone.txt",
            "s1/tool-results/\0.txt",
            "led/tool-results/b1.txt",
            "s2/tool-results/b1.txt",
            "round/tool-results/b1.txt",
            "b1.txt",
        )
    ):
        assert saved_result(preview(named), project / "s1.jsonl") == preview(named), number
    assert saved_result(f"see {preview('s1/tool-results/b1.txt')}", project / "s1.jsonl").startswith("see <persisted")
    assert saved_result(preview("s1/tool-results/b1.txt"), project / "s1.jsonl") == "not for you"
