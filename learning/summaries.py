"""What the closing lines of test programs count: how many tests passed and how many failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Counts", "last_summary", "tests_in"]


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
        # Playwright; what failed has a line of its own
        (" passed (", r"^ {2}(\d{1,7} (?:failed|passed \([\d.]{1,9}m?s\)))$", r"failed"),
        # a plain closing line; TAP and node's runner; deno; bun
        (" passed, ", r"^\W{0,3}(?:\w{1,20}: )?(\d{1,7} passed, \d{1,7} failed)", r"failed"),
        (" pass ", r"^[#\u2139] (pass \d{1,7}\n[#\u2139] fail \d{1,7})", r"fail"),
        (" passed | ", r"^(?:ok|FAILED) \| (\d{1,7} passed (?:\([^)\n]{1,40}\) )?\| \d{1,7} failed)", r"failed"),
        (" pass\n", r"^ {1,3}(\d{1,7} pass\n(?: {1,3}\d{1,7} (?:skip|todo)\n){0,2} {1,3}\d{1,7} fail)$", r"fail"),
    )
)
# What every match holds, and the pattern of a summary that tells of all what neither passed.
_OF_ALL: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (sign, re.compile(line, re.MULTILINE))
    for sign, line in (
        # unittest
        (
            "Ran ",
            r"^Ran (?P<all>\d{1,7}) tests? in [\d.]{1,12}s\s{1,4}(?:OK|(?P<bad>FAILED))"
            r"(?: \((?:failures=(?P<failed>\d{1,7}))?(?:, )?(?:errors=(?P<errors>\d{1,7}))?(?:, )?"
            r"(?:skipped=(?P<skipped>\d{1,7}))?)?",
        ),
        # Maven; dotnet
        (
            "Tests run: ",
            r"^(?:\[\w{1,8}\] )?Tests run: (?P<all>\d{1,7}), Failures: (?P<failed>\d{1,7}), Errors: (?P<errors>\d{1,7})"
            r", Skipped: (?P<skipped>\d{1,7})\s{0,3}$",
        ),
        (
            "Failed: ",
            r"^\w{1,8}! {1,3}- Failed: {1,8}(?P<failed>\d{1,7}), Passed: {1,8}\d{1,7}"
            r", Skipped: {1,8}(?P<skipped>\d{1,7}), Total: {1,8}(?P<all>\d{1,7})",
        ),
        # CTest; RSpec; PHPUnit
        (" tests failed out of ", r"^\d{1,3}% tests passed, (?P<failed>\d{1,7}) tests failed out of (?P<all>\d{1,7})$"),
        (" example", r"^(?P<all>\d{1,7}) examples?, (?P<failed>\d{1,7}) failures?(?:, (?P<skipped>\d{1,7}) pending)?"),
        (" assertion", r"^OK \((?P<all>\d{1,7}) tests?, \d{1,7} assertions?\)$"),
        (
            "Assertions: ",
            r"^Tests: (?P<all>\d{1,7}), Assertions: \d{1,7}(?:, Errors: (?P<errors>\d{1,7}))?"
            r"(?:, Failures: (?P<failed>\d{1,7}))?(?:, Skipped: (?P<skipped>\d{1,7}))?",
        ),
    )
)
# Of jest and vitest: a file that could not be run has no tests to be counted, nor has what was thrown beside them.
_SUITES = re.compile(r"(?m)^\s{0,8}(?:Test (?:Suites|Files):?\s{1,8}(\d{1,7}) failed|Errors\s{1,4}(\d{1,7}) errors?$)")
_COUNT = re.compile(r"(\d{1,7}) ([a-z]{2,12})|(pass|fail) (\d{1,7})")
_GO = re.compile(
    r"(?m)^(?:(ok)\s{1,4}\S{1,300}\s{1,4}(?:\(cached\)|[\d.]{1,12}s)(?![^\n]{0,80}\[no tests to run\])"
    r"|(FAIL)[ \t]{1,4}\S{1,300}|(--- FAIL): |(FAIL)$|(?<!no tests to run\n)(PASS)$)"
)


def tests_in(text: str) -> Counts | None:
    """What the summaries of test programs in ``text`` add up to; None for none.

    Known are those of pytest, unittest, jest, vitest, mocha, node, bun, deno, cargo, go, TAP, Maven, dotnet, CTest,
    RSpec, PHPUnit and Playwright. Tests that were left out count for neither.
    """
    found = [counts for counts, _ in _summaries(text)]
    if ("Test " in text or "Errors" in text) and not any(one.failed for one in found):
        found += [Counts(0, int(match[1] or match[2])) for match in _SUITES.finditer(text)]
    return Counts(sum(one.passed for one in found), sum(one.failed for one in found)) if found else None


def last_summary(text: str) -> int:
    """Where the last summary in ``text`` ends; 0 where there is none."""
    return max((end for _, end in _summaries(text)), default=0)


def _summaries(text: str) -> Iterator[tuple[Counts, int]]:
    for sign, line, failing in _SUMMARIES:
        if sign in text:
            yield from ((_counts(match[1], failing), match.end()) for match in line.finditer(text))
    for sign, line in _OF_ALL:
        if sign in text:
            yield from ((_of_all(match), match.end()) for match in line.finditer(text))
    for match in _GO.finditer(text):
        passed = match.lastindex in (1, 5)
        yield Counts(int(passed), int(not passed)), match.end()


def _counts(summary: str, failing: re.Pattern[str]) -> Counts:
    passed = failed = 0
    for number, word, tap, tap_number in _COUNT.findall(summary):
        name, count = word or tap, int(number or tap_number)
        if name.startswith("pass"):
            passed += count
        elif failing.match(name):
            failed += count
    return Counts(passed, failed)


def _of_all(match: re.Match[str]) -> Counts:
    told = {name: int(count or 0) for name, count in match.groupdict().items() if name != "bad"}
    failed = told.get("failed", 0) + told.get("errors", 0) or int(bool(match.groupdict().get("bad")))
    return Counts(max(0, told["all"] - failed - told.get("skipped", 0)), failed)
