"""What a call of a language model costs, in US dollars."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["PRICES", "UNKNOWN", "Price", "price_of"]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Prompts of more than ``long_from`` tokens cost ``long_factor`` times as much."""

    input: float
    output: float
    long_from: int | None = None
    long_factor: float = 1.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars for one call."""
        factor = self.long_factor if self.long_from is not None and input_tokens > self.long_from else 1.0
        return factor * (input_tokens * self.input + output_tokens * self.output) / 1_000_000


# Published list prices on 2026-11-29, without discounts for batches or caches (neither is used here).
PRICES: dict[str, Price] = {
    "claude-haiku-5-5": Price(0.10, 0.50, long_from=100_000, long_factor=5),
    "claude-haiku-4-5": Price(1, 5),
    "claude-sonnet-5-5": Price(2, 10),
    "claude-sonnet-5": Price(2, 10),
    "claude-sonnet-4-6": Price(3, 15),
    "claude-sonnet-4-5": Price(3, 15),
    "claude-opus-5-5": Price(4, 20),
    "claude-opus-5": Price(5, 25),
    "claude-opus-4-8": Price(5, 25),
    "claude-opus-4-7": Price(5, 25),
    "claude-opus-4-6": Price(5, 25),
    "claude-opus-4-5": Price(5, 25),
    "claude-fable-5-1": Price(10, 50),
    "claude-fable-5": Price(10, 50),
}

# The dearest list price that any Claude model had: a cap that rests on it errs on the safe side.
UNKNOWN = Price(15, 75)

_DATED = re.compile(r"-\d{8}$")


def price_of(model: str, override: tuple[float, float] | None = None) -> Price:
    """The price of ``model`` (with or without its date), ``UNKNOWN`` if it isn't listed.

    ``override`` is the user's own price, (input, output) per million tokens, for instance (0, 0) for a local model.
    """
    if override is not None:
        return Price(*override)
    return PRICES.get(_DATED.sub("", model), UNKNOWN)
