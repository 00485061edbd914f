"""What calls cost, worked out by hand."""

from __future__ import annotations

import pytest

from prowess.providers.language_settings import DEFAULT_MODEL
from prowess.providers.prices import PRICES, UNKNOWN, Price, price_of


def test_a_price_is_per_million_tokens() -> None:
    assert Price(3, 15).cost(2_000_000, 100_000) == pytest.approx(7.5)


def test_a_long_prompt_costs_more_from_the_first_token() -> None:
    price = price_of("claude-haiku-5-5")
    assert price.cost(100_000, 1_000) == pytest.approx(0.0105)
    assert price.cost(100_001, 1_000) == pytest.approx(5 * 0.0105, rel=1e-4)


def test_a_dated_name_has_the_price_of_its_model() -> None:
    assert price_of("claude-haiku-4-5-20251001") == Price(1, 5)


@pytest.mark.parametrize("model", ["claude-opus-4-1", "claude-haiku-9", "local-7b", "", "claude-opus-5-5-fast"])
def test_a_model_that_is_not_listed_counts_as_the_dearest(model: str) -> None:
    assert price_of(model) == UNKNOWN
    assert all(UNKNOWN.input >= price.input and UNKNOWN.output >= price.output for price in PRICES.values())


def test_a_price_of_ones_own_wins() -> None:
    assert price_of("claude-opus-5-5", (0.5, 1.5)) == Price(0.5, 1.5)


def test_the_default_model_has_a_price() -> None:
    assert DEFAULT_MODEL in PRICES
