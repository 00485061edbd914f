"""What a server does by itself, at times that the tests choose."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from backgroundkit import SECONDS, serving

from prowess.server.background.background import (
    CHECK_SECONDS,
    FIRST_RETRY_SECONDS,
    LAST_RETRY_SECONDS,
    LEARNED_AT,
    MARK,
    PATIENCE_SECONDS,
    QUIET_SECONDS,
    Background,
    Learning,
    is_enough,
)
from prowess.server.opening import Opening
from prowess.server.runtime import Runtime
from prowess.server.settings import Settings
from prowess.storage.errors import StoreUnavailable
from prowess.tools.registry import call, find

pytestmark = pytest.mark.anyio

# ---- learning


async def test_enough_new_scored_episodes_become_patterns_and_skills(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.works(3)
        await server.looks_when_quiet()
        assert server.compute.mined == ["shop"]
        (skill,) = await server.runtime.store.skills(project="shop")
        assert (skill.author, skill.project, [step.tool for step in skill.steps]) == (
            "machine", "shop", ["get_order", "cancel_order"],
        )  # fmt: skip
        began = await server.runtime.store.mark(LEARNED_AT)
        assert began > 0
        await server.looks_when_quiet()
        await server.works(2)
        await server.looks_when_quiet()
        assert server.compute.mined == ["shop"]
        assert await server.runtime.store.mark(LEARNED_AT) == began
        await server.works(1)
        await server.looks_when_quiet()
        assert server.compute.mined == ["shop", "shop"]


async def test_a_new_project_is_learned_from_at_once_and_then_each_time_it_doubled(tmp_path: Path) -> None:
    async with serving(tmp_path, learn_after=10) as server:
        learned = []
        for number in range(1, 30):
            await server.works(1)
            await server.looks_when_quiet()
            learned += [number] * (len(server.compute.mined) - len(learned))
    assert learned == [1, 2, 4, 8, 16, 26]


def test_a_project_that_is_forgotten_between_two_counts_is_not_enough() -> None:
    assert not is_enough({"gone": 1}, {}, 10)
    assert not is_enough({"gone": 1, "old": 1}, {"old": 5}, 10)
    assert is_enough({"gone": 1, "new": 2}, {"new": 4}, 10)


async def test_episodes_without_a_known_reward_do_not_count(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.works(5, reward=None)
        await server.looks_when_quiet()
    assert server.compute.mined == []


async def test_each_project_with_news_is_learned_from_and_no_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.works(3, "old")
        await server.looks_when_quiet()
        await server.works(2, "a")
        await server.works(1, "b")
        await server.looks_when_quiet()
    assert server.compute.mined == ["old", "a", "b"]


async def test_zero_switches_learning_off(tmp_path: Path) -> None:
    async with serving(tmp_path, learn_after=0) as server:
        await server.works(5)
        await server.looks_when_quiet()
    assert server.compute.mined == []


async def test_a_restart_neither_repeats_nor_forgets(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.works(3)
        await server.looks_when_quiet()
        await server.works(2)
        await server.looks_when_quiet()
        assert server.compute.mined == ["shop"]
    async with serving(tmp_path) as server:
        await server.looks_when_quiet()
        assert server.compute.mined == []
        await server.works(1)
        await server.looks_when_quiet()
        assert server.compute.mined == ["shop"]


async def test_nothing_begins_while_agents_write(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.works(3)
        for _ in range(1 + int(PATIENCE_SECONDS / (QUIET_SECONDS - 1))):
            await server.looks(QUIET_SECONDS - 1)
            assert server.compute.mined == []
            await server.works(1)
        await server.looks(QUIET_SECONDS - 1)  # but agents that never pause do not keep it off for ever
        assert server.compute.mined == ["shop"]


async def test_a_failure_is_tried_again_later_each_time_after_a_longer_pause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path) as server:
        server.compute.failures = 2
        await server.works(3)
        await server.looks_when_quiet()
        assert "next try in 60 seconds: the worker is ill" in caplog.text
        assert await server.runtime.store.mark(MARK) == 0
        await server.looks(FIRST_RETRY_SECONDS - 1)
        assert server.compute.failures == 1
        await server.looks(1)
        assert server.compute.failures == 0
        await server.looks(2 * FIRST_RETRY_SECONDS - 1)
        assert server.compute.mined == []
        await server.looks(1)
        assert server.compute.mined == ["shop"]


async def test_after_a_failure_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.works(2, "a")
        await server.works(1, "b")
        mined = server.compute.mine

        async def fail_once(catalog_path: Path, *, project: str = "", **options: Any) -> Any:
            if project == "b":
                server.compute.mine = mined  # type: ignore[method-assign]
                raise StoreUnavailable("ill")
            return await mined(catalog_path, project=project, **options)

        server.compute.mine = fail_once  # type: ignore[method-assign]
        await server.looks_when_quiet()
        await server.looks(FIRST_RETRY_SECONDS)
    assert server.compute.mined == ["a", "b"]


async def test_learning_gives_way_to_an_agents_decision(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        in_the_turn, ticks = anyio.Event(), anyio.Event()
        learning = Learning(make_compute=lambda: server.compute, sleep=lambda _: ticks.wait())
        background = Background(server.opening, chores=[learning], clock=lambda: server.now[0])
        proposed = server.compute.propose

        async def stuck(*_: Any, **__: Any) -> Any:
            in_the_turn.set()
            await anyio.sleep_forever()

        async def decide() -> None:
            async with server.runtime.turn:
                decided.append(True)

        decided: list[bool] = []
        server.compute.propose = stuck  # type: ignore[method-assign]
        await server.works(3)
        await background.check()
        server.now[0] += QUIET_SECONDS
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(background.check)
            await in_the_turn.wait()
            assert background.working() == ["learning"]
            tasks.start_soon(decide)
            await anyio.wait_all_tasks_blocked()
            ticks.set()
        assert decided == [True]
        assert background.working() == []
        assert await server.runtime.store.mark(MARK) == 0
        server.compute.propose = proposed  # type: ignore[method-assign]
        ticks = anyio.Event()
        server.now[0] += QUIET_SECONDS
        await background.check()
        assert await server.runtime.store.mark(MARK) > 0


async def test_work_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("prowess.server.background.background.WORK_SECONDS", 0.0)
    async with serving(tmp_path) as server:
        await server.works(3)
        await server.looks_when_quiet()
    assert "took longer than 0 seconds" in caplog.text


async def test_calls_are_answered_while_it_learns(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        mining = anyio.Event()

        async def stuck(*_: Any, **__: Any) -> Any:
            mining.set()
            await anyio.sleep_forever()

        server.compute.mine = stuck  # type: ignore[method-assign]
        await server.works(3)
        await server.looks()
        server.now[0] += QUIET_SECONDS
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.background.check)
            await mining.wait()
            context = server.runtime.context(client="agent", session="s", project="shop")
            await server.works(1)
            await call(find("find_skill"), {"query": "cancel"}, context)
            await call(find("evolve_skills"), {"mode": "create"}, context)
            tasks.cancel_scope.cancel()
        assert server.background.working() == []


@pytest.mark.skipif(sys.platform == "win32", reason="nice is Unix's")
async def test_it_learns_in_a_worker_of_its_own(tmp_path: Path) -> None:
    async with serving(tmp_path, [Learning()]) as server:
        await server.works(3)
        await server.looks_when_quiet()
        assert len(await server.runtime.store.skills(project="shop")) == 1
        assert server.runtime.compute.pid is None  # the agents' own was not asked


# ---- the scheduler


@dataclass
class Counting:
    """A chore that is always due."""

    name: str = "counting"
    error: Exception | None = None
    done: int = 0
    asked: int = 0
    seen: list[list[str]] = field(default_factory=list)
    background: Background | None = None

    async def due(self, runtime: Runtime) -> bool:
        self.asked += 1
        return True

    async def work(self, runtime: Runtime) -> None:
        self.done += 1
        if self.background:
            self.seen.append(self.background.working())
        if self.error:
            raise self.error


async def test_a_chore_that_breaks_harms_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = Counting("broken", RuntimeError("bug")), Counting()
    async with serving(tmp_path, [broken, sound]) as server:
        sound.background = server.background
        await server.looks_when_quiet()
        assert (broken.done, sound.done) == (1, 1)
        assert sound.seen == [["counting"]]
        assert "bug" in caplog.text
        pause, pauses = FIRST_RETRY_SECONDS, 0.0
        for tries in range(2, 14):
            await server.looks(pause)
            assert broken.done == tries
            pauses, pause = pauses + pause, min(pause * 2, LAST_RETRY_SECONDS)
        assert pause == LAST_RETRY_SECONDS


async def test_a_store_that_is_not_open_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    opening, chore = Opening(Settings(home=tmp_path / "file"), tell=lambda _: None), Counting()
    background = Background(opening, chores=[chore])
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            await background.check()
            tasks.start_soon(opening.run)
            with pytest.raises(StoreUnavailable):
                await opening.opened()
            await background.check()
            opening.close()
    assert chore.asked == 0


async def test_it_looks_again_and_again_until_it_is_cancelled(tmp_path: Path) -> None:
    pauses: list[float] = []
    chore = Counting()
    async with serving(tmp_path, []) as server, anyio.create_task_group() as tasks:

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            server.now[0] += seconds
            if len(pauses) == 10:
                tasks.cancel_scope.cancel()
            await anyio.lowlevel.checkpoint()

        background = Background(server.opening, chores=[chore], clock=lambda: server.now[0], sleep=sleep)
        tasks.start_soon(background.run)
    assert pauses == [CHECK_SECONDS] * 10
    assert chore.asked == 9
    assert chore.done == 9 - int(QUIET_SECONDS / CHECK_SECONDS)


async def test_its_end_ends_a_training(tmp_path: Path) -> None:
    @dataclass
    class Training:
        left: bool = False

        def working(self) -> list[str]:
            return [] if self.left else ["training r1"]

        async def leave(self) -> None:
            await anyio.lowlevel.checkpoint()
            self.left = True

    async with serving(tmp_path, []) as server:
        trainer: Any = Training()
        object.__setattr__(server.runtime, "trainer", trainer)
        await server.looks()
        assert server.background.working() == ["training r1"]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.background.run)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert server.background.working() == []
        object.__setattr__(server.runtime, "trainer", None)
