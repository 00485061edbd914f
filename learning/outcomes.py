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
from typing import Any

from prowess.learning.exit_codes import before_echo, does_several, echoes, shows, shows_first, untold
from prowess.learning.summaries import Counts, last_summary, tests_in
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
_LAST_NUMBER = re.compile(r"(?:^|[\s:=(\[])(\d{1,3})[\])\s]{0,9}$")
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
    r"(?i)\s{0,9}(?!ERROR: pip's dependency resolver )"
    r"(?:(?:mcp )?(?:error|fatal|exception|failed|failure|invalid \w{1,30})\b\s{0,3}[:!\-(]|"
    r"(?:unable|failed|not able) to )"
)
_COMPLAINT = re.compile(
    r"(?m)^(?:(?:/bin/)?(?:ba|z|k|da)?sh(?:: line \d{1,6})?:|\(eval\):\d{1,6}:|-bash:|zsh:\d{0,6}:?).{0,300}$"
    r"|^[\w./-]{1,80}: (?:[^\n:]{1,200}: )?(?:command not found|No such file or directory|"
    r"Permission denied|not found|illegal option|"
    r"unrecognized option|invalid option|(?:cannot|can't) .{1,200})"
)
_FAILURE = re.compile(
    r"(?m)^(?:[E\u2502] {1,8})?(?:Traceback \(most recent call last\):|panic: |fatal: |npm (?:ERR!|error)|"
    r"error(?:\[E\d{4}\])?: |ERROR: (?!pip's dependency resolver )|"
    r"make(?:\[\d\])?: \*\*\* |CONFLICT \(|Automatic merge failed|Segmentation fault|BUILD FAIL|FAILURE: |"
    r"thread '.{1,80}' panicked|Error: |ImportError while loading conftest|FAILED: (?!0\b)|FATAL ERROR: |"
    r"Found [1-9]\d{0,6} errors?\b(?! \(\d{1,6} fixed, 0 remaining)|\u2716 [1-9]\d{0,6} problems? \([1-9]|"
    r".{0,80} ERROR task failed|"
    r"(?:\w{1,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception): )"
    r"|^\S{1,200}:\d{1,6}:(?:\d{1,6}:)? error|: error (?:TS|CS|FS|MSB|NU|NETSDK)\d{3,5}:|Killed$|\bcore dumped\b"
    # Build programs
    r"|^(?:CMake Error|ninja: (?:error|build stopped)|Errors while running CTest|The following tests FAILED:"
    r"|Build FAILED\.|\[INFO\] BUILD FAILURE|\[ERROR\] (?:COMPILATION ERROR|Failed to execute goal)"
    r"|\S{1,200}:\d{1,6}: \*\*\* "
    r"|# \S{1,200}\n(?:vet: )?\S{1,200}\.go:\d{1,6}:\d{1,6}: |test \S{1,200} \.\.\. FAILED$|  evaluation failed"
    r"|(?:collect2|clang|gcc|g\+\+|psql|pytest|[\w.-]{1,40}\.py): (?:fatal )?error: )"
    # Package managers, clients of servers
    r"|^(?: ?ERR_PNPM_\w| ?ELIFECYCLE |error Command failed with|  \u00d7 No solution found"
    r"|psql:\S{1,200}: (?:ERROR|FATAL): |(?:docker: )?Error (?:response from daemon|from server)"
    r"|Cannot connect to the Docker daemon"
    r"|The connection to the server \S{1,200} was refused| ! \[(?:remote )?rejected\]|(?:.{0,100} )?\d{0,3}curl: \(\d)"
    # Checks of form
    r"|^(?:\d{1,6} files? would be reformatted|\[warn\] Code style issues found|Diff in \S{1,200}:\d{1,6}:$"
    r"|[1-9]\d{0,6} errors?, \d{1,6} warnings?|No tests found, exiting with code 1$)"
)
# What no tests that passed outweigh.
_CUT_SHORT = re.compile(
    r"(?m)^(?:<\w{1,20}>)?[Cc]ommand timed out\b|^!{3,80} \S{0,80}KeyboardInterrupt !|^FAIL Required test coverage "
    r"|^Jest: .{1,200} not met\b|^(?:ERROR: )?Coverage failure: "
)
# What every match of _COMPLAINT and of _FAILURE holds one of: looking for that first is ten times faster.
_COMPLAINT_SIGNS = ("sh:", "(eval):", "not found", "No such file", "Permission denied", " option", ": can")
_FAILURE_SIGNS = (
    "rror", "ERR", "Exception: ", "Traceback", "panic", "fatal: ", "***", "CONFLICT (", "merge failed",
    "Segmentation fault", "BUILD FAIL", "FAILURE: ", "Killed", "core dumped", "FAILED",
    "FAILURE", "build stopped", "rejected]", "curl: (", "ELIFECYCLE", "No solution found", "was refused",
    "Cannot connect", "evaluation failed", "would be reformatted", "style issues", "Diff in ", "exiting with code",
    ".go:",
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
# What builds and installers print last; what an earlier one of several commands prints would tell nothing.
_WORKED_LAST = re.compile(
    r"(?m)^(?:BUILD SUCCESSFUL in |\[INFO\] BUILD SUCCESS$|Apply complete! Resources: |Successfully installed \S"
    r"|All matched files use Prettier code style!|\s{4}Finished [`\w]|found 0 vulnerabilities"
    r"|0 errors, \d{1,6} warnings?\b|\[100%\] Built target )"
)
_LAST = 300  # characters
_STILL_FAILED = re.compile(r"(?i)(?<!\b0 )(?<!\bno )\b(?:failed|failures?|errors?)\b")  # behind "Success: step 1"
# What gh prints of what it wrote: an address, a tick, or what an interface answered.
_GH_DID = re.compile(r"(?m)^(?:https://\S{1,300}$|\u2713 |\[?\{\"(?!message\"|errors\"))")
_GH_DID_NOT = re.compile(
    r"(?m)^(?:X |! |HTTP [45]\d\d: |GraphQL: |gh: |You are not logged into |(?:[a-z]{1,20} ){1,4}failed: )"
    r"|gh: [^\n]{1,200} \(HTTP [45]\d\d\)\s{0,9}$"
)
_OF_SERVER = re.compile(
    r"\s{0,9}(?:(?:docker: )?Error (?:response from daemon|from server)"
    r"|Cannot connect to the Docker daemon"
    r"|The connection to the server \S{1,200} was refused|HTTP [45]\d\d: |GraphQL: |You are not logged into )"
)
_HTTP = re.compile(r"(?im)^(?:HTTP/\d(?:\.\d)? |(?:http )?status(?:[_ ]?code)?[\s:=]{1,3})([1-5]\d\d)\b")


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
    code = exit_code if exit_code is not None or shown else _headed(text)
    echoed = None if shown else _echoed(text, command)
    if code or echoed:
        return _by_exit(code or echoed or 0, before_echo(command))
    if code == 0 and not untold(command):
        return "success"
    if echoed == 0 and not untold(before_echo(command)):
        return "success"
    if code == 0:
        return _by_text(text, command)
    if _REFUSED.match(text):
        return "failure"
    of_before = reads(tool or "") if not command else shows_first(command) or _FETCHES.match(command) is not None
    return _by_complaint(text, tool or "", command) if of_before else _by_text(text, command)


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


def _headed(text: str) -> int | None:
    """The exit code that a client writes above a result."""
    match = _EXIT_CODE.match(text)
    return int(match[1]) if match else None


def _echoed(text: str, command: str) -> int | None:
    """The exit code in a result's last lines, of several one that is not 0; a log that is shown may hold any."""
    asked = echoes(command)
    if not asked and command and shows(command):
        return None
    codes = [int(match[1]) for match in _EXIT_CODE.finditer(text[-_LAST:])]
    if asked and (last := _LAST_NUMBER.search(text[-_LAST:])):
        codes.append(int(last[1]))
    return next((code for code in codes if code), codes[0] if codes else None)


def _by_complaint(text: str, tool: str, command: str) -> Outcome:
    """Of several commands in a line, what is shown may be the first one's alone; other programs' tools may say no."""
    if _TOLD.match(text) or _OF_SERVER.match(text) or (len(text) < 400 and _COMPLAINT.match(text)):
        return "failure"
    if _FETCHES.match(command) and not shows(command):
        return "failure" if _GH_DID_NOT.search(text) else "success" if _GH_DID.search(text) else "unknown"
    one = not _SEVERAL_COMMANDS.search(command) if command else tool.lower() in _SHOWING_TOOLS
    return "success" if one and not _NOTHING.match(text) else "unknown"


def _by_text(text: str, command: str) -> Outcome:
    if _CUT_SHORT.search(text):
        return "failure"
    if tests := tests_in(text):
        after = text[last_summary(text) :]
        failed = tests.failed or _complains(after) or _fails(after)
        return "failure" if failed else "success" if tests.passed else "unknown"
    if (told := _by_json(text)) != "unknown":
        return told
    if _TOLD.match(text) or _complains(text) or _fails(text):
        return "failure"
    if status := _HTTP.search(text):
        return "failure" if int(status[1]) >= 400 else "success" if int(status[1]) < 300 else "unknown"
    if done := _DONE.match(text):
        first = done[0].strip().lower().startswith("success")
        partly = first and (does_several(command) or _STILL_FAILED.search(text, done.end()))
        return "success" if not partly or _worked(text, command) else "unknown"
    return "success" if _worked(text, command) else "unknown"


def _worked(text: str, command: str) -> bool:
    last = text.rstrip().rpartition("\n")[2] if does_several(command) else text[-_LAST:]
    if _WORKED_LAST.search(last):
        return True
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
