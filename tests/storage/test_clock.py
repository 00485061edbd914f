"""A clock that is set while the store is open."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from storekit import ORIGIN, WHERE, Clock, steps

from prowess.storage.models import NewReward, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


async def test_steps_stay_in_order_when_the_clock_is_corrected(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        told = await store.track(WHERE, steps("first"), origin=ORIGIN)
        clock.forward(seconds=-90)
        await store.track(WHERE, steps("second"), origin=ORIGIN)
        clock.forward(seconds=91)
        await store.track(WHERE, steps("third"), origin=ORIGIN)
        found = await store.steps(told.episode_id)
        assert [(step.action, step.at[14:19]) for step in found] == [
            ("first", "00:00"),
            ("second", "00:00"),
            ("third", "00:01"),
        ]


async def test_a_clock_that_was_hours_ahead_is_taken_at_its_word_once_it_is_right(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        await store.track(WHERE, steps("ahead"), origin=ORIGIN)
        clock.forward(hours=-2)
        told = await store.track(WHERE, steps("right"), origin=ORIGIN)
        assert {step.action: step.at[11:16] for step in await store.steps(told.episode_id)}["right"] == "10:00"


@pytest.mark.parametrize("back", [{"seconds": -1}, {"days": -1}, {"days": -3650}])
async def test_the_last_word_counts_when_the_clock_was_set_back(
    folder: Path, clock: Clock, back: dict[str, float]
) -> None:
    async with Store.open(folder, clock=clock) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.score(WHERE, [NewReward(value=1.0, source="user")], origin=ORIGIN)
        clock.forward(**back)
        scored = await store.score(WHERE, [NewReward(value=-3.0, source="user")], origin=ORIGIN)
        assert (scored.reward, scored.outcome) == (-3.0, "failure")
    async with Store.open(folder, clock=clock) as store:
        again = await store.score(WHERE, [NewReward(value=7.0, source="user")], origin=ORIGIN)
        assert again.reward == 7.0
        found = await store.find_episode(WHERE)
        assert found is not None
        assert (found.reward, found.outcome) == (7.0, "success")


@pytest.mark.parametrize("year", [1, 1969, 9999])
async def test_any_time_that_the_clock_may_tell_is_taken(folder: Path, clock: Clock, year: int) -> None:
    clock.now = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    async with Store.open(folder, clock=clock) as store:
        for _ in range(2):
            told = await store.track(Where(task_id="t"), steps("a"), origin=ORIGIN, key="k")
        await store.score(Where(task_id="t"), [NewReward(value=1.0)], final=True, origin=ORIGIN)
        clock.now = datetime(2026, 11, 29, tzinfo=UTC)
        await store.track(Where(task_id="t"), steps("b"), origin=ORIGIN)
        found = await store.episodes()
        assert sorted((e.attempt, e.reward) for e in found if e.id == told.episode_id) == [(1, 1.0)]
        assert len(found) == 2
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before


async def test_the_newest_attempt_that_is_left_is_found_though_the_clock_was_ahead(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        ids = []
        for days in (400, -400, 1):
            clock.forward(days=days)
            told = await store.track(WHERE, steps("a"), origin=ORIGIN)
            await store.score(WHERE, [NewReward(value=1.0)], final=True, origin=ORIGIN)
            ids.append(told.episode_id)
        await store.forget(episode_ids=ids[2:], origin=ORIGIN)
        assert (await store.find_episode(WHERE)).id == ids[1]  # type: ignore[union-attr]
        again = await store.track(WHERE, steps("b"), origin=ORIGIN)
        assert (await store.episode(again.episode_id)).attempt == 3


async def test_what_was_recorded_while_the_clock_was_a_year_behind_is_not_a_year_old(
    folder: Path, clock: Clock
) -> None:
    async def trimmed() -> int:
        return (await store.trim(days=90, max_bytes=None, origin=ORIGIN)).episodes

    async with Store.open(folder, clock=clock) as store:
        await store.track(Where(task_id="before"), steps("a"), origin=ORIGIN)
        assert await trimmed() == 0
        clock.forward(days=-365)
        await store.track(Where(task_id="behind"), steps("a"), origin=ORIGIN)
        assert await trimmed() == 0
        await store.track(Where(task_id="still behind"), steps("a"), origin=ORIGIN)
        clock.forward(days=365, hours=1)
        assert await trimmed() == 0
        clock.forward(days=2)
        assert await trimmed() == 0
        clock.forward(days=89)
        assert await trimmed() == 3
