from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from prowess.learning.outcomes import Counts, failed, judge, ran, stopped
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
        ("=== RUN TestX\nPASS", 1, 0),
        ("Test Suites: 2 failed, 1 passed, 3 total\nTests:       4 passed, 4 total", 4, 2),
        ("Test Suites: 2 failed, 1 passed, 3 total\nTests:       3 failed, 4 passed, 7 total", 4, 3),
        ("Ran 3 tests in 0.003s\n\nOK (skipped=3)", 0, 0),
        ("Ran 3 tests in 0.003s\n\nFAILED (errors=1, skipped=1)", 1, 1),
        ("Ran 2 tests in 0.003s\n\nFAILED (unexpected successes=1)", 1, 1),
        (" Test Files  3 passed (3)\n      Tests  9 passed (9)\n     Errors  2 errors", 9, 2),
        ("ok  \tx/a\t0.01s [no tests to run]\nok  \tx/b\t0.01s", 1, 0),
        ("\u2139 tests 3\n\u2139 pass 2\n\u2139 fail 1", 2, 1),
        ("[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1", 2, 2),
        ("Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6, Duration: 3 ms - a.dll", 5, 0),
        ("50% tests passed, 1 tests failed out of 2\n\nThe following tests FAILED:", 1, 1),
        ("3 examples, 1 failure, 1 pending", 1, 1),
        ("OK (3 tests, 5 assertions)", 3, 0),
        ("FAILURES!\nTests: 3, Assertions: 5, Failures: 1.", 2, 1),
        (" 3 pass\n 1 fail\n 4 expect() calls", 3, 1),
        ("FAILED | 3 passed | 1 failed (5ms)", 3, 1),
        ("  1 failed\n    a.spec.ts:3:1 > x\n  1 flaky\n    b.spec.ts:3:1 > y\n  4 passed (3.2s)", 4, 1),
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
        ("Bash", "git push", "To example.org:a/b.git\n ! [rejected]        x -> x (fetch first)", "failure"),
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
        ("cancel_order", None, '{"status": "ok"}', "success"),
        ("cancel_order", None, '{"status": "held"}', "unknown"),
        ("cancel_order", None, '{"isError": true}', "failure"),
        ("cancel_order", None, "held\nexit code: 2", "failure"),
        ("Bash", "run", "began\nexit code: 2", "failure"),
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


@pytest.mark.parametrize(
    ("command", "observation", "expected"),
    [
        # The code is that of tail, of true, of the last command.
        ('pytest -q | tail -3; echo "exit: $?"', "1 failed, 3 passed in 0.10s\nexit: 0", "failure"),
        ('pytest -q | tail -3; echo "exit: $?"', "t.py:3: AssertionError\nexit: 0", "unknown"),
        ("pytest -q | tail -3", "Exit code: 0\nWall time: 1 seconds\nOutput:\n1 failed in 0.10s", "failure"),
        ("pytest -q || true", "Exit code: 0\nOutput:\n1 failed in 0.10s", "failure"),
        ("a; echo exit: $?; b; echo exit: $?", "exit: 0\nboo\nexit: 1", "failure"),
        ("a; echo exit: $?; b; echo exit: $?", "exit: 1\nboo\nexit: 0", "failure"),
        # It is told.
        ("make; echo $?", "boo\n2", "failure"),
        ("make; echo $?", "boo\nexit: 0", "success"),
        ("make\necho rc=$?", "boo\nrc=2", "failure"),
        ("make | tail -3; echo ${PIPESTATUS[0]}", "boo\n2", "failure"),
        ('make | tail -3; echo "exit: ${PIPESTATUS[0]}"', "boo\nexit: 0", "success"),
        ("set -o pipefail; make | tail -3; echo exit=$?", "boo\nexit=0", "success"),
        ("grep -q x y; echo $?", "1", "unknown"),
        ("seq 12 | wc -l; date", "12", "unknown"),
        # Not a code of this command.
        ("cat build.log", "boo\nexit code: 1", "success"),
        ("seq 3", "1\n2\n3", "unknown"),
    ],
)
def test_an_exit_code_counts_for_the_command_that_it_is_told_of(
    command: str, observation: str, expected: Outcome
) -> None:
    assert judge("Bash", observation, args={"command": command}) == expected
    if not observation.startswith("Exit code") and expected == "failure":
        assert judge("Bash", observation, args={"command": command}, exit_code=0) == expected


@pytest.mark.parametrize(
    "after",
    [
        "make: *** [Makefile:4: lint] Error 1",
        "a.py:1: error: bad  [x]\nFound 1 error in 1 file (checked 3 source files)",
        "/a/b.js\n  1:1  error  'x' is not defined  no-undef\n\n\u2716 1 problem (1 error, 0 warnings)",
        "ERROR: Coverage failure: total of 50 is less than fail-under=80",
        "FAIL Required test coverage of 80% not reached. Total coverage: 50.00%",
        'Jest: "global" coverage threshold for branches (80%) not met: 50%',
        "Command timed out after 2m 0.0s",
        "1 file would be reformatted, 3 files already formatted",
    ],
)
def test_tests_that_passed_do_not_outweigh_what_failed_behind_them(after: str) -> None:
    assert judge("Bash", f"5 passed in 0.1s\n{after}\n", args={"command": "make check"}) == "failure"


@pytest.mark.parametrize(
    "observation",
    [
        "!!!!!!!!!!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!!!!!!!!!\n4 passed in 0.10s",
        "!!!!!!!!!!! _pytest.outcomes.Exit: KeyboardInterrupt !!!!!!!!!!!\n1 failed in 0.10s",
        "Command timed out after 2m 0.0s\n5 passed in 0.1s",
        "FAIL Required test coverage of 80% not reached. Total coverage: 50.00%\n5 passed in 0.1s",
        "command timed out after 120000 milliseconds",
        "test b ... FAILED",
        "# x/c\nc/c.go:3:4: undefined: y",
        "CMake Error at CMakeLists.txt:3 (find_package):\n  By not providing",
        "collect2: error: ld returned 1 exit status",
        "Bad:2: *** missing separator.  Stop.",
        "ninja: build stopped: subcommand failed.",
        "[INFO] BUILD FAILURE",
        "Build FAILED.\n    0 Warning(s)\n    1 Error(s)",
        "a.cs(3,4): error CS0103: The name 'x' does not exist",
        "  \u00d7 No solution found when resolving dependencies:",
        " ERR_PNPM_FETCH_404  GET https://x: Not Found - 404",
        " ELIFECYCLE  Test failed. See above for more details.",
        "error Command failed with exit code 1.",
        "docker: Error response from daemon: pull access denied",
        'Error from server (NotFound): deployments.apps "x" not found',
        'CREATE TABLE\npsql:m.sql:3: ERROR:  syntax error at or near "x"\nINSERT 0 1',
        'psql: error: connection to server at "x" failed: FATAL:  no',
        "curl: (7) Failed to connect to 127.0.0.1 port 1",
        "  0     0    0     0      0 --:--:-- --:--:-- --:--:--     0curl: (6) Could not resolve host",
        "   abcdef1..abcdef2  x -> x\n ! [remote rejected] main -> main (protected branch hook declined)",
        "Would reformat: a.py\n1 file would be reformatted",
        "[warn] a.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.",
        "1 error, 0 warnings, 0 informations",
        "No tests found, exiting with code 1",
        "python3: can't open file '/a/b.py': [Errno 2] No such file or directory",
    ],
)
def test_what_failed_is_known_by_the_words_of_its_program(observation: str) -> None:
    assert judge("Bash", observation, args={"command": "run"}) == "failure"


@pytest.mark.parametrize(
    "observation",
    [
        "BUILD SUCCESSFUL in 3s",
        "[INFO] BUILD SUCCESS\n[INFO] -----",
        "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.03s",
        "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.",
        "added 5 packages in 1s\n\nfound 0 vulnerabilities",
        "ERROR: pip's dependency resolver does not currently take into account x.\nSuccessfully installed x-1.0",
        "0 errors, 0 warnings, 0 informations",
        "All matched files use Prettier code style!",
        "[100%] Built target x",
    ],
)
def test_what_builds_print_last_tells_that_they_worked(observation: str) -> None:
    assert judge("Bash", observation, args={"command": "run"}) == "success"
    assert judge("Bash", f"> run\n{observation}" + "\nand more" * 50, args={"command": "run; more"}) == "unknown"


@pytest.mark.parametrize(
    ("command", "observation", "expected"),
    [
        ("gh pr create", "https://github.com/a/b/pull/3", "success"),
        ("gh pr create", "pull request create failed: GraphQL: No commits (createPullRequest)", "failure"),
        ("gh pr merge 3", "X Pull request #3 is not mergeable: the base branch policy prohibits the merge.", "failure"),
        ("gh api x -f body=y", '{"url": "https://api.github.com/x", "body": "failed: X "}', "success"),
        ("gh api x -f body=y", '{"message":"Not Found"}gh: Not Found (HTTP 404)', "failure"),
        ("gh run watch 3", "X main CI \u00b7 3\nrun 3 completed with 'failure'", "failure"),
        ("gh workflow run x", "to see runs, try", "unknown"),
        ("gh pr view", "HTTP 401: Bad credentials (https://api.github.com/graphql)", "failure"),
        ("docker ps", "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", "failure"),
        ("kubectl get pods", "Error from server (Forbidden): pods is forbidden", "failure"),
        ("kubectl logs x", "10:00 start\nError from server: 500", "success"),
    ],
)
def test_clients_of_servers_tell_what_was_refused(command: str, observation: str, expected: Outcome) -> None:
    assert judge("Bash", observation, args={"command": command}) == expected


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        ("Success: step 1\nStep 2 failed", "unknown"),
        ("Successfully made 3 files, 0 errors", "success"),
        ("ok  \tx/a\t0.01s [no tests to run]", "unknown"),
        ("testing: warning: no tests to run\nPASS\nok  \tx/a\t0.01s [no tests to run]", "unknown"),
        ("test error_is_raised ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored", "success"),
        ("t.py::test_error_failed PASSED\r\n\x1b[32m1 passed\x1b[0m\x1b[32m in 0.10s\x1b[0m\r\n", "success"),
        ("ERROR: logged by a test\n5 passed in 0.1s", "success"),
        ("ruff....Passed\nmypy....Passed", "unknown"),
    ],
)
def test_success_is_said_only_of_what_ran_and_did_not_fail(observation: str, expected: Outcome) -> None:
    assert judge("Bash", observation, args={"command": "run"}) == expected


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
    "unit",
    [
        "error: ",
        "{",
        "1 passed, ",
        "FAIL ",
        "a" * 300 + ":",
        " ",
        "\n\n",
        "passed in 1s=",
        "exit ",
        " curl: (",
        "# a.go:1:1\n",
        "  1 failed\n",
    ],
)
def test_hostile_results_are_judged_in_bounded_time(unit: str) -> None:
    begin = time.process_time()
    judge("Bash", unit * (1_000_000 // len(unit)), args={"command": f";echo {unit}" * 100_000})
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


def test_a_step_failed_by_its_error_or_by_what_was_made_of_its_result() -> None:
    fine = Step(episode_id="e", number=1, action="Edit", at="", tool="Edit", outcome="unknown")
    assert not failed(fine)
    assert not failed(replace(fine, outcome="success"))
    assert failed(replace(fine, error="boom"))
    assert failed(replace(fine, outcome="failure"))


def test_what_one_of_several_commands_says_last_tells_nothing_of_those_behind_it() -> None:
    told = "Successfully installed x-1.0\nbad config"
    assert judge("Bash", told, args={"command": "cd a && pip install x"}) == "success"
    assert judge("Bash", told, args={"command": "pip install x; python run.py"}) == "unknown"
    both = "Collecting x\nBUILD SUCCESSFUL in 3s\n"
    assert judge("Bash", both, args={"command": "pip install x && ./gradlew build"}) == "success"
