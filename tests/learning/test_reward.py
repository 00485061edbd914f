from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.reward import from_evidence
from prowess.storage.errors import InvalidInput


@pytest.mark.parametrize(
    ("source", "given_", "expected"),
    [
        ("tests", {"passed": 3, "failed": 0}, 10.0),
        ("tests", {"passed": "3", "failed": "1"}, -2.0),
        ("tests", {"passed": 0, "failed": 2}, -8.0),
        ("tests", {"passed": 1, "errors": 1}, -4.0),
        ("tests", {"passed": 1, "failed": 1}, -4.0),
        ("tests", {"passed": 0, "failed": 0}, None),
        ("tests", {"pass": 3, "fail": 1}, -2.0),
        ("tests", {"passed": 3, "total": 4}, -2.0),
        ("tests", {"passed": 3, "skipped": 1, "total": 4}, 10.0),
        ("tests", {"failures": 0, "errors": 0, "passed": 2, "total": 5}, 10.0),
        ("tests", {"passed": 4, "tests": 4, "total": 4}, 10.0),
        ("tests", {"passed": 3, "failed": 1, "failures": 1}, -2.0),
        ("tests", {"passed": 2, "pending": 1, "todo": 1, "total": 4}, 10.0),
        ("tests", "=== 1 failed, 3 passed in 1.2s ===", -2.0),
        ("tests", "test result: ok. 3 passed; 0 failed; 0 ignored", 10.0),
        ("tests", "3 passed", 10.0),
        ("tests", "2 failed, 3 passed", -3.2),
        ("tests", "2 failed", -8.0),
        ("tests", "1 error", -8.0),
        ("tests", "4 tests passed, 1 skipped", 10.0),
        ("tests", "Passed", 10.0),
        ("tests", "failed", -8.0),
        ("tests", True, 10.0),
        ("exit_code", 0, 3.0),
        ("exit_code", "0", 3.0),
        ("exit_code", " 137 ", -5.0),
        ("exit_code", -9, -5.0),
        ("user", "thanks, works", 8.0),
        ("user", "positive", 8.0),
        ("user", "approved", 8.0),
        ("user", "no problem", 8.0),
        ("user", "nothing failed", 8.0),
        ("user", "it works without any errors", 8.0),
        ("user", "rejected", -8.0),
        ("user", "please revert it", -8.0),
        ("user", "no, that broke the build", -8.0),
        ("user", "it doesn\u2019t work", -8.0),
        ("user", "not working at all", -8.0),
        ("user", "neutral", None),
        ("user", "it works but the layout is wrong", None),
        ("user", "hm", None),
        ("user", "yes", 8.0),
        ("user", "yes, write the importer, and do not forget the error for empty files", None),
        ("user", "the totals are still wrong, look at what happens to returned articles", -8.0),
        ("user", 5, 5.0),
        ("user", "-7.5", -7.5),
        ("user", True, 8.0),
        ("commit", "3f2a1b9c", 6.0),
        ("commit", {"sha": "3f2a1b9c", "reverted": False}, 6.0),
        ("commit", {"sha": "3f2a1b9c", "reverted": True}, -8.0),
        ("commit", {"sha": "3f2a1b9c", "reverted": "true"}, -8.0),
    ],
)
def test_each_source_is_worth_what_the_rule_says(source: str, given_: Any, expected: float | None) -> None:
    (reward,) = from_evidence({source: given_})
    assert (reward.source, reward.value, reward.evidence) == (source, expected, {source: given_})


def test_sources_come_in_a_fixed_order_and_others_are_left_to_the_caller() -> None:
    evidence = {"exit_code": 1, "note": "x", "tests": "passed", "user": None, "commit": "3f2a1b9c"}
    assert [(r.source, r.value) for r in from_evidence(evidence)] == [
        ("tests", 10.0),
        ("commit", 6.0),
        ("exit_code", -5.0),
    ]


@pytest.mark.parametrize(
    ("source", "given_"),
    [
        ("tests", {"passed": -1}),
        ("tests", {}),
        ("tests", {"total": 4}),
        ("tests", {"tests": 4}),
        ("tests", {"passed": "many"}),
        ("tests", {"passed": 1.5}),
        ("tests", "perhaps"),
        ("tests", "3 potatoes"),
        ("tests", 3),
        ("exit_code", "one"),
        ("exit_code", 1.5),
        ("exit_code", True),
        ("exit_code", float("nan")),
        ("user", 11),
        ("user", float("inf")),
        ("user", 10**400),
        ("user", ""),
        ("user", ["good"]),
        ("commit", "not a sha"),
        ("commit", {"sha": "3f2a1b9c", "reverted": "maybe"}),
        ("commit", {}),
        ("commit", 7),
    ],
)
def test_another_shape_is_refused_with_what_to_send_instead(source: str, given_: Any) -> None:
    with pytest.raises(InvalidInput, match=f"evidence.{source}") as caught:
        from_evidence({source: given_})
    assert '"exit_code" (a whole number)' in caught.value.hint
    assert len(str(caught.value)) < 200


def test_a_refusal_shows_the_value_that_was_sent() -> None:
    with pytest.raises(InvalidInput, match=r"evidence\.exit_code is 'one', which tells nothing"):
        from_evidence({"exit_code": "one"})
    with pytest.raises(InvalidInput, match=r"evidence\.tests\.passed is 'many', not a count"):
        from_evidence({"tests": {"passed": "many"}})


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda x: st.lists(x) | st.dictionaries(st.text(), x),
)
COUNTS = st.dictionaries(st.sampled_from(["passed", "failed", "errors", "skipped", "total"]), st.integers(0, 99))
WORD = st.sampled_from(["3", "passed,", "failed", "works", "not", "broken", "thanks", "no", "error", "3f2a1b9c", "ok"])
SAID = st.booleans() | st.integers(-12, 12) | st.floats(-12, 12) | COUNTS | st.lists(WORD).map(" ".join)
SOURCES = ["tests", "user", "commit", "exit_code"]


@given(st.sampled_from(SOURCES), SAID | JSON)
def test_any_evidence_is_worth_something_in_range_or_refused(source: str, said: Any) -> None:
    try:
        rewards = from_evidence({source: said})
    except InvalidInput:
        return
    assert [(reward.source, reward.evidence) for reward in rewards] == [(source, {source: said})] * (said is not None)
    assert all(reward.value is None or -10 <= reward.value <= 10 for reward in rewards)
