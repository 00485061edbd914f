"""What a transcript tells of a task's worth: its last test results, its commit, and how the user took it.

Only what is there counts; a task of which nothing is told stays unknown.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from prowess.learning.exit_codes import shows
from prowess.learning.memories.standing_rules import says_how
from prowess.learning.outcomes import tests_in
from prowess.learning.reward import from_evidence, outcome_of
from prowess.learning.verdict import undoes, verdict_of
from prowess.server.transcripts import languages
from prowess.server.transcripts.model import Call, Task
from prowess.storage.models import Evidence, NewReward, NewStep, Outcome

__all__ = ["Findings", "command_of", "delivers", "evidence_of", "judges", "news", "outcome_of_call"]

_MAY_CHANGE = frozenset(("exit_code", "user"))
JUDGING_WORDS = 12  # beyond, a word of praise or blame says what to do as well

_RUNS_LINE = re.compile(r"-\w{0,4}c|/c|-command", re.IGNORECASE)  # of a shell: what follows is a command line
_GIT = r"\bgit(?:\s+-\S{1,200}(?:\s+[^\s-]\S{0,200})?){0,6}\s+"  # with options before the subcommand
_COMMITS = re.compile(_GIT + r"commit\b")
_REVERTS = re.compile(_GIT + r"(?:revert|reset --hard)\b")
_DELIVERS = re.compile(_GIT + r"(?:commit|push)\b|\bgh pr (?:create|merge)\b")
_PLAYGROUND = re.compile(r"\bgit init\b|\bcd\s+(?:/private)?/tmp\b|\bmktemp\b")
# Commands that judge what was done: test runs, builds, type checks, linters.
_CHECKS = re.compile(
    r"(?:^|[;&|(]|\b(?:run|exec|npx|uvx|time|env)\s)\s*(?:\w{1,60}=\S{0,200}\s+){0,5}(?:[\w./-]{1,200}/)?(?:"
    r"(?:python[\d.]{0,5}\s(?:-\w\s){0,3}-m\s)?"
    r"(?:pytest|unittest|mypy|nose2?|tox|nox|ruff check|flake8|pylint|pyright)\b|"
    r"(?:npm|pnpm|yarn|bun)\s(?:run\s)?(?:test|build|lint|check|typecheck)\b|(?:jest|vitest|mocha|tsc|eslint)\b|"
    r"cargo\s(?:test|build|check|clippy|nextest)\b|go\s(?:test|build|vet)\b|make(?=\s|$)|ninja\b|ctest\b|"
    r"cmake\s--build\b|(?:\./)?gradlew?\b|mvn\b|dotnet\s(?:test|build)\b|rspec\b|rake\b|phpunit\b|mix\stest\b|"
    r"swift\s(?:test|build)\b|bazel\s(?:test|build)\b|"
    r"(?:mise|just|task|pdm|poetry|hatch)\s(?:run\s)?[\w:-]{0,40}(?:test|lint|check|build)\b)"
)
# What Claude Code lets a command print that goes on in the background, and the tools that wait for it.
_IN_BACKGROUND = re.compile(r"[\\/]tasks[\\/]\w{1,80}\.output\b")
_WAITING_TOOLS = frozenset(("TaskOutput", "BashOutput"))
_READING_TOOLS = frozenset(("Read", "Grep"))
_OF_AN_AGENT = re.compile(r"<task_type>(?!local_bash<)")
_CODE_TOLD = re.compile(r"<exit_code>(-?\d{1,10})</exit_code>")
_LINE_NUMBER = re.compile(r"^\s{0,9}\d{1,7}(?:\t|\u2192)", re.MULTILINE)
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] ", re.MULTILINE)
_PUSHES = re.compile(_GIT + r"push\b")
_PUSHED = re.compile(
    r"^ {0,4}[-+*!= ]?\s{0,4}[0-9a-f]{7,40}\.{2,3}([0-9a-f]{7,40})\s{1,80}\S{1,200}\s{1,4}-> ", re.MULTILINE
)
_SHOWN = re.compile(r"(?:^|[ \t])([0-9a-f]{7,40})[ \t]{1,4}(?:\([^)\n]{1,200}\) )?(\S[^\n]{5,200})$", re.MULTILINE)
_BARE_SHA = re.compile(r"^([0-9a-f]{7,40})$", re.MULTILINE)


def outcome_of_call(call: Call) -> Outcome:
    """By the client's own word, else by what the tool answered; a call without an answer is unknown."""
    if call.observation is None:
        return "unknown"
    args = {**call.args, "command": command_of(call)} if command_of(call) else call.args
    step = NewStep(action=call.tool, tool=call.tool, args=args, observation=call.observation)
    return outcome_of(step, exit_code=call.exit_code, is_error=call.is_error)


def command_of(call: Call) -> str:
    """The shell command of a call, however its client writes it; "" for other tools."""
    told = call.args.get("command") or call.args.get("cmd")
    if not isinstance(told, list):
        return told if isinstance(told, str) else ""
    words = [str(word) for word in told]
    return words[-1] if len(words) > 2 and _RUNS_LINE.fullmatch(words[-2]) else shlex.join(words)


def delivers(call: Call) -> bool:
    """Whether it commits or hands in what was done, and was not refused."""
    return bool(_DELIVERS.search(command_of(call))) and not (call.is_error or call.exit_code)


def evidence_of(task: Task) -> dict[str, Any]:
    """What ``learning.reward.from_evidence`` takes; empty where nothing is known."""
    findings = Findings()
    for place, call in enumerate(task.calls):
        findings.take(call, (place,))
    return findings.evidence(task.reactions)


class Findings:
    """What calls tell, taken one by one. They may come in any order: of what they tell the latest by its place counts.

    A place is a tuple of numbers or texts that says what came after what.
    """

    def __init__(self) -> None:
        self._tests: _Found = ((), None)
        self._check: _Found = ((), None)
        self._commit: _Found = ((), None)
        self._reverted: tuple[Any, ...] = ()

    def take(self, call: Call, place: tuple[Any, ...]) -> None:
        """The call at ``place``."""
        command = command_of(call)
        if _shows_background(call, command):
            self._take_background(call.observation or "", place)
        elif _runs(command) and (outcome := outcome_of_call(call)) != "unknown":
            self._take_check(call, command, outcome, place)
        if not (call.is_error or call.exit_code or _PLAYGROUND.search(command)):
            self._take_commit(command, call, place)

    def _take_check(self, call: Call, command: str, outcome: Outcome, place: tuple[Any, ...]) -> None:
        counts = tests_in(call.observation or "")
        if counts is not None and counts.passed + counts.failed:
            # Where it failed although no test did, something else broke: nothing is known.
            known = {"passed": counts.passed, "failed": counts.failed}
            told = known if (counts.failed > 0) == (outcome == "failure") else None
            self._tests = _latest(self._tests, (place, told))
        elif _CHECKS.search(command):
            self._check = _latest(self._check, (place, 0 if outcome == "success" else call.exit_code or 1))

    def _take_background(self, shown: str, place: tuple[Any, ...]) -> None:
        """What was printed by a command that had no result when its call ended."""
        counts = tests_in(_LINE_NUMBER.sub("", shown))
        if counts is None or not counts.passed + counts.failed:
            return
        code = _CODE_TOLD.search(shown)
        known = {"passed": counts.passed, "failed": counts.failed}
        told = known if code is None or (counts.failed > 0) == (int(code[1]) != 0) else None
        self._tests = _latest(self._tests, (place, told))

    def _take_commit(self, command: str, call: Call, place: tuple[Any, ...]) -> None:
        if made := call.commit or _delivered(command, call.observation or ""):
            self._commit = _latest(self._commit, (place, made))
        elif _REVERTS.search(command):
            self._reverted = max(self._reverted, place)

    def evidence(self, reactions: Iterable[str]) -> dict[str, Any]:
        """As ``evidence_of`` tells it.

        Tests are those of the last command that ran some. An exit code is that of the last command that checked the
        work, in a task in which none printed counts of tests. The commit is the last one in the project itself, made or
        pushed, and whether it was taken back afterwards.
        """
        place, sha = self._commit
        found = {
            "tests": self._tests[1],
            "exit_code": None if self._tests[0] else self._check[1],
            "commit": {"sha": sha, "reverted": self._reverted > place} if sha else None,
            "user": _reaction(reactions),
        }
        return {source: value for source, value in found.items() if value is not None}


_Found = tuple[tuple[Any, ...], Any]


def _latest(one: _Found, other: _Found) -> _Found:
    return other if other[0] >= one[0] else one


def news(evidence: Mapping[str, Any], told: Mapping[Evidence, float | None], *, final: bool) -> list[NewReward]:
    """The rewards that ``evidence`` stands for, without those that are ``told`` already (value by source).

    What was told cannot be taken back. So an exit code counts once the task is over, since tests may follow until then,
    and the user's word too, since what was blamed may be mended, and what was praised may be blamed.
    """
    known = {source: value for source, value in evidence.items() if final or source not in _MAY_CHANGE}
    return [
        reward for reward in from_evidence(known) if reward.source not in told or told[reward.source] != reward.value
    ]


def _shows_background(call: Call, command: str) -> bool:
    """Whether it shows what a command printed that the session has in the background, also of one that failed."""
    if call.tool in _WAITING_TOOLS:
        return _OF_AN_AGENT.search(call.observation or "") is None
    if command:
        return shows(command) and _IN_BACKGROUND.search(command) is not None
    read = call.args.get("file_path") or call.args.get("path")
    return call.tool in _READING_TOOLS and isinstance(read, str) and _IN_BACKGROUND.search(read) is not None


def _runs(command: str) -> bool:
    """Whether it does something, so that what it prints is of its own making."""
    return bool(command) and not shows(command)


def _delivered(command: str, said: str) -> str:
    made = _sha(command, said) if _COMMITS.search(command) else ""
    pushed = _PUSHED.findall(said) if not made and _PUSHES.search(command) else []
    return made or (str(pushed[-1]) if pushed else "")


def _sha(command: str, said: str) -> str:
    if found := _COMMITTED.findall(said) or (_BARE_SHA.findall(said) if "rev-parse" in command else []):
        return str(found[-1])
    # A quiet commit may be shown afterwards, as by git log: it is the one with the message that was given.
    return next((sha for sha, subject in _SHOWN.findall(said) if subject.rstrip() in command), "")


def judges(text: str) -> bool:
    """Whether what the user says does little more than to praise or blame what was done.

    What says how work is to be done does more.
    """
    return languages.length(text) <= JUDGING_WORDS and _reaction([text]) is not None and not says_how(text)


_ANOTHER_WAY = re.compile(r"\b(?:instead|rather|redo|retry|this time|try|do (?:it|that))\b", re.IGNORECASE)


def _reaction(said: Iterable[str]) -> str | None:
    """How the user last praised or blamed what was done; a further wish is neither.

    Blame that a further wish follows counts no more: people go on when it was mended, and seldom say so. What was taken
    back is not mended by the next task; by another way of doing it, which is what a wish before the last one asks for.
    """
    last: str | None = None
    texts = list(said)
    for place, text in enumerate(texts):
        verdict = verdict_of(text) or languages.verdict_of(text)
        stays = last != "negative" or (
            place == len(texts) - 1 and undoes(texts[place - 1]) and not _ANOTHER_WAY.search(text)
        )
        last = verdict or (last if stays else None)
    return last
