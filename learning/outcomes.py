"""What a tool's result says about whether the call worked.

Only evidence counts: the client's own error, an exit code, a test summary, a traceback or a shell's complaint. What a
tool merely shows (a file that holds the word "error", a log) is no evidence, so tools and commands that read are judged
by their own complaints alone: they failed where they complain, and worked where they show anything else. An exit code
of 0 counts for what it is told of: of ``pytest | tail`` what is printed tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prowess.learning.exit_codes import shows, shows_first, untold
from prowess.learning.text import ends, plain
from prowess.storage.models import Outcome, Step

__all__ = ["Counts", "failed", "judge", "ran", "reads", "says_stopped", "stopped", "tests_in"]

LOOKED_AT = 20_000  # characters of a result's start and end

_READING_TOOLS = re.compile(
    r"(?i)(?<![^\W_])(?:(?:read|view|cat|grep|glob|ls|list|search|fetch|find|get|open|show|think)(?![^\W_])|todo|web\w)"
)
_FETCHES = re.compile(r"\s*gh ")  # also of what it writes, it prints what somebody wrote
_SHOWING_TOOLS = frozenset(("read", "grep", "glob", "ls", "view", "cat", "notebookread"))
_NOTHING = re.compile(
    r"(?i)\s{0,9}(?:\(?no (?:files|match(?:es)?|results?|content|output)\b|0 (?:results|matches)\b|$)"
)
_SEVERAL_COMMANDS = re.compile(r"&&|\|\||;|\n")
_SEARCHING_COMMANDS = re.compile(
    r"(?:^|[|;&]\s{0,8})\s{0,8}(?:grep|egrep|fgrep|rg|ag|diff|cmp|test|\[|pgrep|which|git (?:diff|grep))\b"
    r"[^|;&]{0,2000}$"
)

_EXIT_CODE = re.compile(
    r"(?im)^\W{0,8}(?:(?:command |process )?(?:exit|exited|finished|terminated)(?: with)?"
    r"(?: (?:non-zero )?(?:exit )?(?:status|code))?"
    r"|exit[_ ]?code|exit[_ ]?status|return ?code)[\s:=]{1,3}(-?\d{1,5})\b"
)
_REFUSED = re.compile(
    r"\s{0,9}(?:<tool_use_error>|<error>|The user doesn't want to |\[Request interrupted|"
    r"Permission to use .{0,4000} has been denied|Agent type .{0,200} not found)",
    re.DOTALL,
)
# What clients answer in the place of a call that the person rejected or interrupted, or that they dropped since another
# one of the same moment failed: Claude Code, Codex, OpenCode.
_STOPPED = re.compile(
    r"\s{0,9}(?:Error: )?(?:The user doesn't want to (?:proceed with this tool use|take this action)|"
    r"(?:<tool_use_error>)?(?:Cancelled: parallel tool call\b|Sibling tool call errored\b)|"
    r"\[Request interrupted by user|STOP what you are doing\b|"
    r"(?:Wall time: [\d.]{1,12} seconds\s{1,9})?aborted by user\b|(?:exec command|patch) rejected by user\b|"
    r"The user rejected permission to use this specific tool call)"
)
_TOLD = re.compile(
    r"(?i)\s{0,9}(?:(?:mcp )?(?:error|fatal|exception|failed|failure|invalid \w{1,30})\b\s{0,3}[:!\-(]|"
    r"(?:unable|failed|not able) to )"
)
_COMPLAINT = re.compile(
    r"(?m)^(?:(?:/bin/)?(?:ba|z|k|da)?sh(?:: line \d{1,6})?:|\(eval\):\d{1,6}:|-bash:|zsh:\d{0,6}:?).{0,300}$"
    r"|^[\w./-]{1,80}: (?:[^\n:]{1,200}: )?(?:command not found|No such file or directory|"
    r"Permission denied|not found|illegal option|"
    r"unrecognized option|invalid option|cannot .{1,200})"
)
_FAILURE = re.compile(
    r"(?m)^(?:[E\u2502] {1,8})?(?:Traceback \(most recent call last\):|panic: |fatal: |npm (?:ERR!|error)|"
    r"error(?:\[E\d{4}\])?: |ERROR: |"
    r"make(?:\[\d\])?: \*\*\* |CONFLICT \(|Automatic merge failed|Segmentation fault|BUILD FAIL|FAILURE: |"
    r"thread '.{1,80}' panicked|Error: |ImportError while loading conftest|FAILED: (?!0\b)|FATAL ERROR: |"
    r"Found [1-9]\d{0,6} errors?\b(?! \(\d{1,6} fixed, 0 remaining)|\u2716 [1-9]\d{0,6} problems? \([1-9]|"
    r".{0,80} ERROR task failed|"
    r"(?:\w{1,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception): )"
    r"|^\S{1,200}:\d{1,6}:\d{1,6}: error|: error TS\d{3,5}:|Killed$|\bcore dumped\b"
)
# What every match of _COMPLAINT and of _FAILURE holds one of: looking for that first is ten times faster.
_COMPLAINT_SIGNS = ("sh:", "(eval):", "not found", "No such file", "Permission denied", " option", ": cannot ")
_FAILURE_SIGNS = (
    "rror", "ERR", "Exception: ", "Traceback", "panic", "fatal: ", "***", "CONFLICT (", "merge failed",
    "Segmentation fault", "BUILD FAIL", "FAILURE: ", "Killed", "core dumped", "FAILED: ",
)  # fmt: skip
_DONE = re.compile(
    r"(?i)\s{0,9}(?:the file .{1,500} has been (?:updated|created)|file (?:created|written) |success(?:fully)?\b|"
    r"todos have been modified|ok\s{0,9}$|done\.?\s{0,9}$|all checks passed|build succe)"
)
# What linters, type checkers and git print at the end of what went well.
_WORKED = re.compile(
    r"(?m)^(?:\[[\w:/-]{1,40}\] )?(?:0 issues\.?|All checks passed!|Success: no issues found\b.{0,80})\s{0,3}$"
    r"|^(?:Rebasing \(\d{1,4}/\d{1,4}\)\r?){0,200}Successfully rebased and updated |^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] "
    r"|^ {0,4}[-+*!= ]?\s{0,4}(?:[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|\[new (?:branch|tag)\])\s{1,80}\S{1,200}\s{1,4}-> "
)
_WORKED_SIGNS = ("0 issues", "All checks passed!", "no issues found", "Successfully rebased", "] ", " -> ")
_HTTP = re.compile(r"(?im)^(?:HTTP/\d(?:\.\d)? |(?:http )?status(?:[_ ]?code)?[\s:=]{1,3})([1-5]\d\d)\b")


class Counts(NamedTuple):
    """Counts of a test run's summary; an error counts as failed."""

    passed: int
    failed: int


# What every match holds, the pattern of a summary, and that of its words for what failed.
_SUMMARIES: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (sign, re.compile(line, re.MULTILINE), re.compile(failed))
    for sign, line, failed in (
        # pytest, also with -q; jest, vitest
        (
            " in ",
            r"^=*\s{0,3}((?:\d{1,7} (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)"
            r"{1,8}) in [\d.:]{1,12}\s?m?s?",
            r"failed|error",
        ),
        ("Tests", r"^\s{0,8}Tests:?\s{1,8}((?:\d{1,7} \w{1,12}(?:, | \| )?){1,6})", r"failed"),
        # cargo; mocha
        ("test result: ", r"^test result: \w{2,6}\. (\d{1,7} passed; \d{1,7} failed)", r"failed"),
        (
            " passing",
            r"^\s{1,8}(\d{1,7} passing\b(?:[^\n]{0,40}\n(?:\s{1,8}\d{1,7} pending\n)?\s{1,8}\d{1,7} failing)?)",
            r"failing",
        ),
        # a plain closing line, TAP and node's runner
        (" passed, ", r"^\W{0,3}(?:\w{1,20}: )?(\d{1,7} passed, \d{1,7} failed)", r"failed"),
        ("# pass ", r"^# (pass \d{1,7}\n# fail \d{1,7})", r"fail"),
    )
)
# Of jest and vitest: a file that could not be run has no tests to be counted.
_SUITES = re.compile(r"^\s{0,8}Test (?:Suites|Files):?\s{1,8}(\d{1,7}) failed", re.MULTILINE)
_COUNT = re.compile(r"(\d{1,7}) ([a-z]{2,12})|(pass|fail) (\d{1,7})")
_GO = re.compile(
    r"(?m)^(?:(ok)\s{1,4}\S{1,300}\s{1,4}(?:\(cached\)|[\d.]{1,12}s)|(FAIL)[ \t]{1,4}\S{1,300}|"
    r"(--- FAIL): |(FAIL)$|(PASS)$)"
)
_UNITTEST = re.compile(
    r"(?m)^Ran (\d{1,7}) tests? in [\d.]{1,12}s\s{1,4}(OK|FAILED)"
    r"(?: \((?:failures=(\d{1,7}))?(?:, )?(?:errors=(\d{1,7}))?)?"
)


def judge(
    tool: str | None = None,
    observation: str | None = None,
    error: str | None = None,
    *,
    args: Mapping[str, Any] | None = None,
    exit_code: int | None = None,
    is_error: bool | None = None,
) -> Outcome:
    """Success, failure or unknown, from what a call came back with.

    ``is_error`` and ``exit_code`` are the client's own word, ``args["command"]`` a shell's command line.
    """
    if is_error or (error and error.strip()):
        return "failure"
    text = ends(plain(observation or ""), LOOKED_AT)
    command = str((args or {}).get("command") or (args or {}).get("cmd") or "")
    shown = not command and (tool or "").lower() in _SHOWING_TOOLS  # an exit code in a file is that of something else
    code = exit_code if exit_code is not None or shown else _exit_code(text)
    if code == 0 and exit_code is not None and untold(command):
        echoed = _exit_code(text)
        return _by_text(text) if echoed is None else _by_exit(echoed, "")
    if code is not None:
        return _by_exit(code, command)
    if _REFUSED.match(text):
        return "failure"
    of_before = reads(tool or "") if not command else shows_first(command) or _FETCHES.match(command) is not None
    return _by_complaint(text, tool or "", command) if of_before else _by_text(text)


def stopped(step: Step) -> bool:
    """Whether the person rejected or interrupted a call: that says what they want, and nothing of the tool."""
    return step.outcome != "success" and says_stopped(step.error or step.observation or "")


def says_stopped(text: str) -> bool:
    """Whether a client says so in the place of a call's result, or of its error's template."""
    return _STOPPED.match(text) is not None


def ran(steps: Sequence[Step]) -> list[Step]:
    """The steps that something can be learned from: all but those that the person stopped."""
    return [step for step in steps if not stopped(step)]


def failed(step: Step) -> bool:
    """Whether a step that ``ran`` failed, by its error or by what was made of its result."""
    return bool(step.error) or step.outcome == "failure"


def reads(tool: str = "", command: str = "") -> bool:
    """Whether a call, by its shell command or else by its tool, only shows what was there before."""
    return shows(command) if command else _READING_TOOLS.search(tool) is not None


def _by_exit(code: int, command: str) -> Outcome:
    """A search or a comparison that finds nothing exits with 1, and has not failed."""
    if code == 1 and _SEARCHING_COMMANDS.search(command):
        return "unknown"
    return "success" if code == 0 else "failure"


def _exit_code(text: str) -> int | None:
    match = _EXIT_CODE.match(text) or _EXIT_CODE.search(text[-300:])
    return int(match[1]) if match else None


def _by_complaint(text: str, tool: str, command: str) -> Outcome:
    """Of several commands in a line, what is shown may be the first one's alone; other programs' tools may say no."""
    if _TOLD.match(text) or (len(text) < 400 and _COMPLAINT.match(text)):
        return "failure"
    one = not _SEVERAL_COMMANDS.search(command) if command else tool.lower() in _SHOWING_TOOLS
    return "success" if one and not _NOTHING.match(text) else "unknown"


def _by_text(text: str) -> Outcome:
    if tests := tests_in(text):
        return "failure" if tests.failed else "success" if tests.passed else "unknown"
    if (told := _by_json(text)) != "unknown":
        return told
    if _TOLD.match(text) or _complains(text) or _fails(text):
        return "failure"
    if status := _HTTP.search(text):
        return "failure" if int(status[1]) >= 400 else "success" if int(status[1]) < 300 else "unknown"
    return "success" if _DONE.match(text) or _worked(text) else "unknown"


def _worked(text: str) -> bool:
    return any(sign in text for sign in _WORKED_SIGNS) and _WORKED.search(text) is not None


def _complains(text: str) -> bool:
    return any(sign in text for sign in _COMPLAINT_SIGNS) and _COMPLAINT.search(text) is not None


def _fails(text: str) -> bool:
    return any(sign in text for sign in _FAILURE_SIGNS) and _FAILURE.search(text) is not None


def _by_json(text: str) -> Outcome:
    """What an object such as ``{"success": false}`` or ``{"error": "…"}`` says of itself."""
    if not text.lstrip().startswith("{"):
        return "unknown"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "unknown"
    for name in ("success", "ok", "succeeded"):
        if isinstance(value.get(name), bool):
            return "success" if value[name] else "failure"
    if (
        value.get("error")
        or value.get("isError") is True
        or str(value.get("status")).lower() in ("error", "failed", "failure")
    ):
        return "failure"
    return "success" if str(value.get("status")).lower() in ("ok", "success", "succeeded") else "unknown"


def tests_in(text: str) -> Counts | None:
    """What the summaries of pytest, unittest, jest, mocha, cargo, go and TAP in ``text`` add up to; None for none."""
    summaries = [(line, failed) for sign, line, failed in _SUMMARIES if sign in text]
    found = [_counts(match[1], failed) for line, failed in summaries for match in line.finditer(text)]
    if "Ran " in text:
        found += [_unittest(match) for match in _UNITTEST.finditer(text)]
    if lines := [match.lastindex or 0 for match in _GO.finditer(text)]:
        failed = sum(index in (2, 3, 4) for index in lines)
        found.append(Counts(len(lines) - failed, failed))
    if "Test " in text and not any(one.failed for one in found):
        found += [Counts(0, int(match[1])) for match in _SUITES.finditer(text)]
    return Counts(sum(one.passed for one in found), sum(one.failed for one in found)) if found else None


def _counts(summary: str, failing: re.Pattern[str]) -> Counts:
    passed = failed = 0
    for number, word, tap, tap_number in _COUNT.findall(summary):
        name, count = word or tap, int(number or tap_number)
        if name.startswith("pass"):
            passed += count
        elif failing.match(name):
            failed += count
    return Counts(passed, failed)


def _unittest(match: re.Match[str]) -> Counts:
    failed = int(match[3] or 0) + int(match[4] or 0) or (match[2] == "FAILED")
    return Counts(int(match[1]) - failed, int(failed))
