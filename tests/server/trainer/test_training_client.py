"""Training as an agent's client sees it, from ``train`` to the first episode that the new controller remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from backgroundkit import serving
from mcp import Client
from runskit import write_run
from trainerkit import FAKE, until

from prowess.server.app import create_server
from prowess.server.background.remembering import Remembering

pytestmark = pytest.mark.anyio

FIRST = [{"event": "progress", "iteration": 1, "of": 2, "reward": 0.25}, {"checkpoint": "one"}, "hold"]
THEN = [
    {"event": "progress", "iteration": 2, "of": 2, "reward": 0.5},
    {"event": "result", "reward": 0.5, "reward_before": 0.25, "best": "best"},
]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_trains_cancels_resumes_and_is_served_by_the_new_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("prowess.server.trainer.supervisor.trainer_command", lambda: FAKE)
    monkeypatch.setattr("prowess.server.trainer.supervisor.NEEDS", ())
    monkeypatch.setattr("prowess.tools.evolve_skills.understood", dict)  # the fake trainer has settings of its own
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with serving(tmp_path, [Remembering()], project="shop") as server, _client(server, mode) as client:
        await _finish(client, "t0", "nothing of interest")

        async def evolve(**arguments: Any) -> dict[str, Any]:
            heard = hear if arguments.pop("listen", False) else None
            result = await client.call_tool("evolve_skills", arguments, progress_callback=heard)
            assert not result.is_error, result.content
            status: dict[str, Any] = (result.structured_content or {})["status"]
            return status

        started = await evolve(mode="train", settings={"acts": FIRST, "resumed_acts": THEN})
        assert started["status"] == "running"  # nobody listens, so the call returns at once
        run_id, trainer = started["run_id"], server.runtime.trainer
        assert trainer is not None
        await until(trainer, lambda now: now.get("checkpoint") == "one")
        assert (await evolve(mode="status"))["training"]["progress"]["iteration"] == 1
        assert (await evolve(mode="cancel"))["status"] == "cancelled"
        export = write_run(tmp_path / "elsewhere", "made", reward=0.5).out / "best"
        export.rename(trainer.folder_of(run_id).out / "best")
        resumed = await evolve(mode="train", run_id=run_id, listen=True)
        assert resumed["resumed"] == 1
        if mode == "legacy":  # in one process the modern protocol has no token, and so no sign that somebody listens
            assert resumed["status"] == "done"
            assert told[-1] == (2.0, 2.0, "iteration 2 of 2, reward 0.5")
        await until(trainer, lambda now: now["status"] == "done")
        await server.looks_when_quiet()
        used = (await evolve(mode="status"))["memory_skills"]
        assert (used["run_id"], used["reward"], used["untrained"]) == (run_id, 0.5, 0.25)
        await _finish(client, "t1", "the gateway restarts on port 7005")
        await server.looks_when_quiet()
        found = await client.call_tool("find_skill", {"query": "gateway port restarts"})
        assert any("port 7005" in line for line in (found.structured_content or {})["lessons"])


def _client(server: Any, mode: str) -> Client:
    return Client(create_server(server.opening), mode=mode)


async def _finish(client: Client, task: str, seen: str) -> None:
    step = {"tool": "shell", "args": {"command": f"look {seen}"}, "observation": seen}
    await client.call_tool("track_execution", {"task_id": task, "steps": [step], "task": task})
    await client.call_tool("score_reward", {"task_id": task, "reward": 5, "final": True})
