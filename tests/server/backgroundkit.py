"""An open store with its background work, at times that the tests choose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from prowess.learning.mining.patterns import mine
from prowess.learning.synthesis.drafts import propose
from prowess.server.background.background import QUIET_SECONDS, Background, Chore, Learning
from prowess.server.opening import Opening
from prowess.server.runtime import Runtime
from prowess.server.settings import Settings
from prowess.storage.catalog import read_trajectories
from prowess.storage.errors import StoreUnavailable
from prowess.tools.registry import call, find

__all__ = ["SECONDS", "Server", "serving"]

SECONDS = 180.0


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
