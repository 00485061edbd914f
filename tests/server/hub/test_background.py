"""What a server does by itself, at times that the tests choose."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from prowess.learning.mining import mine
from prowess.learning.synthesis import propose
from prowess.server.hub.background import (
    CHECK_SECONDS,
    FIRST_RETRY_SECONDS,
    LAST_RETRY_SECONDS,
    MARK,
    PATIENCE_SECONDS,
    QUIET_SECONDS,
    Background,
    Chore,
    Learning,
)
from prowess.server.hub.backups import Backups, folder_of
from prowess.server.opening import Opening
from prowess.server.runtime import Runtime
from prowess.server.settings import Settings
from prowess.storage.backup import restore
from prowess.storage.catalog import read_trajectories
from prowess.storage.errors import StoreUnavailable
from prowess.storage.models import EpisodeFilter
from prowess.tools.registry import call, find

pytestmark = pytest.mark.anyio

SECONDS = 60.0


class InThisProcess:
    """The worker's jobs, done at once; ``failures`` is how many of the next ones fail."""

    def __init__(self) -> None:
        self.failures = 0
        self.mined: list[str] = []

    async def __aenter__(self) -> InThisProcess:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def mine(self, catalog_path: Path, *, project: str = "", since: Any, task_id: Any, **options: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the worker is ill", hint="wait")
        self.mined.append(project)
        found = read_trajectories(catalog_path, project=project or None, since=since, task_id=task_id)
        return mine(found, project=project, **options)

    async def propose(self, trajectories: Any, existing: Any, **options: Any) -> Any:
        return propose(trajectories, existing=existing, **options)


async def never(_: float) -> None:
    await anyio.sleep_forever()


@dataclass
class Server:
    """An open store, its background work, and a clock that stands still."""

    home: Path
    runtime: Runtime
    opening: Opening
    compute: InThisProcess
    background: Background
    now: list[float]
    number: int = 0

    async def works(self, count: int, project: str = "shop", reward: float | None = 8) -> None:
        """``count`` finished attempts by an agent."""
        for _ in range(count):
            self.number += 1
            context = self.runtime.context(client="agent", session="s", project=project)
            task, order = f"t{self.number}", f"#W{self.number}"
            steps = [
                {"tool": "get_order", "args": {"order_id": order}, "observation": "pending"},
                {"tool": "cancel_order", "args": {"order_id": order, "reason": "unused"}, "observation": "cancelled"},
            ]
            await call(find("track_execution"), {"task_id": task, "steps": steps, "task": f"cancel {order}"}, context)
            value = "neutral" if reward is None else reward
            await call(find("score_reward"), {"task_id": task, "reward": value, "final": True}, context)

    async def looks(self, later: float = 0.0) -> None:
        """Time passes, and the background work looks at the store."""
        self.now[0] += later
        await self.background.check()

    async def looks_when_quiet(self) -> None:
        await self.looks()
        await self.looks(QUIET_SECONDS)


@asynccontextmanager
async def serving(home: Path, chores: Sequence[Chore] | None = None, **settings: Any) -> AsyncIterator[Server]:
    chosen = {"embedder": "none", "learn_after": 3, "backup_hours": 0.0, **settings}
    opening = Opening(Settings(home=home, **chosen))
    compute, now = InThisProcess(), [1000.0]
    learning = Learning(make_compute=lambda: compute, sleep=never)
    background = Background(opening, chores=[learning] if chores is None else chores, clock=lambda: now[0])
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opening.run)
            yield Server(home, await opening.opened(), opening, compute, background, now)
            opening.close()


# ---- learning


async def test_enough_new_scored_episodes_become_patterns_and_skills(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.works(2)
        await server.looks_when_quiet()
        assert server.compute.mined == []
        await server.works(1)
        await server.looks_when_quiet()
        assert server.compute.mined == ["shop"]
        (skill,) = await server.runtime.store.skills(project="shop")
        assert (skill.author, skill.project, [step.tool for step in skill.steps]) == (
            "machine", "shop", ["get_order", "cancel_order"],
        )  # fmt: skip
        await server.looks_when_quiet()
        assert server.compute.mined == ["shop"]


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
    monkeypatch.setattr("prowess.server.hub.background.WORK_SECONDS", 0.0)
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


# ---- backups


class Calendar:
    """Wall time that the tests move; it begins now, which is when the store says that its backups were made."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@asynccontextmanager
async def backing_up(home: Path, **settings: Any) -> AsyncIterator[tuple[Server, Calendar]]:
    calendar = Calendar()
    async with serving(home, [Backups(calendar)], **{"backup_hours": 24.0, "backup_keep": 2, **settings}) as server:
        yield server, calendar


def _backups(home: Path) -> list[Path]:
    return sorted(folder_of(home).glob("prowess-*"))


async def test_a_backup_is_made_when_something_changed_and_the_last_is_old(tmp_path: Path) -> None:
    async with backing_up(tmp_path) as (server, calendar):
        await server.looks_when_quiet()
        assert _backups(tmp_path) == []  # nothing is in the store yet
        await server.works(1)
        await server.looks_when_quiet()
        (first,) = _backups(tmp_path)
        await server.works(1)
        await server.looks_when_quiet()
        assert _backups(tmp_path) == [first]  # it is too new
        calendar.ahead = timedelta(hours=24)
        await server.looks_when_quiet()
        first, second = _backups(tmp_path)
        calendar.ahead = timedelta(hours=72)
        await server.looks_when_quiet()
        assert _backups(tmp_path) == [first, second]  # it has everything
    restore(tmp_path / "elsewhere", second)
    async with serving(tmp_path / "elsewhere") as restored:
        assert len(await restored.runtime.store.episodes(EpisodeFilter(project="shop"))) == 2
    assert folder_of(tmp_path).stat().st_mode & 0o777 == 0o700


async def test_a_restart_knows_the_last_backup(tmp_path: Path) -> None:
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    assert len(_backups(tmp_path)) == 1


async def test_only_the_newest_are_kept_and_the_others_forgotten(tmp_path: Path) -> None:
    async with backing_up(tmp_path, backup_hours=0.000001) as (server, calendar):
        own = await server.runtime.store.backup(tmp_path / "a-persons-own")
        for hours in range(1, 5):
            await server.works(1)
            calendar.ahead = timedelta(hours=hours)
            await server.looks_when_quiet()
        kept = _backups(tmp_path)
        assert len(kept) == 2
        assert set(await server.runtime.store.backups()) == {str(own), *map(str, kept)}
        for path in kept:
            (path / "log.redb").unlink()
            (path / "manifest.json").unlink()
            path.rmdir()
        await server.works(1)
        await server.looks_when_quiet()
        assert len(await server.runtime.store.backups()) == 3
    assert own.exists()


async def test_zero_switches_backups_off(tmp_path: Path) -> None:
    async with backing_up(tmp_path, backup_hours=0.0) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    assert not (tmp_path / "backups").exists()


async def test_a_backup_from_the_future_does_not_count(tmp_path: Path) -> None:
    async with backing_up(tmp_path) as (server, calendar):
        await server.works(1)
        await server.looks_when_quiet()
        await server.works(1)
        await server.looks_when_quiet()
        calendar.ahead = -timedelta(days=365)  # the clock was put right
        await server.looks_when_quiet()
        assert len(_backups(tmp_path)) == 2


async def test_a_disk_without_room_is_told_and_not_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("prowess.server.hub.backups.SPARE", 10**12)
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
        assert "free on the disk" in caplog.text
    assert _backups(tmp_path) == []


async def test_what_a_killed_server_left_half_made_is_removed(tmp_path: Path) -> None:
    leftover = folder_of(tmp_path) / ".prowess-20261129T120000000000Z.part"
    leftover.mkdir(parents=True)
    (leftover / "log.redb").write_text("half")
    (folder_of(tmp_path) / "prowess-broken").mkdir()
    (folder_of(tmp_path) / "prowess-broken" / "manifest.json").write_text("{")
    async with backing_up(tmp_path) as (server, _):
        await server.works(1)
        await server.looks_when_quiet()
    assert not leftover.exists()
    assert len(_backups(tmp_path)) == 2
