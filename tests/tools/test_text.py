"""Text and times made fit to store."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.learning.redaction.masking import mask
from prowess.storage.models import format_time
from prowess.tools.errors import ToolError
from prowess.tools.skills import one_line
from prowess.tools.text import MAX_DEPTH, clean, clean_text, cut, quote, to_json
from prowess.tools.times import as_time

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(ANY_TEXT)
def test_clean_text_has_a_utf8_form_without_nul_and_stays_as_it_is(text: str) -> None:
    cleaned = clean_text(text)
    assert b"\x00" not in cleaned.encode()
    assert len(cleaned) == len(text)
    assert clean_text(cleaned) == cleaned


@given(JSON)
def test_clean_values_are_json_and_stay_as_they_are(value: Any) -> None:
    cleaned = clean(value)
    to_json(cleaned).encode()
    assert clean(cleaned) == cleaned


def test_nesting_up_to_the_bound_is_kept_and_beyond_refused() -> None:
    def nested(depth: int) -> Any:
        return [nested(depth - 1)] if depth else "x"

    assert clean(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(ToolError, match="nested deeper"):
        clean(nested(MAX_DEPTH + 1))


def test_numbers_that_no_store_holds_become_text() -> None:
    assert clean(2**63) == "9223372036854775808"
    assert clean(-(2**63)) == -(2**63)
    assert clean(float("inf")) == "inf"
    assert clean(10**20_000).startswith("0x")
    assert clean(True) is True


@given(st.text(max_size=300), st.integers(4, 100))
def test_cut_keeps_both_ends_or_everything(text: str, limit: int) -> None:
    shown = cut(text, limit)
    if len(text) <= limit:
        assert shown == text
    else:
        assert shown.startswith(text[: limit * 3 // 4])
        assert shown.endswith(text[-(limit // 4) :])
        assert f"of {len(text)} characters left out" in shown


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z5A",
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "MIIEpAIBAAKCAQEA7x9qT2bV5kPz1yWcLrN8sJ\n" * 30
        + "-----END RSA PRIVATE KEY-----",
    ],
    ids=["token", "key"],
)
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(secret: str) -> None:
    for place in range(0, len(secret) + 1, max(1, len(secret) // 8)):
        for before, after in ((3_000 - place, 9_000), (9_000, 1_000 + place - len(secret))):
            shown = mask(cut(f"{'x ' * (before // 2)}{secret}{' y' * (after // 2)}", 4_000))
            assert not any(secret[at : at + 10] in shown for at in range(len(secret) - 10))


def test_a_quotation_is_one_short_line() -> None:
    assert quote("a\nb") == "'a\\nb'"
    assert len(quote("x" * 1_000)) == 60
    assert quote({"a": [1]}) == '{"a":[1]}'


@given(ANY_TEXT)
def test_shown_text_is_one_printable_line(text: str) -> None:
    shown = one_line(clean_text(text), 80)
    assert len(shown) <= 80
    assert len(shown.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2060-\u2069\U000e0000-\U000e0fff]", shown)


@given(st.datetimes(min_value=datetime(1975, 1, 1), max_value=datetime(2100, 1, 1)))
def test_every_notation_of_a_moment_is_the_same_time(moment: datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    expected = format_time(moment)
    seconds = int(moment.timestamp())
    for sent in (moment.isoformat(), f" {moment.isoformat()} ", seconds, str(seconds), seconds * 1_000):
        assert as_time(sent) == expected


@pytest.mark.parametrize(
    "sent", ["2026-11-29T13:50:01", "2026-11-29", "now", "", "nan", "inf", "-1", 7, 10**30, [], {}]
)
def test_what_is_no_moment_is_refused_with_an_example(sent: Any) -> None:
    with pytest.raises(ValueError, match="send ISO 8601 with a zone"):
        as_time(sent)


@pytest.mark.parametrize("place", ["{}", "x" * 40 + " {}", "x" * 59 + " {}"])
def test_a_quoted_value_has_no_secret_wherever_it_is_cut(place: str) -> None:
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
    for value in (place.format(secret), [place.format(secret)], {"password": secret}):
        assert secret[:6] not in quote(value)
