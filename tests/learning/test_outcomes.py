from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from prowess.learning.outcomes import Counts, judge, ran, stopped
from prowess.learning.outcomes import tests_in as counted
from prowess.learning.reward import outcome_of
from prowess.storage.models import NewStep, Outcome, Step


@pytest.mark.parametrize(
    ("summary", "passed", "failed"),
    [
        ("======== 3 failed, 10 passed in 1.23s ========", 10, 3),
        ("5 passed in 0.02s", 5, 0),
        ("=== 1 failed, 2 passed, 1 skipped, 2 errors in 61.20s (0:01:01) ===", 2, 3),
        ("Tests:       1 failed, 2 passed, 3 total", 2, 1),
        ("      Tests  4 passed (4)", 4, 0),
        ("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured", 3, 2),
        ("  12 passing (40ms)\n  1 failing\n", 12, 1),
        ("Ran 7 tests in 0.003s\n\nFAILED (failures=1, errors=2)", 4, 3),
        ("Ran 7 tests in 0.003s\n\nOK", 7, 0),
        ("ok  \tgithub.com/a/b\t0.012s\nok  \tgithub.com/a/c\t(cached)", 2, 0),
        ("--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tgithub.com/a/b\t0.012s", 0, 3),
        ("# tests 4\n# pass 3\n# fail 1", 3, 1),
        ("2 passed, 0 failed", 2, 0),
    ],
)
def test_summaries_are_counted(summary: str, passed: int, failed: int) -> None:
    if "# tests" in summary:
        summary = summary.replace("# tests 4\n", "")
    assert counted(f"collecting\n{summary}\n") == Counts(passed, failed)


@pytest.mark.parametrize("text", ["", "all is well", "I passed 3 exams in 2 years", "# tests"])
def test_without_a_summary_there_are_no_tests(text: str) -> None:
    assert counted(text) is None


@pytest.mark.parametrize(
    ("tool", "command", "observation", "expected"),
    [
        ("Bash", "make", "Exit code 2\nmake: *** [all] Error 2", "failure"),
        ("Bash", "pytest", "=== 3 passed in 0.1s ===", "success"),
        ("Bash", "pytest | tail", "=== 1 failed, 3 passed in 0.1s ===", "failure"),
        ("Bash", "run", "exit code: 0", "success"),
        ("Bash", "grep x y", "Exit code 1", "unknown"),
        ("Bash", "python x.py", "Traceback (most recent call last):\n  File\nKeyError: 1", "failure"),
        ("Bash", "cat log.txt", "Traceback (most recent call last):\n  File\nKeyError: 1", "success"),
        ("Bash", "cat log.txt && make", "Traceback (most recent call last):\n  File\nKeyError: 1", "unknown"),
        ("Bash", "cat nothing.txt", "cat: nothing.txt: No such file or directory", "failure"),
        ("Bash", "foo", "bash: foo: command not found", "failure"),
        ("Read", "", "1 make\n2 make: *** [all] Error 2\nexit code: 2", "success"),
        ("Bash", "ls", "a\nb", "success"),
        ("Bash", "ls", "", "unknown"),
        ("Bash", "mise run lint", "[lint] $ golangci-lint run ./...\n0 issues.", "success"),
        ("Bash", "mise run lint", "main.go:7:1: unused (deadcode)\n10 issues.", "unknown"),
        ("Bash", "git rebase x", "Rebasing (1/2)Rebasing (2/2)Successfully rebased and updated refs/x.", "success"),
        ("Bash", "git push", "To example.org:a/b.git\n   79392c74..06e93767  x -> x", "success"),
        ("Bash", "git push", "To example.org:a/b.git\n ! [rejected]        x -> x (fetch first)", "unknown"),
        ("Bash", "git commit -m a", "[main 06e9376] a\n 1 file changed", "success"),
        ("Read", None, "def f():\n    raise ValueError('error: fatal')", "success"),
        ("Grep", None, "No files found", "unknown"),
        ("Read", None, "<tool_use_error>File does not exist.</tool_use_error>", "failure"),
        ("Edit", None, "The file /a/b.py has been updated. Here is the result", "success"),
        ("Edit", None, "The user doesn't want to proceed with this tool use.", "failure"),
        ("get_user_details", None, "Error: user not found", "failure"),
        ("get_user_details", None, '{"name": "Bob"}', "unknown"),
        ("cancel_order", None, '{"success": true}', "success"),
        ("cancel_order", None, '{"error": "no such order"}', "failure"),
        ("cancel_order", None, '{"status": "failed"}', "failure"),
        ("http", None, "HTTP/1.1 404 Not Found", "failure"),
        ("http", None, "status: 201", "success"),
        ("http", None, "status: 302", "unknown"),
        ("Bash", "cargo build", "error[E0308]: mismatched types", "failure"),
        ("note", None, "", "unknown"),
        ("note", None, None, "unknown"),
    ],
)
def test_a_result_is_judged_by_its_evidence(
    tool: str, command: str | None, observation: str | None, expected: Outcome
) -> None:
    assert judge(tool, observation, args={"command": command} if command else None) == expected


def test_the_clients_word_comes_first() -> None:
    assert judge("Bash", "3 passed in 1s", is_error=True) == "failure"
    assert judge("Bash", "3 passed in 1s", "boom") == "failure"
    assert judge("Bash", "anything", exit_code=0) == "success"
    assert judge("Bash", "3 passed in 1s", exit_code=1) == "failure"


def test_a_step_is_judged_by_its_tool_or_the_first_word_of_its_action() -> None:
    assert outcome_of(NewStep(action="run tests", observation="1 failed in 0.1s")) == "failure"
    assert outcome_of(NewStep(action="read log", observation="it broke once\nfatal: so it was")) == "success"
    assert outcome_of(NewStep(action="x", tool="Bash", args={"command": 7}, observation="ok")) == "success"


@pytest.mark.parametrize(
    "unit", ["error: ", "{", "1 passed, ", "FAIL ", "a" * 300 + ":", " ", "\n\n", "passed in 1s=", "exit "]
)
def test_hostile_results_are_judged_in_bounded_time(unit: str) -> None:
    begin = time.process_time()
    judge("Bash", unit * (1_000_000 // len(unit)))
    assert time.process_time() - begin < 3


@pytest.mark.parametrize(
    "told",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit).",
        "The user doesn't want to take this action right now. STOP what you are doing and wait for the user.",
        "[Request interrupted by user for tool use]",
        "STOP what you are doing and wait for the user to tell you how to proceed.",
        "aborted by user after 5.0s",
        "Wall time: 5.0 seconds\naborted by user",
        "exec command rejected by user",
        "patch rejected by user",
        "Error: The user rejected permission to use this specific tool call.",
        "<tool_use_error>Cancelled: parallel tool call Bash(make lint) errored</tool_use_error>",
    ],
)
def test_the_person_stopped_a_call_where_its_client_says_so(told: str) -> None:
    by_error = Step(episode_id="e", number=1, action="Edit", at="", tool="Edit", error=told, outcome="failure")
    by_result = replace(by_error, error=None, observation=told, outcome="unknown")
    assert stopped(by_error)
    assert stopped(by_result)
    assert not stopped(replace(by_result, outcome="success"))  # a file that quotes it
    assert not stopped(replace(by_error, error=f"grep: found “{told}”"))
    fine = replace(by_error, error="Error: no such file")
    assert ran([by_error, fine, by_result]) == [fine]
