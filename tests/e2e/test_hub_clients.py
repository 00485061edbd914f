"""Real clients share one store through shims: the reference inspector, the SDK's clients of both eras, commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from chaos import MARK, SECONDS, Marked, shim_command
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

INSPECTOR = Path(__file__).resolve().parents[2] / "build" / "npm" / "node_modules" / ".bin" / "mcp-inspector"
FIVE = ["evolve_skills", "find_skill", "reflect", "score_reward", "track_execution"]
STEPS = 20


@asynccontextmanager
async def _client(home: Path, marked: Marked, mode: str) -> AsyncIterator[Client]:
    program, *arguments = shim_command(home)
    server = StdioServerParameters(command=program, args=arguments, env=marked.environ)
    with anyio.fail_after(2 * SECONDS):
        async with Client(stdio_client(server), mode=mode, read_timeout_seconds=SECONDS) as client:
            yield client


async def _called(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content or {})


async def _prowess(home: Path, marked: Marked, *words: str) -> Any:
    """What a command prints as JSON."""
    command = [sys.executable, "-I", "-m", "prowess.server", *words, "--json", "--store", str(home)]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=marked.environ, capture_output=True, text=True, timeout=SECONDS, check=False)

    done = await anyio.to_thread.run_sync(run)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


async def _work(client: Client, task_id: str) -> None:
    for number in range(STEPS):
        told = await _called(client, "track_execution", task_id=task_id, action=f"{task_id} {number}", tool="bash")
        assert (told["receipt"], told["step"]) == ("committed", number + 1)
    scored = await _called(client, "score_reward", task_id=task_id, reward=5, final=True)
    assert (scored["reward"], scored["closed"]) == (5, True)


@pytest.mark.anyio
@pytest.mark.parametrize("modes", [("legacy", "auto"), ("legacy", "2026-07-28"), ("2026-07-28", "auto")])
async def test_two_clients_at_once_share_one_store(home: Path, marked: Marked, modes: tuple[str, str]) -> None:
    async with _client(home, marked, modes[0]) as first, _client(home, marked, modes[1]) as second:
        for client in (first, second):
            assert sorted(tool.name for tool in (await client.list_tools()).tools) == FIVE
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_work, first, "first")
            tasks.start_soon(_work, second, "second")
        # Each sees what the other did.
        seen = await _called(second, "score_reward", task_id="first", reward="negative")
        assert seen == await _called(first, "score_reward", task_id="first", reward="negative")
        assert seen["episode_id"] != (await _called(first, "score_reward", task_id="second", reward=1))["episode_id"]
        assert len(marked.hubs()) == 1


@pytest.mark.anyio
async def test_commands_work_while_agents_do(home: Path, marked: Marked, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(_client(home, marked, "legacy"))
        second = await stack.enter_async_context(_client(home, marked, "2026-07-28"))
        await _called(second, "track_execution", task_id="unscored", action="look")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_work, first, "first")
            status = await _prowess(home, marked, "hub", "status")
            assert status["pid"] == marked.hubs()[0].pid
            assert len(status["clients"]) == 2
            assert (await _prowess(home, marked, "stats"))["episodes"] in (1, 2)
        listed = await _prowess(home, marked, "episodes", "list")
        assert {episode["task_id"]: len(episode["steps"]) for episode in listed} == {"first": STEPS, "unscored": 1}
        (told,) = (await _prowess(home, marked, "backup", str(tmp_path / "kept"))).values()
        assert told.startswith(str(tmp_path / "kept"))
        assert await _prowess(home, marked, "rebuild") == {"episodes": 2, "steps": STEPS + 1}
        assert (await _prowess(home, marked, "forget", "--task-id", "first", "--yes"))["episodes"] == 1
        # They go on where they were.
        told = await _called(second, "track_execution", task_id="unscored", action="look again")
        assert told["step"] == 2
        assert (await _called(first, "track_execution", task_id="first", action="again"))["step"] == 1
        assert (await _prowess(home, marked, "stats"))["episodes"] == 2


@pytest.mark.anyio
async def test_a_hub_that_is_stopped_by_hand_costs_its_clients_one_slower_call(home: Path, marked: Marked) -> None:
    async with _client(home, marked, "legacy") as first, _client(home, marked, "auto") as second:
        for client in (first, second):
            await _called(client, "track_execution", task_id="t", action="before")
        (hub,) = marked.hubs()
        await _prowess(home, marked, "hub", "stop")
        for client in (first, second):
            assert (await _called(client, "track_execution", task_id="t", action="after"))["step"] == 2
        (after,) = marked.hubs()
        assert after.pid != hub.pid


def _inspected(home: Path, marked: Marked, method: str, *arguments: str) -> dict[str, Any]:
    # Options first: the inspector takes what follows the command for the server's own arguments.
    mark = f"{MARK}={marked.environ[MARK]}"
    command = [str(INSPECTOR), "--cli", "-e", f"PROWESS_HOME={home}", "-e", mark]
    command += [sys.executable, "-I", "-m", "prowess.server", "serve", "--method", method, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_inspector_works_through_the_shim_beside_another_client(home: Path, marked: Marked) -> None:
    if not INSPECTOR.exists() or shutil.which("node") is None:
        message = "the inspector is not installed: `make test` installs it where npm is present"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    other = marked.shim(home)
    other.greet()
    assert sorted(tool["name"] for tool in _inspected(home, marked, "tools/list")["tools"]) == FIVE
    words = ["--tool-name", "track_execution", "--tool-arg", 'task_id="t"', "--tool-arg", 'action="look"']
    tracked = _inspected(home, marked, "tools/call", *words)
    assert tracked["structuredContent"]["receipt"] == "committed", tracked
    scored = other.call("score_reward", {"task_id": "t", "reward": 8, "final": True})["result"]
    assert scored["structuredContent"]["episode_id"] == tracked["structuredContent"]["episode_id"]
    assert len(marked.hubs()) == 1
    assert other.close() == 0
