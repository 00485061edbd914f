"""Whatever is done in whatever order: a rebuilt catalog is the same, and a restored backup is what it was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from storekit import AT, ORIGIN, Clock, decisions, memory, skill

from prowess.storage.errors import UnknownEpisode
from prowess.storage.events import MemoryDeleted, SkillSaved, SkillStatusSet
from prowess.storage.models import NewReward, NewStep, NewUse, Where
from prowess.storage.restore import restore
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

Act = Callable[[Store, int], Awaitable[Any]]


def _where(number: int) -> Where:
    return Where(task_id=f"t{number % 3}", project="shop", session=f"s{number % 2}", task=f"task {number % 4}")


async def _track(store: Store, number: int) -> None:
    step = NewStep(action=f"look {number}", tool="find_order", external_id=f"x{number}", error="no" * (number % 2))
    await store.track(_where(number), [step, NewStep(action="pay")], origin=ORIGIN)


async def _score(store: Store, number: int) -> None:
    reward = NewReward(value=number % 21 - 10.0, source="tests" if number % 2 else "user")
    use = NewUse(skill_id="skill-refund", version=1, success=number % 3 > 0)
    try:
        await store.score(_where(number), [reward], uses=[use], final=number % 4 == 0, origin=ORIGIN)
    except UnknownEpisode:
        return


async def _decide(store: Store, number: int) -> None:
    episodes = await store.episodes(limit=3)
    about = episodes[number % len(episodes)].id if episodes else "none"
    await store.append(decisions(about, f"v{number}"), origin=ORIGIN)


async def _change_skill(store: Store, number: int) -> None:
    name = ("refund", "keep", "return")[number % 3]
    about = tuple(episode.id for episode in await store.episodes(limit=number % 3))
    changed = SkillSaved(skill=skill(name, episodes=about, text=str(number)), change="adjust")
    status = SkillStatusSet(skill_id=f"skill-{name}", status="archived", at=AT)
    await store.append([changed, status, memory(f"m{number}")], origin=ORIGIN)


async def _delete_memory(store: Store, number: int) -> None:
    for known in (await store.memories())[: number % 3]:
        await store.append([MemoryDeleted(memory_id=known.id, at=AT)], origin=ORIGIN)


async def _forget_episode(store: Store, number: int) -> None:
    ids = [episode.id for episode in await store.episodes(limit=4)]
    await store.forget(episode_ids=ids[number % 4 : number % 4 + 1], reason="asked", origin=ORIGIN)


async def _forget_task(store: Store, number: int) -> None:
    await store.forget(task_id=f"t{number % 3}", origin=ORIGIN)


async def _forget_skill(store: Store, number: int) -> None:
    await store.forget(skill_ids=[("skill-refund", "skill-keep", "skill-return")[number % 3]], origin=ORIGIN)


async def _forget_project(store: Store, number: int) -> None:
    await store.forget(project="shop", origin=ORIGIN)


async def _trim(store: Store, number: int) -> None:
    await store.trim(days=None, max_bytes=number * 20, origin=ORIGIN)


ACTS: list[Act] = [
    *(_track, _track, _score, _decide, _change_skill, _delete_memory),
    *(_forget_episode, _forget_task, _forget_skill, _forget_project, _trim),
]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 40)), max_size=14), st.integers(0, 13))
async def test_rebuilding_and_restoring_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[Act, int]], copy_after: int
) -> None:
    home, clock = tmp_path_factory.mktemp("any"), Clock()
    copied: dict[str, Any] | None = None
    async with Store.open(home / "store", clock=clock) as store:
        for turn, (act, number) in enumerate(acts):
            await act(store, number)
            clock.forward(seconds=1)
            if turn == copy_after:
                copied = await store.dump()
                await store.backup(home / "copy")
                break
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
    if copied is not None:
        restore(home / "new", home / "copy")
        async with Store.open(home / "new", clock=clock) as store:
            assert await store.dump() == copied
            await store.verify()
