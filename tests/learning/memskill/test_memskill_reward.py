"""Evidence recall, answer F1, and how a reward is spread over spans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memkit import units

from prowess.learning.memskill import Budget, MemoryBank, hashed, judge
from prowess.learning.memskill.reward import coverage, shares, token_f1
from prowess.learning.memskill.units import Query, make_query


def memory(*texts: str) -> MemoryBank:
    bank = MemoryBank()
    for unit in units(*texts):
        bank.restore(unit, 0.5)
    return bank


def query(text: str, *evidence: set[str], answer: str = "") -> Query:
    return make_query(text, [frozenset(group) for group in evidence], hashed([text])[0], answer)


def test_recall_is_the_share_of_evidence_that_the_first_k_items_hold() -> None:
    bank = memory("Ann camps in May", "Ann sails in June", "Bob paints")
    asked = query("when does Ann camp", {"u0"}, {"u7", "u1"}, {"u9"})
    worth = judge(bank, [asked], Budget(k=2))
    assert worth.recall == pytest.approx(2 / 3)
    assert worth.reward == worth.recall  # a query without an answer has no F1
    assert worth.asked[0].missed == (frozenset({"u9"}),)
    assert worth.asked[0].held == ()
    narrow = judge(bank, [asked], Budget(k=1))
    assert narrow.recall == pytest.approx(1 / 3)
    assert narrow.asked[0].held == (frozenset({"u7", "u1"}),)  # in memory, but not found


def test_items_that_do_not_fit_into_the_answers_tokens_are_not_read() -> None:
    bank = memory("Ann camps in May")  # 4 tokens
    asked = query("when does Ann camp", {"u0"})
    assert judge(bank, [asked], Budget(tokens=4)).recall == 1.0
    assert judge(bank, [asked], Budget(tokens=3)).recall == 0.0


def test_the_answer_is_the_words_of_the_best_unit_that_are_not_in_the_question() -> None:
    bank = memory("Ann camps at Lake Tahoe", "Bob paints")
    worth = judge(bank, [query("where does Ann camp", {"u0"}, answer="Lake Tahoe")], Budget(f1_share=0.5))
    # "camps at lake tahoe" against "lake tahoe": precision 2/4, recall 2/2
    assert worth.f1 == pytest.approx(2 / 3)
    assert worth.reward == pytest.approx(0.5 * 1.0 + 0.5 * 2 / 3)


def test_token_f1_leaves_out_articles_and_case_and_counts_repetitions_once_each() -> None:
    assert token_f1("The Lake", "a lake") == 1.0
    assert token_f1("lake lake", "lake") == pytest.approx(2 / 3)
    assert token_f1("sea", "lake") == 0.0
    assert token_f1("", "lake") == 0.0


def test_memory_that_is_asked_nothing_is_worth_nothing() -> None:
    assert judge(memory("x"), [], Budget()).reward == 0.0


def test_coverage_is_what_memory_holds_whether_found_or_not() -> None:
    bank = memory("Ann camps", "Bob paints")
    assert coverage(bank, [query("x", {"u0"}, {"u5"}), query("y", {"u1"})]) == pytest.approx(0.75)


def test_a_span_is_paid_for_what_it_brings_and_pays_for_what_it_drops() -> None:
    assert shares([0.5, 0.75, 0.25], 0.2) == pytest.approx([0.5, 0.25, -0.5 - 0.05])


@settings(deadline=None)  # a busy machine may take any time
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_the_shares_of_all_spans_add_up_to_the_reward(held: list[float], reward: float) -> None:
    assert sum(shares(held, reward)) == pytest.approx(reward)
