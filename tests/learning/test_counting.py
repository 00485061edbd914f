"""Counts in words."""

from __future__ import annotations

import pytest

from prowess.learning.counting import counted, tally


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
