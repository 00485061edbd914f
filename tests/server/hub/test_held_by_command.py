"""A command that opened the store itself keeps it to its end: agents are told which, and what hooks tell is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from capturekit import TRACK, Client, call, waiting
from hubkit import SECONDS, connected, hub_in

from prowess.storage.errors import StoreInUse
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


async def _is_held(home: Path) -> None:
    """Wait until another process has the store open."""
    with anyio.fail_after(SECONDS):
        while True:
            try:
                async with Store.open(home):
                    pass
            except StoreInUse:
                return
            await anyio.sleep(0.05)


def _import(home: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-I", "-m", "prowess.server", "import", "jsonl", "-", "--store", str(home)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


async def test_it_is_named_and_waited_for(home: Path) -> None:
    async with Store.open(home):
        pass
    held = await anyio.to_thread.run_sync(_import, home)
    try:
        await _is_held(home)
        async with hub_in(home) as hub, connected(home, project="shop") as peer:
            hub.opening._patience = 0.3
            agent = Client(hub, home)
            agent.prompt("Mend the till")
            agent.shell("make")
            refused = await peer.call("track_execution", {"task_id": "t", **TRACK})
            assert refused["isError"]
            told = refused["content"][0]["text"]
            assert f"log.redb is open in process {held.pid} (prowess import jsonl)" in told
            assert told.endswith("hint: nothing was done: try again when that has ended")
            assert len(waiting(home)) == 2
            await anyio.to_thread.run_sync(held.communicate, b"", SECONDS)
            await call(peer, "track_execution", {"task_id": "t", **TRACK})
            assert [step.action for step in await agent.steps()] == ["Bash: make"]
            assert waiting(home) == {}
    finally:
        held.kill()
        held.wait()
