"""The language model that training may ask: only where the setting ``train_usd`` allows it, and within that a day.

A trainer keeps what its calls cost in ``spend.jsonl`` of its run; the calls of a day (UTC) over all runs count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from prowess.server.settings import Settings
from prowess.storage.models import format_time
from prowess.storage.ordinary import read_ordinary

__all__ = ["Paid"]

LEDGER = "out/spend.jsonl"


class _Call(msgspec.Struct):
    at: str
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Paid:
    """What a trainer is told of the language model. Without a key, or without money, nothing."""

    settings: Settings

    def environment(self, runs: Path, run_id: str) -> dict[str, str]:
        """The variables for the trainer of the run ``run_id``, which may still spend what the others left. Blocking."""
        told = self.settings
        if not told.train_usd or not (told.api_key or told.auth_token):
            return {}
        since = format_time(datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0))
        spent = sum(_spent(path, since) for path in runs.glob(f"*/{LEDGER}") if path.parents[1].name != run_id)
        values = {
            "ANTHROPIC_API_KEY": told.api_key,
            "ANTHROPIC_AUTH_TOKEN": told.auth_token,
            "ANTHROPIC_BASE_URL": told.base_url,
            "PROWESS_MODEL": told.model,
            "PROWESS_MODEL_PRICE": ",".join(map(str, told.model_price or ())),
            "PROWESS_TRAIN_USD": str(max(told.train_usd - spent, 0.0)),
        }
        return {name: value for name, value in values.items() if value}


def _spent(ledger: Path, since: str) -> float:
    return sum(call.cost_usd for call in _calls(ledger) if call.at >= since)


def _calls(ledger: Path) -> Iterator[_Call]:
    try:
        lines = read_ordinary(ledger).splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=_Call)
        except (msgspec.MsgspecError, RecursionError):  # torn when its trainer was killed
            continue
