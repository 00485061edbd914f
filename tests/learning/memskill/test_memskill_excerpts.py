"""Sentences of a unit, and what becomes of a unit of which some are kept."""

from __future__ import annotations

import pytest
from memkit import span, units, view

from prowess.learning.memskill import EmbeddedExecutor, MemoryBank, hashed, judge
from prowess.learning.memskill.excerpts import excerpt, sentences_of
from prowess.learning.memskill.reward import Budget, tells
from prowess.learning.memskill.units import Query, make_query

TURN = "Ann: Wow, hi Bob! We went camping at Lake Tahoe. My sister paints horses."
ONE = "At most 1 sentence of each."


def query(text: str, answer: str = "") -> Query:
    return make_query(text, [frozenset({"u0"})], hashed([text])[0], answer)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (TURN, ("Ann: Wow, hi Bob!", "We went camping at Lake Tahoe.", "My sister paints horses.")),
        ("Ann: Look [a photo of a dog]", ("Ann: Look", "[a photo of a dog]")),
        ("bash find . -name a.py -> ./a.py", ("bash find . -name a.py", "-> ./a.py")),
        ("bash cat x error: No such file", ("bash cat x", "error: No such file")),
        ("one", ("one",)),
        ("", ("",)),
    ],
)
def test_a_text_is_cut_where_sentences_end_and_where_a_steps_result_begins(text: str, parts: tuple[str, ...]) -> None:
    assert sentences_of(text) == parts


def test_an_excerpt_keeps_the_speaker_and_notes_what_it_lost() -> None:
    (unit,) = units(TURN)
    part = excerpt(unit, sentences_of(unit.text), [1])
    assert part.text == "Ann: We went camping at Lake Tahoe."
    assert part.sources == unit.sources
    assert part.vector is unit.vector
    assert part.tokens < unit.tokens
    assert {"sister", "paint", "hors", "bob"} <= part.lost
    assert not part.lost & part.terms
    both = excerpt(unit, sentences_of(unit.text), [2, 0])
    assert both.text == "Ann: Wow, hi Bob! My sister paints horses."


def kept(memory: MemoryBank) -> list[str]:
    return [item.text for item in memory.items.values()]


def test_a_skill_that_wants_one_sentence_keeps_the_one_that_it_asks_for() -> None:
    for words, text in [
        ("Camping.", "Ann: We went camping at Lake Tahoe."),
        ("Horses.", "Ann: My sister paints horses."),
    ]:
        memory, said = MemoryBank(), span(TURN)
        keep, rest = view(instruction=words, constraints=ONE), view("rest", instruction="Camping, horses.")
        memory.apply(EmbeddedExecutor().plan(said, [keep, rest], memory, []))
        assert kept(memory) == [text]  # and the next skill leaves alone what is left of the turn


def test_two_sentences_are_kept_in_their_order_and_a_limit_is_no_word_to_leave_out() -> None:
    memory, said = MemoryBank(), span(TURN)
    keep = view(
        instruction="Above all horses. Camping.", constraints="At most 2 sentences of each. At most 1 of one span."
    )
    memory.apply(EmbeddedExecutor().plan(said, [keep], memory, []))
    assert kept(memory) == ["Ann: We went camping at Lake Tahoe. My sister paints horses."]
    assert (keep.most, keep.sentences, dict(keep.unwanted)) == (1, 2, {})


def test_a_sentence_that_memory_holds_is_not_kept_again_whatever_vector_it_was_given() -> None:
    memory, keep = MemoryBank(), view(instruction="Camping.", constraints=ONE)
    memory.restore(units("Ann: We went camping at Lake Tahoe.", prefix="old")[0], 0.5)
    assert EmbeddedExecutor().plan(span(TURN), [keep], memory, []) == []


def test_an_excerpt_is_evidence_only_if_it_has_all_of_the_answers_words_that_the_whole_had() -> None:
    (unit,) = units(TURN)
    camping, horses = (excerpt(unit, sentences_of(TURN), [place]) for place in (1, 2))
    where = query("Where did Ann go?", "Lake Tahoe in May")  # May is nowhere in the turn
    assert tells(camping, where)
    assert not tells(horses, where)
    both = query("What does Ann tell?", "camping and horses")
    assert not tells(camping, both)
    assert tells(unit, both)


def test_where_the_whole_has_no_word_of_the_answer_those_of_the_question_are_needed() -> None:
    (unit,) = units(TURN)
    camping, horses = (excerpt(unit, sentences_of(TURN), [place]) for place in (1, 2))
    asked = query("Did they go camping?", "yes")
    assert tells(camping, asked)
    assert not tells(horses, asked)


def test_recall_counts_an_excerpt_of_another_sentence_as_missed() -> None:
    (unit,) = units(TURN)
    asked = query("Where did Ann go?", "Lake Tahoe")
    for place, recall in ((1, 1.0), (2, 0.0)):
        memory = MemoryBank()
        memory.restore(excerpt(unit, sentences_of(TURN), [place]), 0.5)
        worth = judge(memory, [asked], Budget())
        assert worth.recall == recall
        assert worth.asked[0].held == ()
