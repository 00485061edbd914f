"""The memory bank: operations, search, limits."""

from __future__ import annotations

import dataclasses
from math import log

import numpy as np
import pytest
from memkit import units

from prowess.learning.memskill import Limits, MemoryBank, Operation, hashed
from prowess.learning.memskill.units import terms_of


def inserted(bank: MemoryBank, *texts: str, importance: float = 0.5, prefix: str = "u") -> None:
    for unit in units(*texts, prefix=prefix):
        bank.apply([Operation(action="insert", skill="insert", unit=unit, importance=importance)])


def texts(bank: MemoryBank) -> list[str]:
    return [item.text for item in bank.items.values()]


def test_an_item_keeps_the_history_of_what_was_done_to_it() -> None:
    bank = MemoryBank()
    inserted(bank, "Ann camps in May.")
    more, other = units("Ann camps in June.", "Ann sold her tent.", prefix="v")
    bank.apply([Operation(action="update", skill="update", item=1, unit=more, importance=0.7)])
    bank.apply([Operation(action="update", skill="correct", item=1, unit=other, supersede=True)])
    item = bank.items[1]
    assert [tuple(past) for past in item.history] == [
        (1, "insert", "insert"),
        (2, "update", "update"),
        (3, "update", "correct"),
    ]
    assert (item.text, item.sources, item.importance) == ("Ann sold her tent.", {"v1"}, 0.7)


def test_an_update_joins_text_words_and_sources_and_its_vector_is_between() -> None:
    bank = MemoryBank()
    inserted(bank, "Ann camps.")
    more = units("Lake Tahoe.", prefix="v")[0]
    bank.apply([Operation(action="update", skill="update", item=1, unit=more)])
    item = bank.items[1]
    assert (item.text, item.sources) == ("Ann camps. Lake Tahoe.", {"u0", "v0"})
    assert {"camp", "lak"} <= item.terms
    both = hashed(["Ann camps.", "Lake Tahoe."]).mean(axis=0)
    assert item.vector == pytest.approx(both / np.linalg.norm(both))
    assert bank.tokens == item.tokens == 6  # full stops count


def test_operations_on_items_that_are_gone_change_nothing() -> None:
    bank = MemoryBank()
    inserted(bank, "one", "two")
    bank.apply([Operation(action="delete", skill="delete", item=1)] * 2)
    bank.apply([Operation(action="update", skill="update", item=1, unit=units("three")[0])])
    assert texts(bank) == ["two"]


def test_the_least_worthwhile_item_goes_first_beyond_the_number_of_items() -> None:
    bank = MemoryBank(Limits(items=2, importance_share=1.0))
    inserted(bank, "dear", importance=0.9)
    inserted(bank, "cheap", importance=0.1)
    inserted(bank, "fair", importance=0.5)
    assert (texts(bank), bank.dropped) == (["dear", "fair"], 1)


def test_where_only_recency_counts_the_oldest_goes_and_a_change_makes_young() -> None:
    bank = MemoryBank(Limits(items=2, importance_share=0.0))
    inserted(bank, "one", "two")
    bank.apply([Operation(action="update", skill="update", item=1, unit=units("more")[0])])
    inserted(bank, "three")
    assert texts(bank) == ["one more", "three"]


def test_recency_halves_with_the_half_life() -> None:
    bank = MemoryBank(Limits(importance_share=0.6, half_life=2.0))
    inserted(bank, "one", importance=0.5)
    for _ in range(4):
        bank.apply([])
    assert bank.priority(bank.items[1]) == pytest.approx(0.6 * 0.5 + 0.4 * 0.25)


def test_memory_holds_no_more_tokens_than_it_may() -> None:
    bank = MemoryBank(Limits(tokens=7, importance_share=1.0))
    inserted(bank, "one two three", importance=0.2)  # 3 tokens each
    inserted(bank, "four five six", importance=0.9)
    inserted(bank, "seven eight nine", importance=0.8)
    assert texts(bank) == ["four five six", "seven eight nine"]
    assert bank.tokens == 6


def pointed(bank: MemoryBank, text: str, cosine: float, importance: float) -> None:
    """Insert a text whose vector has that cosine with the first axis."""
    vector = np.asarray([cosine, np.sqrt(1 - cosine**2)], np.float32)
    unit = dataclasses.replace(units(text)[0], vector=vector)
    bank.apply([Operation(action="insert", skill="insert", unit=unit, importance=importance)])


def test_of_two_near_copies_the_less_important_goes_before_what_is_different() -> None:
    bank = MemoryBank(Limits(items=2, importance_share=1.0))
    pointed(bank, "best", 1.0, 0.9)
    pointed(bank, "copy", 0.98, 0.8)  # counts 0.8 x (1 - 0.98 ** 16) = 0.22
    pointed(bank, "different", 0.0, 0.5)  # has a cosine of 0.2 with the copy, which leaves nothing
    assert texts(bank) == ["best", "different"]


def test_what_is_only_alike_is_kept_by_importance() -> None:
    bank = MemoryBank(Limits(items=2, importance_share=1.0))
    pointed(bank, "best", 1.0, 0.9)
    pointed(bank, "alike", 0.9, 0.8)  # counts 0.8 x (1 - 0.9 ** 16) = 0.65
    pointed(bank, "different", 0.0, 0.5)
    assert texts(bank) == ["best", "alike"]


def test_of_copies_that_count_the_same_the_newest_stays_and_is_then_no_copy_any_more() -> None:
    bank = MemoryBank(Limits(tokens=5, importance_share=1.0))
    for text in ("first", "second", "third"):
        pointed(bank, text, 1.0, 0.8)
    pointed(bank, "other", 0.0, 0.5)
    pointed(bank, "one two three", -1.0, 0.9)  # seven tokens: the two older copies go
    assert texts(bank) == ["third", "other", "one two three"]
    pointed(bank, "long", 0.0, 0.9)  # a copy of the other, which goes
    assert (texts(bank), bank.dropped) == (["third", "one two three", "long"], 3)


def test_a_search_finds_by_words_and_counts_rare_words_more() -> None:
    bank = MemoryBank()
    inserted(bank, "the boat is red", "the boat is green", "the boat is old", "a turquoise house")
    query = "turquoise boat"
    found = bank.search(hashed([query])[0], terms_of(query), k=2)
    assert len(found) == 2
    assert found[0].item.text == "a turquoise house"
    assert found[0].score > found[1].score


def test_a_search_by_meaning_alone_counts_cosines_by_half_and_none_below_zero() -> None:
    bank = MemoryBank()
    for text, cosine in (("far", -0.6), ("near", 0.9), ("middling", 0.4)):
        pointed(bank, text, cosine, 0.5)
    found = bank.search(np.asarray([1, 0], np.float32), frozenset(), 3)
    assert [(each.item.text, each.score) for each in found] == [
        ("near", pytest.approx(0.45)),
        ("middling", pytest.approx(0.2)),
        ("far", 0.0),
    ]
    assert [each.item.text for each in bank.near(np.asarray([1, 0], np.float32), 2)] == ["near", "middling"]


def test_a_search_by_words_counts_the_share_of_the_query_by_rarity_and_length() -> None:
    """Of two items one has the boat and none the whale: log(1 + 2/2) of log(1 + 2/2) + log(1 + 2/1). That item has one
    and a half times as many words as they have on average, which takes 0.3 of that for its length.
    """
    bank = MemoryBank()
    pointed(bank, "boat red green", 0.0, 0.5)
    pointed(bank, "house", 0.0, 0.5)
    (found, other) = bank.search(np.asarray([1, 0], np.float32), terms_of("boat whale"), 2)
    assert (found.item.text, other.score) == ("boat red green", 0.0)
    assert found.score == pytest.approx(0.5 * log(2) / (log(2) + log(3)) / (0.7 + 0.3 * 1.5))


def test_an_empty_memory_finds_nothing() -> None:
    bank = MemoryBank()
    assert bank.search(hashed(["x"])[0], frozenset({"x"}), 5) == []
    assert bank.near(hashed(["x"])[0], 5) == []


def test_what_came_again_makes_what_is_like_it_more_important_and_nothing_else() -> None:
    bank = MemoryBank()
    inserted(bank, "Ann camps.", "Bob rows.")
    (same,) = units("Ann camps.", prefix="v")
    bank.apply([Operation(action="again", skill="keep", unit=same)])
    # A quarter of what it lacks to 1, and a quarter of that rest.
    assert [item.importance for item in bank.items.values()] == [pytest.approx(0.625), 0.5]
    bank.apply([Operation(action="again", skill="keep", unit=same)])
    assert bank.items[1].importance == pytest.approx(0.71875)
    assert (bank.items[1].sources, bank.items[1].at, len(bank.items)) == ({"u0"}, 1, 2)
    near = dataclasses.replace(same, vector=(0.9 * same.vector + np.sqrt(0.19) * bank.items[2].vector).astype("f4"))
    bank.apply([Operation(action="again", skill="keep", unit=near)])
    assert bank.items[1].importance == pytest.approx(0.71875 + 0.25 * 0.9**16 * 0.28125, abs=1e-4)
    assert bank.items[2].importance == 0.5  # its cosine of .44 is no likeness


def test_what_came_again_outlives_what_came_once() -> None:
    bank = MemoryBank(Limits(items=2, importance_share=1.0))
    inserted(bank, "Ann camps.", importance=0.5)
    inserted(bank, "Bob rows.", importance=0.6)
    bank.apply([Operation(action="again", skill="keep", unit=units("Ann camps.", prefix="v")[0])])
    inserted(bank, "Cleo sings.", importance=0.9)
    assert texts(bank) == ["Ann camps.", "Cleo sings."]
