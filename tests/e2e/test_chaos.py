"""Eight agents work through real shims while hub and shims are killed at random; nothing acknowledged is lost.

``PROWESS_CHAOS_KILLS`` sets how often (default 8), ``PROWESS_CHAOS_SEED`` where the moments come from.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from chaos import Marked, Process, wait_for
from chaos_agents import Agent

from prowess.storage.models import EpisodeFilter
from prowess.storage.store import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

KILLS = int(os.environ.get("PROWESS_CHAOS_KILLS", "8"))
SEED = int(os.environ.get("PROWESS_CHAOS_SEED", "20261129"))
AGENTS = 8
# From a hub that has just begun to one that has served for a while.
LONGEST_PAUSE_S = 3.0


class Killer:
    """Kills a hub, a shim, one of each or all shims, as the dice say."""

    def __init__(self, agents: list[Agent], marked: Marked, trouble: threading.Event) -> None:
        self._agents = agents
        self._marked = marked
        self._trouble = trouble
        self._dice = random.Random(SEED)
        self.killed: Counter[str] = Counter()

    def run(self) -> None:
        while self.killed.total() < KILLS:
            if self._trouble.wait(self._dice.uniform(0.0, LONGEST_PAUSE_S)):
                return
            kind = self._dice.random()
            if kind < 0.55:
                self._kill_hub()
            if kind > 0.5:
                self._kill_shims(AGENTS if kind > 0.98 else 1)

    def _kill_hub(self) -> None:
        hubs: list[Process] = []

        def found() -> bool:
            hubs[:] = self._marked.hubs()
            return bool(hubs) or self._trouble.is_set()

        wait_for("a hub", found)
        for hub in hubs:
            self.killed["hub"] += hub.kill()

    def _kill_shims(self, number: int) -> None:
        for agent in self._dice.sample(self._agents, number):
            self.killed["shim"] += agent.kill_shim()


def _work(home: Path, marked: Marked) -> tuple[list[Agent], Killer]:
    trouble, stop = threading.Event(), threading.Event()
    environ = marked.environ
    agents = [
        Agent(number, home, environ, trouble, stop, random.Random(f"{SEED}-{number}")) for number in range(AGENTS)
    ]
    killer = Killer(agents, marked, trouble)
    for agent in agents:
        agent.start()
    try:
        killer.run()
    finally:
        stop.set()
        for agent in agents:
            agent.join()
    assert not [agent.failure for agent in agents if agent.failure]
    return agents, killer


def _only_a_hub_and_its_children_are_left(marked: Marked) -> None:
    def found() -> bool:
        running = marked.running()
        hubs = [process.pid for process in running if process.is_hub]
        return len(hubs) <= 1 and all(process.is_hub or process.parent in hubs for process in running)

    wait_for("the end of what killed hubs and shims had started", found)


def _end_hub(marked: Marked) -> None:
    for hub in marked.hubs():
        hub.kill(signal.SIGTERM)
    wait_for("the end of the hub and all it had started", lambda: not marked.running())


async def _stored(home: Path) -> list[list[str]]:
    """The actions of each episode, in order; the catalog is the same after it was built anew."""
    async with Store.open(home) as store:
        episodes = await store.episodes(EpisodeFilter(), limit=100_000)
        steps = [await store.steps(episode.id) for episode in episodes]
        for one in steps:
            assert [step.number for step in one] == list(range(1, len(one) + 1))
        before = await store.dump()
        await store.rebuild()
        assert await store.dump() == before
    return [[step.action for step in one] for one in steps]


def _check(episodes: list[list[str]], acknowledged: Counter[str]) -> None:
    stored = Counter(action for actions in episodes for action in actions)
    assert not acknowledged - stored, f"lost, seed {SEED}"
    assert not stored - acknowledged, f"stored twice, seed {SEED}"
    for actions in episodes:
        assert len({action.partition("-")[0] for action in actions}) == 1
        assert all(first < second for first, second in pairwise(actions)), f"out of order, seed {SEED}"


def _report(agents: list[Agent], killer: Killer, seconds: float) -> dict[str, Any]:
    return {
        "chaos": dict(killer.killed),
        "seed": SEED,
        "seconds": round(seconds, 1),
        "acknowledged_steps": sum(len(agent.acknowledged) for agent in agents),
        "repeated_calls": sum(agent.repeated for agent in agents),
        "refusals": dict(sum((agent.refusals for agent in agents), Counter())),
        "shims": sum(agent.shims for agent in agents),
        "slowest_call_s": round(max(agent.slowest for agent in agents), 1),
    }


def test_agents_lose_nothing_when_hubs_and_shims_are_killed(home: Path, marked: Marked) -> None:
    began = time.monotonic()
    agents, killer = _work(home, marked)
    _only_a_hub_and_its_children_are_left(marked)
    _end_hub(marked)
    print(json.dumps(_report(agents, killer, time.monotonic() - began)))
    assert killer.killed.total() >= KILLS
    acknowledged = Counter(action for agent in agents for action in agent.acknowledged)
    assert len(acknowledged) >= AGENTS  # each finishes what it began, however slow the machine is
    assert set(acknowledged.values()) == {1}
    _check(anyio.run(_stored, home), acknowledged)
