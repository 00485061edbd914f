"""Training by the real trainer below a real hub, as an agent's client sees it through its shim: from ``train`` to the
first episode that the new controller remembers.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hubkit import hub_in
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from trainkit import SMALL, restarts

import prowess.server.shim
from prowess.server.background.background import Background
from prowess.server.background.remembering import Remembering
from prowess.server.hub.hub import Hub
from prowess.server.settings import Settings
from prowess.storage.models import Memory, NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="hubs listen on Unix sockets")]

SECONDS = 180.0  # for each wait, on a busy machine
FASTER = 200.0  # the background work's clock, which waits half a minute for quiet
TRAINING = {**SMALL, "iterations": 12, "design_every": 4, "trace_episodes": 24, "memory_tokens": [200]}
SHIM = Path(prowess.server.shim.__file__).with_name("__main__.py")


@pytest.fixture
def home() -> Iterator[Path]:
    """A store's folder whose socket has a short path."""
    folder = Path(tempfile.mkdtemp(prefix="hub-"))
    yield folder / "store"
    shutil.rmtree(folder, ignore_errors=True)


async def soon(_: float) -> None:
    await anyio.sleep(0.05)


@asynccontextmanager
async def hub_of(home: Path) -> AsyncIterator[Hub]:
    """A hub that remembers as soon as it is quiet."""
    work = partial(Background, chores=[Remembering()], clock=lambda: FASTER * time.monotonic(), sleep=soon)
    settings = Settings(home=home, embedder="none", withhold=0.0, project="p", backup_hours=0.0)
    async with hub_in(home, works=[work], settings=lambda: settings, seconds=3 * SECONDS) as hub:
        yield hub


async def fill(store: Store, count: int) -> None:
    """Finished episodes, of which each does what earlier ones did."""
    for trajectory in restarts(count):
        told = trajectory.episode
        where = Where(task_id=told.task_id, project="p", session="s", task=told.task)
        steps = [
            NewStep(action="run", tool="bash", args=step.args, observation=step.observation)
            for step in trajectory.steps
        ]
        await store.track(where, steps, origin=Origin(client="test"))
        await store.score(where, [NewReward(value=5.0)], final=True, origin=Origin(client="test"))


def iterations(run: Path) -> list[int]:
    """Those that the trainer told of, in all its starts."""
    told = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event["iteration"] for event in told if "of" in event]


async def remembered(store: Store, episode_id: str) -> Memory:
    """What memory skills made of the episode's step, once they did."""
    with anyio.fail_after(SECONDS):
        while True:
            for memory in await store.memories():
                if memory.made_by and memory.episode_id == episode_id and not memory.text.startswith("task"):
                    return memory
            await anyio.sleep(0.05)


class Agent:
    """A client of the hub. ``heard`` are the progress notifications of its last call that listened."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.heard: list[tuple[float, float | None]] = []
        self.begun = anyio.Event()

    async def hear(self, done: float, total: float | None, message: str | None) -> None:
        self.heard.append((done, total))
        self.begun.set()

    async def call(self, tool: str, *, listen: bool = False, **arguments: Any) -> dict[str, Any]:
        if listen:
            self.heard = []
        heard = self.hear if listen else None
        result = await self.client.call_tool(tool, arguments, progress_callback=heard)
        assert not result.is_error, result.content
        return dict(result.structured_content or {})

    async def evolve(self, **arguments: Any) -> dict[str, Any]:
        status: dict[str, Any] = (await self.call("evolve_skills", **arguments))["status"]
        return status

    async def until(self, name: str, holds: Any) -> dict[str, Any]:
        """What ``status`` tells as ``name``, once that ``holds``."""
        with anyio.fail_after(SECONDS):
            while True:
                if holds(told := (await self.evolve(mode="status"))[name]):
                    return dict(told)
                await anyio.sleep(0.1)


@asynccontextmanager
async def agent_of(home: Path) -> AsyncIterator[Agent]:
    server = StdioServerParameters(command=sys.executable, args=["-I", "-S", str(SHIM), "--store", str(home)])
    async with Client(stdio_client(server), mode="legacy", read_timeout_seconds=SECONDS) as client:
        yield Agent(client)


async def test_a_client_trains_cancels_resumes_and_is_served_by_what_was_trained(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine needs longer to load torch and to end an iteration, which only has what nobody else wants.
    monkeypatch.setattr("prowess.tools.evolve_skills.FOLLOWED_SECONDS", SECONDS)
    async with hub_of(home) as hub:
        store = (await hub.opening.opened()).store
        await fill(store, 72)
        async with agent_of(home) as agent:
            ended: dict[str, Any] = {}

            async def train() -> None:
                ended.update(await agent.evolve(mode="train", settings=TRAINING, listen=True))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(train)
                with anyio.fail_after(SECONDS):
                    await agent.begun.wait()
                cancelled = await agent.evolve(mode="cancel")
            first = agent.heard
            assert (cancelled["status"], ended["status"]) == ("cancelled", "cancelled")
            assert ended["run_id"] == cancelled["run_id"]
            assert {total for _, total in first} == {12.0}
            reached = int(cancelled["checkpoint"].removeprefix("checkpoint-").removesuffix(".pt"))
            assert first[-1][0] <= reached < 12

            await agent.evolve(mode="train", run_id=cancelled["run_id"], listen=True)
            done = await agent.until("training", lambda told: told["status"] == "done")
            assert (done["run_id"], done["resumed"]) == (cancelled["run_id"], 1)
            assert agent.heard[-1][0] > reached
            assert iterations(home / "runs" / done["run_id"]) == list(range(1, 13))  # none was done twice
            assert done["result"]["reward"] > done["result"]["reward_before"]

            used = await agent.until("memory_skills", lambda told: isinstance(told, dict))
            assert used["run_id"] == done["run_id"]
            assert done["result"]["weights_sha256"].startswith(used["controller"])

            step = {"tool": "bash", "args": {"command": "restart service gently verify orchard"}, "observation": "ok"}
            where = {"task_id": "next", "task": "please bring orchard back"}
            tracked = await agent.call("track_execution", steps=[step], **where)
            await agent.call("score_reward", task_id="next", reward=5, final=True)
            memory = await remembered(store, tracked["episode_id"])
            assert "orchard" in memory.text
            assert set(memory.made_by) <= set((await store.adopted())[0].skills)
            found = await agent.call("find_skill", query="restart orchard service")
            assert any("orchard" in line for line in found["lessons"])
