"""Evidence recall, answer F1, and how a reward is spread over spans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memkit import span, units

from prowess.learning.memskill import Budget, MemoryBank, Operation, hashed, judge
from prowess.learning.memskill.reward import Worth, credit, token_f1
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
    assert (worth.reward, worth.f1) == (worth.recall, 0.0)  # a query without an answer has no F1
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


def test_of_an_item_that_was_joined_the_part_that_fits_the_question_answers() -> None:
    bank = memory("Bob paints horses")
    (more,) = units("Ann camps at Lake Tahoe", prefix="v")
    bank.apply([Operation(action="update", skill="update", item=1, unit=more)])
    asked = [
        query("where does Ann camp", {"v0"}, answer="Lake Tahoe"),
        query("what does Bob do", {"u0"}, answer="paints"),
    ]
    assert [each.f1 for each in judge(bank, asked, Budget()).asked] == pytest.approx([2 / 3, 2 / 3])


def test_token_f1_leaves_out_articles_and_case_and_counts_repetitions_once_each() -> None:
    assert token_f1("The Lake", "a lake") == 1.0
    assert token_f1("lake lake", "lake") == pytest.approx(2 / 3)
    assert token_f1("sea", "lake") == 0.0
    assert token_f1("", "lake") == 0.0


def test_memory_that_is_asked_nothing_is_worth_nothing() -> None:
    assert judge(memory("x"), [], Budget()) == Worth(reward=0.0, recall=0.0, f1=0.0)


def test_a_span_earns_what_its_evidence_found_at_the_end_and_f1_is_spread_evenly() -> None:
    spans = [
        span("Ann camps in May", prefix="a"),
        span("Ann sails in June", prefix="b"),
        span("Bob paints", prefix="c"),
    ]
    bank = MemoryBank()
    for each in spans[:2]:  # what Bob does was dropped, or never kept
        bank.restore(each.units[0], 0.5)
    queries = [query("when does Ann camp", {"a0"}), query("what do Ann and Bob do", {"b0", "a0"}, {"c0"})]
    worth = judge(bank, queries, Budget())
    assert worth.reward == pytest.approx((1 + 0.5) / 2)
    # The first query is the first span's; of the second, the half that was found is shared by two that would do.
    assert credit(spans, worth) == pytest.approx([0.5 + 0.125, 0.125, 0.0])
    answered = judge(bank, [query("where does Ann camp", {"a0"}, answer="May")], Budget(f1_share=0.3))
    rest = (answered.reward - 0.7) / 3
    assert rest > 0
    assert credit(spans, answered) == pytest.approx([0.7 + rest, rest, rest])


@settings(deadline=None)  # a busy machine may take any time
@given(st.sets(st.integers(0, 5)), st.floats(0, 1))
def test_what_all_spans_earn_adds_up_to_the_reward(kept: set[int], share: float) -> None:
    spans = [span(f"fact number {n} is {word}", prefix=f"s{n}") for n, word in enumerate("abcdef")]
    bank = MemoryBank()
    for place in kept:
        bank.restore(spans[place].units[0], 0.5)
    queries = [query(f"what is fact {n}", {f"s{n}0"}, {f"s{(n + 1) % 6}0"}, answer="fact b") for n in range(6)]
    worth = judge(bank, queries, Budget(f1_share=share))
    assert sum(credit(spans, worth)) == pytest.approx(worth.reward)


def test_a_trace_without_spans_earns_nothing() -> None:
    assert credit([], judge(memory(), [], Budget())) == []
