"""Of which command lines an exit code of 0 tells that all of it worked."""

from __future__ import annotations

import time

import pytest

from prowess.learning.exit_codes import before_echo, shows, shows_first, untold
from prowess.learning.outcomes import judge
from prowess.storage.models import Outcome


@pytest.mark.parametrize(
    "line",
    [
        "pytest | tail -5",
        'pytest; echo "exit: $?"',
        "make || true",
        "npm run dev &",
        "pnpm dev > log 2>&1 &",
        "for i in 1 2; do uv run pytest -q | tail -1; done",
        "git add -A; git commit -m 'a; b | c'",
        "timeout 20 cargo test 2>&1 | grep -E 'x|y'",
        "FOO=1 make 2>&1 | tee log",
        "cat a && make | tail",
        "make\nls",
        "set -o pipefail; make; ls",
        "set -o pipefail; make || true",
        "docker-compose up || docker compose up; make | tail",
    ],
)
def test_what_ends_behind_another_is_untold(line: str) -> None:
    assert untold(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "pytest -q",
        "cd /x && pytest -q && git commit -m 'a | b; c'",
        "cat log | tail",
        "cd x; grep -rn a . | head",
        "set -o pipefail; pytest | tail",
        "set -euo pipefail\nmake\nmake check",
        "docker-compose up || docker compose up",
        "kill 3; npm start",
        "cat > f.py <<'EOF'\na | b\nEOF\npython f.py",
        "make > out.txt 2>&1",
    ],
)
def test_what_only_shows_may_end_as_it_likes(line: str) -> None:
    assert not untold(line)


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("make && pytest -q | tail -3; echo ${PIPESTATUS[0]}", "make && pytest -q "),
        ("pytest -q 2>&1 |& tee log | tail -3; echo $PIPESTATUS", "pytest -q 2>&1 "),
        ('make | tail; echo "exit: $?"', "make | tail"),
        ("make; echo done", "make; echo done"),
    ],
)
def test_an_echo_of_a_pipe_s_codes_tells_of_its_first_command(line: str, left: str) -> None:
    assert before_echo(line) == left


def test_a_line_that_only_shows_is_known_whatever_it_begins_with() -> None:
    assert shows("cd /srv && cat ci.log | tail -3")
    assert shows("git log --oneline; ls")
    assert shows("git -C lib diff --stat && git branch -a")
    assert shows("find . -name '*.py' | xargs grep -l total | sed 's/py$//'")
    assert shows("grep 'a > b' notes.txt 2>/dev/null")
    assert not shows("cat setup.cfg && pytest -q")
    assert not shows("cd /srv")
    for writes in (
        "cat > setup.cfg",
        "grep total a.txt >> b.txt",
        "find . -name '*.pyc' -delete",
        "find . -name '*.pyc' -exec rm {} +",
        "ls | xargs rm",
        "sed -i s/a/b/ notes.txt",
        "git branch topic",
        "gh pr create --fill",
        "gh api repos/a/b/issues -f title=x",
    ):
        assert not shows(writes)


def test_what_a_line_prints_begins_with_what_its_first_command_shows() -> None:
    assert shows_first("cd /srv && cat build.log && make")
    assert not shows_first("make && cat build.log")
    assert not shows_first("cd /srv")


@pytest.mark.parametrize(
    ("command", "printed", "expected"),
    [
        ("pytest -q 2>&1 | tail -3", "1 failed, 3 passed in 0.1s", "failure"),
        ("pytest -q 2>&1 | tail -3", "4 passed in 0.1s", "success"),
        ("npm install 2>&1 | tail -3", "added 12 packages in 4s", "unknown"),
        ("pytest > out.txt; echo exit: $?", "exit: 1", "failure"),
        ("pytest > out.txt; echo exit: $?", "exit: 0", "success"),
        ("pytest | tail", "E   ModuleNotFoundError: No module named 'shop'", "failure"),
        ("cd infra && terraform plan | tail", "\u2502 Error: No valid credential sources found", "failure"),
        ("eslint . | tail -2", "\u2716 3 problems (3 errors, 0 warnings)", "failure"),
        ("eslint . | tail -2", "\u2716 3 problems (0 errors, 3 warnings)", "unknown"),
        ("ruff check . | tail -1", "Found 3 errors.", "failure"),
        ("ruff check --fix . | tail -1", "Found 3 errors (3 fixed, 0 remaining).", "unknown"),
        ("pnpm test | tail -2", "Test Suites: 1 failed, 11 passed, 12 total\nTests: 80 passed, 80 total", "failure"),
        ("cd /srv; cat ci.log | tail", "Traceback (most recent call last):\nKeyError: 1", "success"),
        ("python demo.py", "Traceback (most recent call last):\nKeyError: 1", "success"),
    ],
)
def test_where_a_code_of_zero_leaves_it_open_what_is_printed_tells(
    command: str, printed: str, expected: Outcome
) -> None:
    assert judge("Bash", printed, args={"command": command}, exit_code=0) == expected


@pytest.mark.parametrize("unit", ["| ", "a;", "'", "<<a\n", "do ", "a=1 ", "( ", "&& "])
def test_hostile_lines_are_read_in_bounded_time(unit: str) -> None:
    begin = time.process_time()
    untold(unit * (2_000 // len(unit)))
    shows(unit * (1_000_000 // len(unit)))
    assert time.process_time() - begin < 2
