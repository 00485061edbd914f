"""The ledger of calls and the daily cap."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from languagekit import SKILL, WORDED, fails, silence, world
from messages_server import message

from prowess.providers import errors, spend
from prowess.providers.language import ModelCall

pytestmark = pytest.mark.anyio


async def test_each_call_is_in_the_ledger_with_its_cost() -> None:
    async with world(message(WORDED, input_tokens=2_000, output_tokens=300)) as made:
        await made.model.word_skill(SKILL)
        (call,) = made.ledger
        # 2,000 x $0.10 + 300 x $0.50 per million
        assert call.cost_usd == pytest.approx(0.00035)
        assert (call.input_tokens, call.output_tokens, call.ok, call.error) == (2_000, 300, True, "")
        assert (call.purpose, call.model) == ("word_skill", "claude-haiku-5-5")


async def test_no_call_is_made_that_could_pass_the_cap() -> None:
    async with world(message(WORDED), daily_usd=0.001) as made:
        await fails(made, errors.BudgetExceeded, r"today's \$0\.00")
        assert made.server.asked == []
        assert made.ledger == []


async def test_what_was_spent_today_counts_against_the_cap() -> None:
    async with world(message(WORDED), daily_usd=1.0) as made:
        made.ledger.append(ledger_call(0.9999))
        await fails(made, errors.BudgetExceeded)
        assert made.server.asked == []


async def test_parallel_calls_cannot_pass_the_cap_together() -> None:
    # Worst cost of one call: about $0.0024; the cap has room for two at a time, and eight are asked for.
    async with world(silence_until_two, daily_usd=0.006, timeout_s=20) as made:
        outcomes: list[str] = []

        async def ask() -> None:
            try:
                await made.model.word_skill(SKILL)
                outcomes.append("worded")
            except errors.BudgetExceeded:
                outcomes.append("refused")
                if outcomes.count("refused") == 6:
                    release.set()

        release.clear()
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(ask)
        assert sorted(outcomes) == ["refused"] * 6 + ["worded"] * 2
        assert len(made.server.asked) == 2
        assert await made.spent() <= 0.006


release = asyncio.Event()


async def silence_until_two(writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    """Answer only once all others were refused, so that the calls overlap."""
    await release.wait()
    body = message(WORDED).body
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
    writer.write(f"content-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def test_a_call_that_ends_while_the_ledger_is_read_counts() -> None:
    stored: list[float] = []
    reading, goes_on = anyio.Event(), anyio.Event()

    async def record(call: ModelCall) -> None:
        stored.append(call.cost_usd)

    async def spent() -> float:
        found = sum(stored)
        if reading_slowly:
            reading.set()
            await goes_on.wait()
        return found

    async def second() -> None:
        with pytest.raises(errors.BudgetExceeded):
            async with kept.bill("word_skill", "m", 0.6):
                pytest.fail("both calls cost 1.2")

    kept, reading_slowly = spend.Spend(1.0, record, spent), False
    async with anyio.create_task_group() as group:
        async with kept.bill("word_skill", "m", 0.6):
            reading_slowly = True
            group.start_soon(second)
            await reading.wait()
        goes_on.set()
    assert stored == [0.6]


async def test_a_reservation_ends_with_its_call() -> None:
    async with world(message(WORDED), daily_usd=0.003) as made:  # room for one at its worst cost
        for _ in range(3):
            await made.model.word_skill(SKILL)
        assert len(made.ledger) == 3


async def test_a_cancelled_call_is_in_the_ledger_with_its_worst_cost() -> None:
    async with world(silence) as made:
        async with anyio.create_task_group() as group:
            group.start_soon(made.model.word_skill, SKILL)
            await made.server.arrived.wait()
            group.cancel_scope.cancel()
        (call,) = made.ledger
        assert (call.ok, call.error) == (False, "CancelledError")
        assert call.cost_usd > 0.002


async def test_a_ledger_that_cannot_be_read_stops_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(message(WORDED)) as made:
        monkeypatch.setattr(made.model._messages._spend, "_spent_today", failing)
        await fails(made, errors.LedgerUnavailable, "cannot be read: disk full")
        assert made.server.asked == []


async def test_a_ledger_that_tells_nonsense_stops_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(message(WORDED)) as made:
        made.ledger.append(ledger_call(float("nan")))
        await fails(made, errors.LedgerUnavailable, "nan")


async def test_what_the_ledger_could_not_take_stays_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two answers at $0.0015 each leave no room for a third at its worst cost of about $0.0024.
    async with world(message(WORDED, input_tokens=15_000, output_tokens=0), daily_usd=0.005) as made:
        monkeypatch.setattr(made.model._messages._spend, "_record", failing)
        await fails(made, errors.LedgerUnavailable, "cannot be written: disk full")
        await fails(made, errors.LedgerUnavailable, "cannot be written: disk full")
        await fails(made, errors.BudgetExceeded)


async def failing(*_: Any) -> float:
    raise OSError("disk full")


async def test_a_ledger_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spend, "LEDGER_SECONDS", 0.05)
    async with world(message(WORDED)) as made:
        monkeypatch.setattr(made.model._messages._spend, "_record", lambda call: anyio.Event().wait())
        await fails(made, errors.LedgerUnavailable)


def ledger_call(cost: float) -> ModelCall:
    return ModelCall(
        call_id="c",
        at="2026-11-29T00:00:00.000Z",
        purpose="p",
        model="m",
        input_tokens=0,
        output_tokens=0,
        cost_usd=cost,
        ok=True,
    )


async def test_a_model_of_an_unknown_price_counts_as_the_dearest() -> None:
    async with world(message(WORDED), model="local-7b") as made:
        await made.model.word_skill(SKILL)
        assert made.ledger[0].cost_usd == pytest.approx(0.0225)  # 1,000 x $15 + 100 x $75 per million


async def test_a_price_of_ones_own_is_taken() -> None:
    async with world(message(WORDED), model="local-7b", price=(0, 0), daily_usd=0) as made:
        await made.model.word_skill(SKILL)
        assert made.ledger[0].cost_usd == 0
