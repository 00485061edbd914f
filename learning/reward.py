"""Rewards from evidence: what a result tells of its outcome, and what tests, exit codes, users and commits are worth.

Nothing known stays unknown: an outcome that no rule can tell is ``unknown``, never success.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from prowess.learning.outcomes import judge, tests_in
from prowess.learning.verdict import verdict_of
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Evidence, NewReward, NewStep, Outcome, Step

__all__ = ["HIGHEST", "from_evidence", "outcome_of"]

HIGHEST = 10.0
USER_WORDS = 8.0  # what a user's plain yes or no is worth; a number counts as it is
FEW_WORDS = 8  # an answer to whether it worked; in more words people say what to do next
FAILED_TESTS = -8.0  # no test passed; with some passed it is less bad
COMMITTED = 6.0
REVERTED = -8.0
EXIT_OK = 3.0  # a zero exit says little about the task
EXIT_FAILED = -5.0

_YES = re.compile(
    r"\b(?:thanks?|thank you|works?|worked|working|great|perfect|good|excellent|nice|lgtm|approved?|accepted?|"
    r"positive|yes|correct|solved|fixed|success(?:ful|fully)?|merged?|love|ok(?:ay)?|awesome|brilliant)\b|👍|✅|🎉",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\b(?:wrong|bad|broken|breaks?|broke|fail(?:s|ed|ure)?|reject(?:ed|s)?|negative|no|incorrect|revert(?:ed)?|"
    r"undo|error|terrible|useless|stop|worse|bug(?:gy)?|still (?:not|fails?|broken|doesn't))\b|👎|❌"
    r"|\b(?:not|never|isn't|doesn't|didn't|don't|won't|can't)\b(?:\s\w{1,20}){0,3}",
    re.IGNORECASE,
)
_NO_PROBLEM = re.compile(
    r"\b(?:no|zero|without(?: any)?) (?:problem|issue|error|bug|failure|complaint|worrie)s?\b|\bnot (?:bad|a problem)\b"
    r"|\bcan't complain\b|\bnothing (?:failed|broke|is (?:broken|wrong))\b",
    re.IGNORECASE,
)
# As agents write them by hand: "3 passed", "2 failed, 3 passed"
_BARE_COUNT = re.compile(r"(\d{1,7}) (?:tests? )?(pass|fail|error)")
_BARE_COUNTS = re.compile(
    r"\d{1,7} (?:tests? )?(?:passed|failed|errors?)(?:, \d{1,7} (?:passed|failed|errors?|skipped)){0,3}"
)
_COUNTS = {
    "passed": ("passed", "pass", "passing"),
    "failed": ("failed", "fail", "failing", "failures"),
    "errors": ("errors", "error"),
    "skipped": ("skipped", "skip", "pending", "ignored", "todo"),
    "total": ("total", "tests", "count"),
}
_SHA = re.compile(r"[0-9a-fA-F]{7,64}")
_HINT = (
    'evidence takes "tests" ({"passed": 3, "failed": 0}, a summary line, "passed" or "failed"), '
    '"exit_code" (a whole number), "user" (words, "positive", "negative", "neutral", or a number in [-10, 10]) '
    'and "commit" (a sha, or {"sha": …, "reverted": …})'
)


def outcome_of(step: Step | NewStep, *, exit_code: int | None = None, is_error: bool | None = None) -> Outcome:
    """What became of a step, by its error and observation; ``exit_code`` and ``is_error`` are the client's own word."""
    tool = step.tool or step.action.partition(" ")[0]
    return judge(tool, step.observation, step.error, args=step.args, exit_code=exit_code, is_error=is_error)


def from_evidence(evidence: Mapping[str, Any]) -> list[NewReward]:
    """The rewards that ``evidence`` stands for, one for each source it names, in a fixed order.

    ``tests``: +10 when all passed (at least one), else between -8 (none passed) and 0 by the share that passed; an
    error counts as a failure. ``exit_code``: 0 is +3, anything else -5. ``user``: plain approval +8, plain rejection
    -8, a number is taken as it is; words that say neither, or both, are kept as an uncertain reward (None). ``commit``:
    +6, or -8 when it was reverted. A source whose value is None is left out.

    Other names are left to the caller. Raises InvalidInput, with what to send instead, for a value of another shape.
    """
    return [
        NewReward(value=value(evidence[source]), source=source, evidence={source: evidence[source]})
        for source, value in _SOURCES.items()
        if evidence.get(source) is not None
    ]


def _tests(value: Any) -> float | None:
    if isinstance(value, Mapping):
        return _counted(value)
    if isinstance(value, bool):
        return HIGHEST if value else FAILED_TESTS
    if not isinstance(value, str):
        raise _off("tests", value)
    word = value.strip().lower()
    if word in ("passed", "pass", "ok", "green", "success"):
        return HIGHEST
    if word in ("failed", "fail", "failure", "error", "red"):
        return FAILED_TESTS
    if (counts := tests_in(value)) is not None:
        return _share(counts.passed, counts.failed, 0)
    if _BARE_COUNTS.fullmatch(word):
        number = {name: int(count) for count, name in _BARE_COUNT.findall(word)}
        return _share(number.get("pass", 0), number.get("fail", 0), number.get("error", 0))
    raise _off("tests", value)


def _counted(value: Mapping[str, Any]) -> float | None:
    """Counts under the names that test programs use. Of a total, what neither passed nor was left out failed."""
    # Several names of one number tell it once; what was left out for several reasons adds up.
    told = {
        name: (sum if name == "skipped" else max)(_count(value, key) for key in keys) for name, keys in _COUNTS.items()
    }
    if not any(key in value for name in ("passed", "failed", "errors") for key in _COUNTS[name]):
        raise _off("tests", value)
    if not any(key in value for name in ("failed", "errors") for key in _COUNTS[name]):
        told["failed"] = max(0, told["total"] - told["passed"] - told["skipped"])
    return _share(told["passed"], told["failed"], told["errors"])


def _share(passed: int, failed: int, errors: int) -> float | None:
    if passed + failed + errors == 0:
        return None
    if failed + errors == 0:
        return HIGHEST
    return round(FAILED_TESTS * (1 - passed / (passed + failed + errors)), 3)


def _count(value: Mapping[str, Any], name: str) -> int:
    try:
        count = _number(value.get(name) or 0)
    except ValueError:
        count = -1.0
    if count < 0 or count != int(count):
        raise InvalidInput(f"evidence.tests.{name} is {_shown(value.get(name))}, not a count", hint=_HINT)
    return int(count)


def _exit_code(value: Any) -> float:
    try:
        code = _number(value)
    except ValueError:
        raise _off("exit_code", value) from None
    if code != int(code):
        raise _off("exit_code", value)
    return EXIT_OK if code == 0 else EXIT_FAILED


def _user(value: Any) -> float | None:
    if isinstance(value, bool):
        return USER_WORDS if value else -USER_WORDS
    try:
        number = _number(value)
    except ValueError:
        if not isinstance(value, str) or not value.strip():
            raise _off("user", value) from None
        return _words(value)
    if abs(number) > HIGHEST:
        raise _off("user", value)
    return number


def _words(said: str) -> float | None:
    """Praise or blame; None where words say neither or both. Of a few words each counts, of more only a statement."""
    if verdict := verdict_of(said):
        return USER_WORDS if verdict == "positive" else -USER_WORDS
    if len(said.split()) > FEW_WORDS:
        return None
    said = _NO_PROBLEM.sub(" good ", said.replace("\u2019", "'"))
    blame = _NO.findall(said)
    praise = _YES.search(_NO.sub(" ", said))
    if praise and not blame:
        return USER_WORDS
    return -USER_WORDS if blame and not praise else None


def _commit(value: Any) -> float:
    sha, reverted = (value.get("sha"), value.get("reverted")) if isinstance(value, Mapping) else (value, False)
    if isinstance(reverted, str):
        reverted = {"true": True, "false": False}.get(reverted.strip().lower(), reverted)
    if not isinstance(sha, str) or not _SHA.fullmatch(sha.strip()) or not isinstance(reverted, bool | None):
        raise _off("commit", value)
    return REVERTED if reverted else COMMITTED


def _number(value: Any) -> float:
    """``value``, a number or the text of one; ValueError otherwise, for booleans and for what is not finite."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("not a number")  # noqa: TRY004 - one kind of error for one kind of trouble
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def _off(source: str, value: Any) -> InvalidInput:
    return InvalidInput(f"evidence.{source} is {_shown(value)}, which tells nothing", hint=_HINT)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


_SOURCES: dict[Evidence, Callable[[Any], float | None]] = {
    "user": _user,
    "tests": _tests,
    "commit": _commit,
    "exit_code": _exit_code,
}
