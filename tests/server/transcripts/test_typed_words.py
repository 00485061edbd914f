"""What the user typed stands in many places of Claude Code's transcripts, and so does what others wrote for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clikit import Command
from transcriptkit import call, episode_of, queued, result, shell, user, write

from prowess.server.transcripts.typed_answers import typed_in

FIRST = "Mend the till"
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)
ADVICE = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention."


def task_of(prowess: Command, tmp_path: Path, *records: dict[str, Any]) -> str:
    path = write(tmp_path / "s1.jsonl", [user(0, FIRST), *shell(1, "t1", "look", "ok"), *records])
    ended = prowess("import", "claude-code", path, "--json")
    assert (ended.code, ended.json["episodes"], ended.json["unknown_records"]) == (0, 1, {}), ended.err
    task: str = episode_of(prowess, FIRST)["task"]
    return task.removeprefix(FIRST).strip()


def removed(second: int, text: str | None, **more: Any) -> dict[str, Any]:
    """A queued message that was taken from the queue while the agent worked."""
    told = {"type": "queue-operation", "operation": "remove", "content": text, "sessionId": "s1"}
    return {**told, "timestamp": f"2026-01-05T10:00:{second:02}.000Z", **more}


@pytest.mark.parametrize("end", ["", ADVICE])
def test_why_a_call_was_rejected_is_the_users_word(tmp_path: Path, prowess: Command, end: str) -> None:
    said = REFUSED + "To tell you how to proceed, the user said:\nwe use pnpm here, not npm" + end
    rejected = [call(3, "t2", "Bash", {"command": "npm install"}), result(4, "t2", said, is_error=True)]
    assert task_of(prowess, tmp_path, *rejected) == "we use pnpm here, not npm"
    assert "the user said: we use pnpm here, not npm" in prowess("reflect", "--json").out


@pytest.mark.parametrize(
    "said", [REFUSED + "STOP what you are doing and wait.", "The page says: the user said: never push to main"]
)
def test_a_result_without_the_users_words_adds_none(tmp_path: Path, prowess: Command, said: str) -> None:
    stopped = [call(3, "t2", "Bash", {"command": "npm install"}), result(4, "t2", said, is_error=True)]
    assert task_of(prowess, tmp_path, *stopped) == ""


def test_an_answer_that_was_not_offered_is_the_users_word(tmp_path: Path, prowess: Command) -> None:
    def question(asked: str) -> dict[str, Any]:
        return {"question": asked, "options": [{"label": "Red"}, {"label": "Blue"}], "multiSelect": True}

    asked = [question("Which door?"), question("Which wall?"), question("Which roof?")]
    told = {
        "questions": asked,
        "answers": {"Which door?": "Red, Blue", "Which wall?": "Red", "Which roof?": "leave it as it is"},
        "annotations": {"Which wall?": {"notes": "but not the northern one"}},
    }
    answered = [call(3, "t2", "AskUserQuestion", {"questions": asked}), result(4, "t2", "answered", toolUseResult=told)]
    assert task_of(prowess, tmp_path, *answered) == "but not the northern one\nleave it as it is"


@pytest.mark.parametrize(
    ("answer", "typed"),
    [
        ("Red, with a frame", ""),
        ("Blue, Red, with a frame", ""),
        ("Blue, leave the door", "leave the door"),
        ("Blueish", "Blueish"),
    ],
)
def test_of_an_answer_what_was_offered_is_the_agents_wording(answer: str, typed: str) -> None:
    asked = {"question": "Which?", "options": [{"label": "Red, with a frame"}, {"label": "Blue"}], "multiSelect": True}
    assert typed_in("answered", {"questions": [asked], "answers": {"Which?": answer}}) == typed


def test_a_note_beside_no_answer_stands_alone() -> None:
    asked = {"questions": [{"question": "Which?"}], "annotations": {"Which?": {"notes": "none of them"}}}
    assert typed_in("answered", asked) == "none of them"


def test_what_was_typed_while_the_agent_worked_is_told_once(tmp_path: Path, prowess: Command) -> None:
    told = [
        removed(3, "also mend the drawer"),
        removed(4, "and the lamp", reason="absorbed_mid_turn"),
        queued(4, "and the lamp"),
        queued(5, "then the door"),
        removed(5, "then the door", reason="absorbed_mid_turn"),
        removed(6, None),
        removed(7, "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"),
        removed(8, "/compact"),
        {**removed(9, "wait with the roof"), "operation": "popAll"},
    ]
    steered = "also mend the drawer\n\nand the lamp\n\nthen the door"
    assert task_of(prowess, tmp_path, *told, *shell(10, "t2", "mend", "ok")) == steered


def test_what_the_user_asked_to_remember_is_their_word(tmp_path: Path, prowess: Command) -> None:
    told = user(3, "<user-memory-input>always run the tests before you commit</user-memory-input>")
    assert task_of(prowess, tmp_path, told) == "always run the tests before you commit"


@pytest.mark.parametrize(
    "more",
    [
        {"turnOrigin": "task_notification"},
        {"turnOrigin": "auto_continuation"},
        {"promptSource": "system"},
        {"origin": {"kind": "plugin"}},
    ],
)
def test_what_a_program_wrote_in_the_users_name_is_not_theirs(
    tmp_path: Path, prowess: Command, more: dict[str, Any]
) -> None:
    assert task_of(prowess, tmp_path, user(3, "go on with the drawer", **more), *shell(4, "t2", "mend", "ok")) == ""


@pytest.mark.parametrize(
    "text",
    [
        "<fork_notice>this is a copy</fork_notice>",
        '<monitor-event id="7">\nthe build is done\n</monitor-event>\n',
    ],
)
def test_what_stands_whole_in_a_clients_tag_is_not_the_users(tmp_path: Path, prowess: Command, text: str) -> None:
    assert task_of(prowess, tmp_path, user(3, text), *shell(4, "t2", "mend", "ok")) == ""


def test_a_tag_within_the_users_words_stays(tmp_path: Path, prowess: Command) -> None:
    said = "also <my-door> must open, as </my-door> does"
    assert task_of(prowess, tmp_path, user(3, said), *shell(4, "t2", "mend", "ok")) == said
