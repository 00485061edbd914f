"""Counts in words."""

from __future__ import annotations

import re

import pytest

from prowess.learning.counting import SEEN_IN, counted, seen_in, tally
from prowess.learning.memories.quotations import with_example


@pytest.mark.parametrize(
    ("number", "words", "told"),
    [
        (0, ("skill",), "0 skills"),
        (1, ("skill",), "1 skill"),
        (2, ("skill",), "2 skills"),
        (1, ("memory", "memories"), "1 memory"),
        (1_000, ("memory", "memories"), "1,000 memories"),
    ],
)
def test_a_count_agrees_with_its_noun(number: int, words: tuple[str, ...], told: str) -> None:
    assert counted(number, *words) == told


def test_a_tally_tells_how_often_each_is_there_in_order_of_appearance() -> None:
    assert list(tally(["look", "ask", "look"]).items()) == [("look", 2), ("ask", 1)]
    assert tally([]) == {}


@pytest.mark.parametrize(
    ("episodes", "said"), [(1, "(seen in 1 episode)"), (2, "(seen in 2 episodes)"), (1_234, "(seen in 1,234 episodes)")]
)
def test_what_says_in_how_many_episodes_is_found_again_however_many(episodes: int, said: str) -> None:
    assert seen_in(episodes) == said
    assert re.fullmatch(SEEN_IN, said)


def test_how_often_it_was_seen_stays_behind_an_example() -> None:
    lesson = "When make failed with “boom”, it worked after Edit (seen in 1,000 episodes)"
    example = " with `make a` instead of `make b`"
    assert with_example(lesson, example) == lesson.replace(" after Edit", example)
