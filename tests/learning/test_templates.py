from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.learning.templates import SIZE, says_little, telling_line, template

TRACEBACK = """Traceback (most recent call last):
  File "/app/main.py", line 12, in <module>
    run()
  File "/app/jobs.py", line 88, in run
    raise KeyError(name)
KeyError: 'customer'
"""

# What agents' tools really answered, and what stays of it.
REAL = {
    "FAIL src/cart.test.ts\n  \u25cf Test suite failed to run\n    Cannot find module '../a' from 'a.ts'\n"
    "Test Suites: 1 failed, 1 total": "Cannot find module <str> from <str>",
    "FAIL src/cart.test.ts (5 ms)\n    Expected: 1\n    Received: 2\nTests: 1 failed": "FAIL <path> (<num> ms)",
    "ERROR: usage: pytest [options] [file_or_dir]\npytest: error: unrecognized arguments: -n\n": (
        "pytest: error: unrecognized arguments: -n"
    ),
    TRACEBACK: "KeyError: <str>",
    "Exit code 1\n(eval):1: parse error near `('": "(eval):<num>: parse error near `('",
    "Exit code 1\ncat: illegal option -- A\nusage: cat [-belnstuv] [file ...]": "cat: illegal option -- A",
    "Exit code 1\n[lint] $ golangci-lint run ./...\n[lint] ERROR task failed\n\n"
    "cmd/entire/cli/state_test.go:186:2: Error return value is not checked (errcheck)\n1 issues:\n* errcheck: 1": (
        "<path>: Error return value is not checked (errcheck)"
    ),
    "Exit code 1\nAuto-merging cmd/cli/state.go\nCONFLICT (content): Merge conflict in cmd/cli/state.go\n"
    "Automatic merge failed; fix conflicts and then commit the result.": "CONFLICT (content): Merge conflict in <path>",
    "Exit code 1\n.claude/skills/test-repo/test-harness.sh: line 46: /tmp/entire-bin: No such file or directory": (
        "<path>: line <num>: <path>: No such file or directory"
    ),
    "Exit code 128\nfatal: pathspec '.entire/.gitignore' did not match any files\n\n==> Setting up": (
        "fatal: pathspec <str> did not match any files"
    ),
    "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>": (
        "File has not been read yet. Read it first before writing to it."
    ),
    "File does not exist. Note: your current working directory is /home/me/shop.": "File does not exist.",
    "<tool_use_error>String to replace not found in file.\nString: \tif err {\n\t\treturn err</tool_use_error>": (
        "String to replace not found in file."
    ),
    "Exit code 2\n___ ERROR collecting test_a.py ___\nImportError while importing test module '/p/tests/test_a.py'.\n"
    "Hint: make sure your test modules/packages have valid Python names.\nTraceback:\ntests/test_a.py:1: in <module>\n"
    "    from shop import cart\nE   ModuleNotFoundError: No module named 'shop'\n=== short test summary info ===\n"
    "ERROR tests/test_a.py\n1 error in 0.11s": "ModuleNotFoundError: No module named <str>",
    "Exit code 2\n/usr/bin/python: No module named pytest\nmake: *** [Makefile:2: test] Error 1": (
        "<path>: No module named pytest"
    ),
    "make: *** No rule to make target 'tests'.  Stop.": "make: *** No rule to make target <str>. Stop.",
    "Exit code 2\n4 passed, 0 failed\n  \nscripts/seed.sh: trailing blanks, run scripts/tidy.sh\n"
    "make: *** [Makefile:13: check] Error 1": "<path>: trailing blanks, run <path>",
    "Exit code 2\npytest -q\nmake: *** [Makefile:13: check] Error 1": "make: *** [Makefile:<num>: check] Error <num>",
    "Exit code 1\n\n> slugger@1.2.0 lint\n> prettier --check src test\n\nChecking formatting...\n[warn] src/slug.ts\n"
    "[warn] Code style issues found in the above file. Run Prettier with --write to fix.": (
        "[warn] Code style issues found in the above file. Run Prettier with --write to fix."
    ),
    "FAIL tests/price.sh\nError: in prepare, no such column: price\n  select price\n1 passed, 1 failed": (
        "Error: in prepare, no such column: <str>"
    ),
    "unformatted: File would be reformatted\n --> a.py:1:1\ncommit refused: run 'make fmt' first": (
        "commit refused: run <str> first"
    ),
    "Exit code 127\n/bin/bash: line 1: pytest: command not found": "pytest: command not found",
    "Exit code 127\n\n> x@1.0.0 test\n> vitest run\n\nsh: 1: vitest: not found": "vitest: not found",
    "E       AssertionError: assert 3 == 4\nE        +  where 3 = len([1, 2, 3])": (
        "AssertionError: assert <num> == <num>"
    ),
    "E       E   AssertionError: assert 3 == 4": "AssertionError: assert <num> == <num>",
    "TypeError: Cannot read properties of undefined (reading 'map')\n    at render (/src/app.js:3:14)": (
        "TypeError: Cannot read properties of undefined (reading <str>)"
    ),
    "error[E0308]: mismatched types\n --> src/main.rs:12:5": "error[E0308]: mismatched types",
    "src/app.ts(12,5): error TS2304: Cannot find name 'x'.": "<path>: error TS2304: Cannot find name <str>.",
    "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:": (
        "panic: runtime error: index out of range [<num>] with length <num>"
    ),
    "bash: line 1: foo: command not found": "foo: command not found",
    "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Connection refused": (
        "curl: (<num>) Failed to connect to localhost port <num> after <num> ms: Connection refused"
    ),
    "Error: order #W2611340 not found": "Error: order <id> not found",
    "\x1b[31mError: GET https://api.test/v1/users/3 -> 404\x1b[0m": "Error: GET <url> -> <num>",
    "browserType.launch: Executable doesn't exist at /home/me/.cache/x\n  It was just updated.\n  7 failed": (
        "browserType.launch: Executable doesn't exist at <path>"
    ),
    "Error: \nReference Errors:\nSome token references (3) could not be found.": (
        "Some token references (<num>) could not be found."
    ),
    "--- FAIL: TestPing (0.02s)\n    ping_test.go:33: dial tcp 127.0.0.1:6443: connect: connection refused\nFAIL\n"
    "FAIL\tgithub.com/acme/ctl/test\t0.031s\nFAIL": "<path>: dial tcp <num>: connect: connection refused",
    "--- FAIL: TestAge (0.00s)\n    age_test.go:9: got 3, want 4\nFAIL\nFAIL\tacme.test/ctl/age\t0.004s": (
        "--- FAIL: TestAge (<num>)"
    ),
    "F.\n1 failed, 11 passed in 3.20s": "<num> failed, <num> passed in <num>",
    "Exit code 2": "Exit code <num>",
    "": "",
    " \n\t": "",
}


@pytest.mark.parametrize(("text", "expected"), REAL.items())
def test_an_error_is_told_by_its_most_telling_line_without_what_varies(text: str, expected: str) -> None:
    assert template(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("failed at 2026-01-02T03:04:05.123Z", "failed at <time>"),
        ("failed for bob@example.test", "failed for <email>"),
        ("failed in 3f2b8c1e-9d4a-4f6b-8a7c-1e2d3c4b5a69", "failed in <id>"),
        ("failed at 0x7ffee4c0", "failed at <hex>"),
        ("failed at commit 3f2a1b9c", "failed at commit <hex>"),
        (r"failed in C:\Users\bob\x.txt", "failed in <path>"),
        ("failed in ./a/b.py:12:4", "failed in <path>"),
        ("failed: took 1.5s, used 12MB, 97%", "failed: took <num>, used <num>"),
        ("failed for user_48213", "failed for <id>"),
        ('failed with "no such thing"', "failed with <str>"),
        ("int64 and psycopg2 failed", "int64 and psycopg2 failed"),
        ("it can't and doesn't fail", "it can't and doesn't fail"),
    ],
)
def test_what_varies_becomes_a_placeholder_and_words_stay(text: str, expected: str) -> None:
    assert template(text) == expected


def test_the_last_of_several_exceptions_is_told() -> None:
    chained = TRACEBACK + "\nDuring handling of the above exception, another exception occurred:\n\n"
    assert template(chained + TRACEBACK.replace("KeyError: 'customer'", "app.errors.JobError: job 7 died")) == (
        "app.errors.JobError: job <num> died"
    )


def test_equal_failures_in_other_places_have_one_template() -> None:
    one = "Traceback (most recent call last):\n  File \"/a.py\", line 1\nValueError: bad value 12 in '/tmp/x1'"
    other = "Traceback (most recent call last):\n  File \"/b.py\", line 9\nValueError: bad value 7 in '/var/y'"
    assert template(one) == template(other) == "ValueError: bad value <num> in <str>"


@pytest.mark.parametrize("line", ["FAIL\tacme.test/ctl/age\t0.004s", "FAIL src/a.test.ts (5.2 s)"])
def test_that_some_test_failed_says_little(line: str) -> None:
    assert says_little(template(line))


def test_the_telling_line_keeps_its_values() -> None:
    assert telling_line(TRACEBACK) == "KeyError: 'customer'"


def test_a_huge_text_is_read_at_its_ends() -> None:
    assert template("noise\n" * 2_000_000 + "ValueError: bad value 3") == "ValueError: bad value <num>"
    assert len(template("error: " + "word " * 1_000_000)) <= SIZE


PIECES = st.sampled_from(
    [*REAL, "'", '"', "`", "/a/b", "12", "<num>", "<path>", ":", " ", "\n", "0x1f", "a1b2c3d4", "É"]
)


@settings(deadline=None)
@given(st.lists(PIECES | st.text(max_size=12), max_size=8).map("".join))
def test_a_template_is_short_and_its_own_template(text: str) -> None:
    found = template(text)
    assert len(found) <= SIZE
    assert "\n" not in found
    assert template(found) == found
