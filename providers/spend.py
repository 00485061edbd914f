"""The spend ledger and the daily cap: every call is recorded, and none is made that could pass the cap.

Before a call its worst cost is reserved, so that calls in parallel can't pass the cap together. After it, what it
really cost is recorded. A call of which nobody knows whether it was billed (a time-out, a broken connection) counts
with its worst cost.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import anyio
import msgspec

from prowess.providers.errors import BudgetExceeded, LedgerUnavailable
from prowess.storage.models import format_time

__all__ = ["Bill", "ModelCall", "Record", "Spend", "SpentToday"]

# A ledger that hangs must not hold the caller for ever.
LEDGER_SECONDS = 10.0


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a language model, failed or not: the fields of the journal's ``model.answered`` event.

    Costs in US dollars; tokens as billed, or 0 where no answer told them. ``error`` is the name of the error.
    """

    call_id: str
    at: str
    purpose: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    ok: bool
    error: str = ""


Record = Callable[[ModelCall], Awaitable[None]]
SpentToday = Callable[[], Awaitable[float]]


@dataclass(slots=True)
class Bill:
    """What one call costs as far as known: its worst until ``settle`` tells better."""

    cost_usd: float
    input_tokens: int = 0
    output_tokens: int = 0

    def settle(self, cost_usd: float, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """The cost is known."""
        self.cost_usd, self.input_tokens, self.output_tokens = cost_usd, input_tokens, output_tokens


class Spend:
    """The cap of one day. ``record`` stores a call, ``spent_today`` tells what the stored calls of today cost."""

    def __init__(self, cap_usd: float, record: Record, spent_today: SpentToday) -> None:
        self._cap = cap_usd
        self._record = record
        self._spent_today = spent_today
        self._held = 0.0  # reserved by running calls, and spent by calls that could not be recorded
        self._lock = anyio.Lock()

    @asynccontextmanager
    async def bill(self, purpose: str, model: str, worst_usd: float) -> AsyncIterator[Bill]:
        """Reserve, run the call, record it. Raises BudgetExceeded before, LedgerUnavailable before or after."""
        await self._reserve(worst_usd)
        bill = Bill(worst_usd)
        error = ""
        try:
            yield bill
        except BaseException as caught:
            error = type(caught).__name__
            raise
        finally:
            await self._close(bill, worst_usd, _call(bill, purpose, model, error))

    async def _reserve(self, worst_usd: float) -> None:
        async with self._lock:
            held = self._held  # before the ledger is read: a call that ends meanwhile may count twice, never not at all
            gone = held + await self._spent()
            if gone + worst_usd > self._cap:
                raise BudgetExceeded(
                    f"a call may cost ${worst_usd:.4f}, and ${gone:.4f} of today's ${self._cap:.2f} are spent or held",
                    hint="raise the daily cap in the settings, or wait until tomorrow (UTC)",
                )
            self._held += worst_usd

    async def _spent(self) -> float:
        try:
            with anyio.fail_after(LEDGER_SECONDS):
                spent = await self._spent_today()
        except Exception as error:  # whatever the injected ledger raises
            raise LedgerUnavailable(f"the spend ledger cannot be read: {error}", hint="check the store") from error
        if not math.isfinite(spent):
            raise LedgerUnavailable(f"the spend ledger tells {spent} dollars", hint="check the store")
        return spent

    async def _close(self, bill: Bill, worst_usd: float, call: ModelCall) -> None:
        """Record, even while being cancelled. What can't be recorded stays held in this process."""
        try:
            with anyio.CancelScope(shield=True), anyio.fail_after(LEDGER_SECONDS):
                await self._record(call)
        except Exception as error:  # whatever the injected ledger raises
            self._held -= worst_usd - bill.cost_usd
            raise LedgerUnavailable(f"the spend ledger cannot be written: {error}", hint="check the store") from error
        self._held -= worst_usd


def _call(bill: Bill, purpose: str, model: str, error: str) -> ModelCall:
    return ModelCall(
        call_id=str(uuid4()),
        at=format_time(datetime.now(UTC)),
        purpose=purpose,
        model=model,
        input_tokens=bill.input_tokens,
        output_tokens=bill.output_tokens,
        cost_usd=bill.cost_usd,
        ok=not error,
        error=error,
    )
