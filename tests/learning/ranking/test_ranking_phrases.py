from __future__ import annotations

from math import log, log1p

import pytest

from prowess.learning.ranking.evidence import Document, gather
from prowess.learning.ranking.fusion import fused
from prowess.learning.ranking.phrases import Wording, clauses_of, listed, shared_phrases, wording
from prowess.learning.text import stems_of


def worded(text: str) -> Wording:
    clauses = clauses_of(text)
    return wording(clauses, [stems_of(clause) for clause in clauses])


def test_a_clause_ends_at_a_sign_but_not_within_a_word() -> None:
    assert clauses_of('Don\'t re-run it (ever) — say "stop", or wait...') == [
        ["don", "t", "re", "run", "it"],
        ["ever"],
        ["say"],
        ["stop"],
        ["or", "wait"],
    ]


def test_a_text_counts_by_the_runs_of_words_it_shares_frequent_ones_included() -> None:
    # Of two texts one has "as it", "it is" and all three: ln(1 + 1.5 / 1.5) each.
    found = shared_phrases("Leave it as it is now", [worded("Keep all as it is"), worded("It was kept")])
    assert found == pytest.approx([log1p(3 * log(2)), 0.0])


def test_a_run_that_all_texts_have_says_less() -> None:
    both, one = (
        shared_phrases("grill me on it", [worded("grill me")] * 2),
        shared_phrases("grill me on it", [worded("grill me"), worded("roast a chicken")]),
    )
    assert 0 < both[0] < one[0]
    assert one[1] == 0


def test_a_run_counts_once_however_often_it_is_said() -> None:
    twice = shared_phrases("plan it, plan it", [worded("plan it, plan it"), worded("bake a cake")])
    assert twice == pytest.approx(shared_phrases("plan it", [worded("plan it"), worded("bake a cake")]))


@pytest.mark.parametrize(
    ("question", "text"), [("plan. It works", "plan it works"), ("plan it works", "plan: it, works")]
)
def test_no_run_reaches_beyond_a_clause(question: str, text: str) -> None:
    shared = shared_phrases(question, [worded(text), worded("bake a cake")])[0]
    assert shared < shared_phrases("plan it works", [worded("plan it works"), worded("bake a cake")])[0]


def test_no_run_reaches_from_one_text_into_the_next() -> None:
    assert list(shared_phrases("plan it", [worded("we plan"), worded("it works")])) == [0, 0]


def test_a_clause_counts_by_what_the_question_has_of_it_and_how_much_of_it_that_is() -> None:
    # By rarity, the rarest being 1: all of the first clause, 1.5, and of the other nothing. Of the second text's clause
    # 1, and a word is missing that is as rare as the question's on average, .75: 1 x (1 / 1.75) ** 2.
    rare = {"lead": 2.0, "down": 1.0}
    found = listed(rare, [worded("Why leads are down, what ads cost"), worded("Qualify leads"), worded("Bake a cake")])
    assert found == pytest.approx([log1p(1.5), log1p((1 / 1.75) ** 2), 0.0])


def test_words_in_one_clause_say_more_than_the_same_words_in_several() -> None:
    rare = {"lead": 2.0, "down": 2.0}
    together, apart = listed(rare, [worded("leads down, ads cost"), worded("leads cost, ads down")])
    assert together > apart > 0


@pytest.mark.parametrize("question", ["", "?", "word"])
def test_nothing_shared_is_nothing(question: str) -> None:
    texts = [worded("Bake a cake"), worded("")]
    assert list(shared_phrases(question, texts)) == [0, 0]
    assert len(shared_phrases(question, [])) == 0
    assert list(listed(dict.fromkeys(question.split(), 1.0), texts)) == [0, 0]
    assert list(listed({"cake": 1.0}, texts[1:])) == list(shared_phrases("a cake", texts[1:])) == [0]
    assert len(listed({"a": 1.0}, [])) == 0


def test_words_in_any_script_are_compared() -> None:
    assert shared_phrases("数据 清洗 please", [worded("数据 清洗"), worded("bake")])[0] > 0


def test_the_words_that_sentences_begin_with_are_counted_alone() -> None:
    documents = [Document("a", "x", "Rename callers"), Document("b", "y", "Report orders")]
    rare = dict.fromkeys(["renam", "caller", "old", "order", "api", "report", "result", "today"], 2.0)
    asked = ["Rename callers of the old order API. Report results today.", "Rename callers of the old order API."]
    one = gather([asked[1]], documents, None, rare).opening
    assert one[0] > one[1] == 0
    both = gather([asked[0], asked[1], "Report results today."], documents, None, rare).opening
    assert both[0] > both[1] > 0


def test_of_two_with_the_same_words_the_one_that_has_the_phrase_comes_first() -> None:
    # Its words carry no meaning of their own.
    scrambled = Document("a", "grill", "From me you do need what, start")
    phrase = Document("b", "grill", "What do you need from me, start")
    rare = {"start": 3.0, "map": 2.0, "offline": 2.0}
    evidence = gather(["What do you need from me for the offline map to start?"], [scrambled, phrase], None, rare)
    assert evidence.together[0] == evidence.together[1]
    scores = fused(evidence)
    assert scores[1] > scores[0]


def test_of_two_with_the_same_words_the_one_that_lists_what_is_asked_comes_first() -> None:
    apart = Document("a", "ads", "When leads cost, when performance drops, or to review search")
    clause = Document("b", "ads", "When leads drops, when performance cost, or to review search")
    rare = {"drop": 2.0, "lead": 3.0, "week": 2.0, "why": 1.0}
    evidence = gather(["Why a drop of leads this week?"], [apart, clause], None, rare)
    assert evidence.together[0] == evidence.together[1] == 0
    scores = fused(evidence)
    assert scores[1] > scores[0]
