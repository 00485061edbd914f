"""That one error has one template and two errors have two, for what programs of many kinds print."""

from __future__ import annotations

import pytest

from prowess.learning.templates import template


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            " ! [rejected]        HEAD -> main (fetch first)\nerror: failed to push some refs to '/a/r.git'\n"
            "hint: Updates were rejected because the remote contains work that you do",
            "! [rejected] <str> -> <str> (fetch first)",
        ),
        (
            "remote: error: GH006: Protected branch update failed.\n"
            " ! [remote rejected] main -> main (protected branch hook declined)\nerror: failed to push some refs",
            "! [remote rejected] <str> -> <str> (protected branch hook declined)",
        ),
        (
            "On branch main\nYour branch is up to date.\n\nnothing to commit, working tree clean",
            "nothing to commit, working tree clean",
        ),
        (
            "F401 [*] `os` imported but unused\n --> bad.py:1:8\n\nFound 1 error.\n[*] 1 fixable with `--fix`.",
            "F401 [*] <str> imported but unused",
        ),
        (
            "/a/b.js\n  1:1  error  'x' is not defined  no-undef\n\n\u2716 1 problem (1 error, 0 warnings)",
            "<num> error <str> is not defined no-undef",
        ),
        (
            "/usr/bin/ld: /tmp/cc1.o: in function `main':\nb.c:(.text+0x5): undefined reference to `f'\n"
            "collect2: error: ld returned 1 exit status",
            "<path>:(.text+<hex>): undefined reference to `f'",
        ),
        (
            "make: Entering directory '/a'\nmake: *** No targets specified and no makefile found.  Stop.\n"
            "make: Leaving directory '/a'",
            "make: *** No targets specified and no makefile found. Stop.",
        ),
        (
            "make: Entering directory '/a'\nmake: *** [Makefile:2: all] Error 1\nmake: Leaving directory '/a'",
            "make: *** [Makefile:<num>: all] Error <num>",
        ),
        (
            "npm error code EUSAGE\nnpm error\nnpm error The `npm ci` command can only install with a lockfile",
            "npm error The <str> command can only install with a lockfile",
        ),
    ],
)
def test_the_cause_is_told_and_not_what_follows_from_it(text: str, expected: str) -> None:
    assert template(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("! [rejected] a -> a (fetch first)", "! [rejected]     feature/x -> main (fetch first)"),
        ("Error: pod web-7d4b9c6f5-x2x7q crashed", "Error: pod web-5f6b8d9c7-9mwkz crashed"),
        ("error: cannot open tmpk3j_9x1a", "error: cannot open tmp8h2mq_b2"),
        ("Error: container 3f2a1b9c4d5e exited", "Error: container aa2a1b9c4d5f exited"),
        ("error: job 01HZX3V9K4M2N8P7Q6R5S4T3W2 failed", "error: job 01J2X3V9K4M2N8P7Q6R5S4T3WZ failed"),
        ("Error: cut at Tue Dec  1 05:40:41 2026", "Error: cut at Wed Jan 12 05:41:41 UTC 2027"),
        ("Error: cut at Tue, 01 Dec 2026 05:40:41 GMT", "Error: cut at Wed, 12 Jan 2027 05:41:41 GMT"),
        ("error: left-pad@1.3.0 is gone", "error: left-pad@2.0.1 is gone"),
        ("dial tcp 10.0.0.1:5432: connection refused", "dial tcp 10.2.0.1:5433: connection refused"),
    ],
)
def test_one_error_met_twice_has_one_template(one: str, other: str) -> None:
    assert template(one) == template(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error: sha1 mismatch", "error: sha256 mismatch"),
        ("error: sha256 mismatch", "error: sha512 mismatch"),
        ("error: node18 is missing", "error: node20 is missing"),
        ("error: target es2015 is unknown", "error: target es2022 is unknown"),
        ("error: python310 is missing", "error: python312 is missing"),
        ("error: rs256 is not allowed", "error: hs256 is not allowed"),
        ("error: left-pad@1.3.0 is gone", "error: right-pad@1.3.0 is gone"),
        ("! [rejected] a -> a (fetch first)", "! [rejected] a -> a (stale info)"),
        ("F401 [*] `os` imported but unused\nFound 1 error.", "E711 Comparison to `None`\nFound 1 error."),
    ],
)
def test_two_errors_have_two_templates(one: str, other: str) -> None:
    assert template(one) != template(other)
