"""What a transcript tells of a task's worth: its last test results, its commit, and how the user took it.

Only what is there counts; a task of which nothing is told stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from prowess.learning.outcomes import tests_in
from prowess.learning.reward import outcome_of
from prowess.server.transcripts.model import Call, Task
from prowess.storage.models import NewStep, Outcome

__all__ = ["evidence_of", "outcome_of_call"]

FIRST_WORDS = 100  # characters of what a user says next that can be a word on what was done

_REACTION = re.compile(
    r"(?:\W*(?:ok(?:ay)?|yes|yeah|yep|ah|oh|hm+|no|nope)\b)?\W*"
    r"(?:(?:that|it|this|which|all|everything|still|now|the \w+)(?:'s| is| does| did| was| has| just)?\s+)?"
    r"((?:thanks?|thank you|perfect|great|excellent|awesome|brilliant|nice|lgtm|looks? good|well done|love (?:it|this)|"
    r"works?(?: (?:now|great|fine|well|perfectly))?|solved|fixed it|"
    r"(?:still )?(?:fails|failing|broken|not working|wrong|incorrect)|"
    r"(?:still )?(?:doesn'?t|does not|didn'?t|did not|isn'?t) (?:work|compile|build|pass|right|correct|help|fix)\w*|"
    r"not (?:what I|right|correct|working|fixed)|revert (?:it|this|that)|undo (?:it|this|that))\b[^.,;:!?\n]{0,40})",
    re.IGNORECASE,
)
_COMMITS = re.compile(r"\bgit\b[^|;&\n]{0,80}\bcommit\b")
_REVERTS = re.compile(r"\bgit\b[^|;&\n]{0,80}\b(?:revert|reset --hard)\b")
_PLAYGROUND = re.compile(r"\bgit init\b|\bcd\s+(?:/private)?/tmp\b|\bmktemp\b")
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] ", re.MULTILINE)
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
    if isinstance(told, list):
        return str(told[-1]) if told else ""
    return told if isinstance(told, str) else ""


def evidence_of(task: Task) -> dict[str, Any]:
    """What ``learning.reward.from_evidence`` takes; empty where nothing is known."""
    found = {"tests": _tests(task.calls), "commit": _commit(task.calls), "user": _reaction(task.reactions)}
    return {source: value for source, value in found.items() if value is not None}


def _tests(calls: Iterable[Call]) -> Mapping[str, int] | None:
    """Of the last command that ran tests. Where it failed although none did, something else broke: nothing is known."""
    last = None
    for call in calls:
        if not command_of(call) or (outcome := outcome_of_call(call)) == "unknown":
            continue
        counts = tests_in(call.observation or "")
        if counts is not None and counts.passed + counts.failed:
            last = counts if (counts.failed > 0) == (outcome == "failure") else None
    return None if last is None else {"passed": last.passed, "failed": last.failed}


def _commit(calls: Iterable[Call]) -> Mapping[str, Any] | None:
    """The last commit in the project itself, and whether it was taken back afterwards."""
    sha, reverted = "", False
    for call in calls:
        command = command_of(call)
        if call.is_error or call.exit_code or _PLAYGROUND.search(command):
            continue
        if _COMMITS.search(command) and (made := _sha(command, call.observation or "")):
            sha, reverted = made, False
        elif sha and _REVERTS.search(command):
            reverted = True
    return {"sha": sha, "reverted": reverted} if sha else None


def _sha(command: str, said: str) -> str:
    found = _COMMITTED.findall(said) or (_BARE_SHA.findall(said) if "rev-parse" in command else [])
    return str(found[-1]) if found else ""


def _reaction(said: Iterable[str]) -> str | None:
    """The last words with which the user praised or blamed what was done; a further wish is neither."""
    found = [match[1] for text in said if (match := _REACTION.match(text.strip()[:FIRST_WORDS]))]
    return found[-1].strip() if found else None
