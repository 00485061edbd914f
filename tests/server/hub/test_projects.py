"""Both ways to serve know the project of the folder that an agent works in, and the agent's own name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from hubkit import INITIALIZE, SECONDS, hello_line, process

from prowess.server.hub.hello import read_hello
from prowess.server.hub.projects import project_by
from prowess.server.project import project_of
from prowess.storage.models import Episode
from prowess.storage.store import Store

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="the hub is Unix's")]

TRACK = {"task_id": "t", "action": "look"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder within a repository that has a remote."""
    git = tmp_path / "shop" / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[remote "origin"]\n\turl = https://forge.example/team/shop.git\n')
    (tmp_path / "shop" / "src").mkdir()
    return tmp_path / "shop" / "src"


async def _episodes(home: Path) -> dict[str, Episode]:
    async with Store.open(home) as store:
        return {episode.project: episode for episode in await store.episodes()}


async def test_the_hub_files_episodes_by_the_agents_folder_and_override(tmp_path: Path, shop: Path) -> None:
    home = tmp_path / "home"
    async with process(home) as hub:
        for said in ({"cwd": str(shop)}, {"cwd": str(shop), "project": "mine"}, {"cwd": "/gone"}):
            peer = await hub.peer()
            async with peer.stream:
                await peer.greet(**said, session=f"of {said}")
                await peer.initialize("claude-code")
                assert not (await peer.call("track_execution", TRACK)).get("isError")
        hub.process.terminate()
        await hub.wait()
    episodes = await _episodes(home)
    assert set(episodes) == {project_of(shop), "mine", ""}
    assert {episode.agent for episode in episodes.values()} == {"claude-code"}


def _serve(home: Path, cwd: Path, *options: str) -> None:
    """An agent that tracks one step through ``prowess serve`` and leaves."""
    messages = [
        {"method": "initialize", "id": 1, "params": {**INITIALIZE, "clientInfo": {"name": "cursor", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"method": "tools/call", "id": 2, "params": {"name": "track_execution", "arguments": TRACK}},
    ]
    command = [sys.executable, "-I", "-m", "prowess.server", "serve", "--store", str(home), *options]
    with subprocess.Popen(command, cwd=cwd, stdin=-1, stdout=-1, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))
        server.stdin.flush()
        assert '"committed"' in server.stdout.readline() + server.stdout.readline()
        server.stdin.close()
        assert server.wait(SECONDS) == 0


async def test_serving_in_process_does_the_same(tmp_path: Path, shop: Path) -> None:
    home = tmp_path / "home"
    for options in ([], ["--project", "mine"]):
        await anyio.to_thread.run_sync(_serve, home, shop, "--in-process", *options)
    episodes = await _episodes(home)
    assert set(episodes) == {project_of(shop), "mine"}
    assert {episode.agent for episode in episodes.values()} == {"cursor"}


async def test_the_shim_tells_the_hub_its_folder_and_its_option(tmp_path: Path, shop: Path) -> None:
    home = tmp_path / "home"
    async with process(home) as hub:
        await hub.peer()  # where none answers yet, a shim starts one of its own
        for options in ([], ["--project=mine"]):
            await anyio.to_thread.run_sync(_serve, home, shop, *options)
        hub.process.terminate()
        await hub.wait()
    assert set(await _episodes(home)) == {project_of(shop), "mine"}


async def test_the_settings_come_after_the_override_and_before_the_folder(shop: Path) -> None:
    def told(project: str = "") -> str:
        return hello_line(cwd=str(shop), project=project).decode()

    for configured, project, expected in [("", "", project_of(shop)), ("set", "", "set"), ("set", "mine", "mine")]:
        hello = read_hello(told(project).encode())
        assert await project_by(lambda configured=configured: configured)(hello) == expected  # type: ignore[misc]
