from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.rendering import count_tokens
from prowess.learning.text import plain, terms, words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   ", 0),
        ("hello world", 2),
        ("internationalisation", 5),  # 20 letters: 1 for 7, 4 for the other 13
        ("find_user_by_email(42)", 10),
        ("1234567", 3),
        ("数据库", 3),
        ("a\n\nb", 3),
    ],
)
def test_tokens_are_counted_by_runs(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_colours_and_control_characters_are_dropped() -> None:
    assert plain("\x1b[31mred\x1b[0m\a \x1b]0;title\x07x\r\ny") == "red x\ny"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Refund the order", ["refund", "the", "order"]),
        ("Refund the Order", ["refund", "the", "order"]),
        ("refundOrder", ["refund", "order"]),
        ("RefundOrder", ["refund", "order"]),
        ("aB", ["a", "b"]),
        ("4Order", ["4", "order"]),
        ("Ä", ["ä"]),
        ("", []),
    ],
)
def test_a_capital_alone_takes_no_word_apart(text: str, said: list[str]) -> None:
    assert words(text) == said


@given(st.text(max_size=40))
def test_text_without_capitals_has_the_words_that_it_has_before_one(text: str) -> None:
    small = text.lower()
    assert words(small) == words(f"{small} Z")[:-1]


def test_words_are_taken_apart_and_terms_carry_meaning() -> None:
    assert words("getUserByID from HTTPServer_2") == ["get", "user", "by", "id", "from", "http", "server", "2"]
    assert terms("Deploying the services to a service, 42 times") == {
        "deploy": "deploying",
        "servic": "services",
        "tim": "times",
    }
