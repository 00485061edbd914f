"""`prowess serve --http` as a process: the SDK's client in both eras, the inspector, a hub that is killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from chaos import SECONDS, Marked, shim_command
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from prowess.server.http.tokens import Tokens

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

ROOT = Path(__file__).resolve().parents[2]
INSPECTOR = ROOT / "build" / "npm" / "node_modules" / ".bin" / "mcp-inspector"
FIVE = ["track_execution", "score_reward", "reflect", "find_skill", "evolve_skills"]
ERAS = ["legacy", "auto", "2026-07-28"]

Opened = Callable[[str], AbstractAsyncContextManager[Client]]


@contextmanager
def _serving(home: Path, marked: Marked, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-I", "-m", "prowess.server", "serve", "--store", str(home)]
    command += ["--http", "127.0.0.1:0", *options]
    with subprocess.Popen(command, env=marked.environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield _url(process.stderr.readline()), process
        finally:
            process.terminate()
            process.wait(SECONDS)


def _url(said: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:[0-9]+/mcp", said)
    assert found, said
    return found[0]


@asynccontextmanager
async def _over_http(url: str, mode: str, secret: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    with anyio.fail_after(2 * SECONDS):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=SECONDS) as client,
        ):
            yield client


@asynccontextmanager
async def _over_stdio(home: Path, marked: Marked, mode: str) -> AsyncIterator[Client]:
    program, *arguments = shim_command(home)
    server = StdioServerParameters(command=program, args=arguments, env=marked.environ)
    with anyio.fail_after(2 * SECONDS):
        async with Client(stdio_client(server), mode=mode, read_timeout_seconds=SECONDS) as client:
            yield client


@pytest.fixture(params=["stdio", "http"])
def opened(request: pytest.FixtureRequest, home: Path, marked: Marked) -> Iterator[Opened]:
    """Opens a client in an era, over either transport."""
    if request.param == "stdio":
        yield lambda mode: _over_stdio(home, marked, mode)
        return
    secret = Tokens(home).create("test")
    with _serving(home, marked) as (url, _):
        yield lambda mode: _over_http(url, mode, secret)


async def _told(client: Client, name: str, /, **arguments: Any) -> tuple[bool, str, dict[str, Any]]:
    result = await client.call_tool(name, arguments)
    return not result.is_error, result.content[0].text, dict(result.structured_content or {})


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_the_tools_behave_alike_over_both_transports(opened: Opened, mode: str) -> None:
    async with opened(mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == FIVE
        for number in (1, 2):
            task = f"task {number}"
            worked, text, told = await _told(client, "track_execution", task_id=task, action="look", tool="bash")
            assert (worked, told["step"], told["receipt"]) == (True, 1, "committed")
            assert text == f"committed: step 1 (episode {told['episode_id']})"
            steps = [{"action": "fix", "tool": "edit"}, {"action": "test", "tool": "pytest", "outcome": "success"}]
            worked, text, told = await _told(client, "track_execution", task_id=task, steps=json.dumps(steps))
            assert (worked, told["receipt"]) == (True, "committed")
            worked, text, told = await _told(client, "score_reward", task_id=task, reward="8", final="true")
            assert (worked, told["reward"], told["outcome"], told["closed"]) == (True, 8, "success", True)
        worked, text, told = await _told(client, "reflect", min_support=2)
        assert worked, text
        worked, text, told = await _told(client, "evolve_skills", mode="create")
        assert worked, text
        assert len(told["changes"]) == 1
        worked, text, told = await _told(client, "find_skill", query="bash, edit and pytest")
        assert worked, text
        assert [step["tool"] for step in told["skills"][0]["steps"]] == ["bash", "edit", "pytest"]
        worked, text, _ = await _told(client, "track_execution", action="no task")
        assert not worked
        assert "task_id" in text
        worked, text, _ = await _told(client, "score_reward", task_id="unknown", reward=1)
        assert not worked
        assert "unknown" in text


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_killed_hub_is_replaced_at_the_same_port_and_nothing_acknowledged_is_lost(
    home: Path, marked: Marked, mode: str
) -> None:
    with _serving(home, marked) as (url, process):
        async with _over_http(url, mode) as client:
            assert (await _told(client, "track_execution", task_id="t", action="before"))[0]
        (hub,) = marked.hubs()
        hub.kill()
        assert await anyio.to_thread.run_sync(_next_url, process) == url
        async with _over_http(url, mode) as client:
            _, _, told = await _told(client, "track_execution", task_id="t", action="after")
        # A session of the handshake era ended with its hub, and with it the attempt.
        assert told["step"] == (1 if mode == "legacy" else 2)
        (after,) = marked.hubs()
        assert after.pid != hub.pid
    assert process.returncode == 0


def _next_url(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return _url(next(line for line in process.stderr if "serving MCP" in line))


def _inspected(url: str, secret: str, *arguments: str) -> dict[str, Any]:
    if not INSPECTOR.exists() or shutil.which("node") is None:
        message = "the inspector is not installed: `make test` installs it where npm is present"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    command = [str(INSPECTOR), "--cli", url, "--transport", "http", "--header", f"Authorization: Bearer {secret}"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_inspector_lists_and_calls_over_http(home: Path, marked: Marked) -> None:
    secret = Tokens(home).create("inspector", scopes=("write",))
    with _serving(home, marked) as (url, _):
        listed = _inspected(url, secret, "--method", "tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["track_execution", "score_reward"]
        arguments = ("--tool-name", "track_execution", "--tool-arg", "task_id=t", "--tool-arg", "action=look")
        told = _inspected(url, secret, "--method", "tools/call", *arguments)
        assert told["structuredContent"]["receipt"] == "committed"


def test_what_cannot_be_served_is_told_in_a_line(home: Path, marked: Marked) -> None:
    command = [sys.executable, "-I", "-m", "prowess.server", "serve", "--store", str(home), "--http"]
    for address, code, reason in (("0.0.0.0:0", 1, "no token was made"), ("8484", 2, "is no address")):
        done = subprocess.run(
            [*command, address], env=marked.environ, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert (done.returncode, done.stdout) == (code, "")
        assert reason in done.stderr
        assert "hint: " in done.stderr
