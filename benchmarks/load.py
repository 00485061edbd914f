"""1 to 16 agents at once, each with a shim of its own, tracking durably: single calls, and batches of 32.

Beside them in the same run and with the same agents: the same calls to a hub whose tools do nothing (what shim, socket
and SDK cost), pings, and the machine's fsync rate on the store's folder. Then what one further session takes in
memory: its shim, and the hub's growth.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, fsync_seconds, percentile, scratch, script
from _shims import Session, hub, rss_mb, sessions

AGENTS = (1, 2, 4, 8, 16)
SINGLE_CALLS = 960  # of all agents together
BATCHES = 96
BATCH = 32
NOOP_HUB = str(Path(__file__).with_name("_noop_hub.py"))

Call = Callable[[Session, int, int], Awaitable[Any]]


def step(number: int) -> dict[str, Any]:
    return {
        "action": f"run test {number}",
        "tool": "bash",
        "args": {"command": f"pytest -q tests/test_{number}.py"},
        "observation": "2 passed in 0.31s\n" * 20,
    }


async def single(session: Session, agent: int, number: int) -> None:
    await session.call("track_execution", {"task_id": f"single-{agent}", **step(number)})


async def batched(session: Session, agent: int, number: int) -> None:
    steps = [step(number * BATCH + one) for one in range(BATCH)]
    await session.call("track_execution", {"task_id": f"batch-{agent}-{number}", "steps": steps})


async def ping(session: Session, _agent: int, _number: int) -> None:
    await session.request("ping")


async def together(agents: Sequence[Session], call: Call, calls: int) -> dict[str, Any]:
    """``calls`` calls, shared among the agents, each of which waits for its answer before the next."""
    seconds: list[float] = []

    async def work(agent: int, session: Session) -> None:
        for number in range(calls // len(agents)):
            begin = perf_counter()
            await call(session, agent, number)
            seconds.append(perf_counter() - begin)

    begin = perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for agent, session in enumerate(agents):
            tasks.create_task(work(agent, session))
    elapsed = perf_counter() - begin
    return {
        "per_s": round(len(seconds) / elapsed),
        "ms_p50": percentile(seconds, 0.5),
        "ms_p99": percentile(seconds, 0.99),
    }


async def load(folder: Path, number: int) -> dict[str, Any]:
    """One number of agents against fresh hubs, so that nothing of the last number is left."""
    home = folder / f"store-{number}"
    async with hub(folder / f"noop-{number}", [NOOP_HUB]), sessions(folder / f"noop-{number}", number) as agents:
        await together(agents, single, number)
        noop = await together(agents, single, SINGLE_CALLS)
        noop_batched = await together(agents, batched, BATCHES)
    async with hub(home) as pid, sessions(home, number) as agents:
        await together(agents, single, number)
        pings = await together(agents, ping, SINGLE_CALLS)
        fsync = fsync_seconds(home)
        tracked = await together(agents, single, SINGLE_CALLS)
        batches = await together(agents, batched, BATCHES)
        hub_mb = rss_mb(pid)
    return {
        "agents": number,
        "steps_per_s": tracked["per_s"],
        "ms_p50": tracked["ms_p50"],
        "ms_p99": tracked["ms_p99"],
        "share_of_noop": round(tracked["per_s"] / noop["per_s"], 2),
        "batched_steps_per_s": batches["per_s"] * BATCH,
        "batch_ms_p50": batches["ms_p50"],
        "batch_ms_p99": batches["ms_p99"],
        "noop_calls_per_s": noop["per_s"],
        "noop_ms_p50": noop["ms_p50"],
        "noop_batched_steps_per_s": noop_batched["per_s"] * BATCH,
        "pings_per_s": pings["per_s"],
        "fsync_ms_p50": percentile(fsync, 0.5),
        "fsyncs_per_s": round(len(fsync) / sum(fsync)),
        "hub_mb": hub_mb,
    }


async def memory(folder: Path) -> dict[str, Any]:
    """What 15 further sessions take, each of which has tracked a little."""
    home = folder / "memory"
    async with hub(home) as pid, sessions(home, 1) as first:
        await together(first, single, 200)
        alone = rss_mb(pid)
        async with sessions(home, max(AGENTS) - 1) as others:
            await together(others, single, 5 * len(others))
            grown = rss_mb(pid)
            shims = [rss_mb(session.process.pid) for session in others]
    growth = (grown - alone) / len(shims)
    return {
        "hub_mb_1_session": alone,
        "hub_mb_16_sessions": grown,
        "hub_growth_mb": round(growth, 2),
        "shim_mb": median(shims),
        "further_session_mb": round(growth + median(shims), 2),
    }


def verdicts(results: Sequence[dict[str, Any]], taken: dict[str, Any]) -> dict[str, Any]:
    one = next(found for found in results if found["agents"] == 1)
    eight = next(found for found in results if found["agents"] == 8)
    bound = round(one["noop_ms_p50"] + 2 * one["fsync_ms_p50"], 3)
    return {
        "budgets": {
            "one_agent_ms_p50": bound,
            "eight_agents_share_of_noop": 0.7,
            "eight_agents_batched_steps_per_s": 5000,
            "further_session_mb": 20,
        },
        "within_budget": {
            "one_agent_ms_p50": one["ms_p50"] <= bound,
            "eight_agents_share_of_noop": eight["share_of_noop"] >= 0.7,
            "eight_agents_batched_steps_per_s": eight["batched_steps_per_s"] >= 5000,
            "further_session_mb": taken["further_session_mb"] <= 20,
        },
    }


async def main() -> None:
    with scratch() as folder:
        results = [await load(folder, number) for number in AGENTS]
        taken = await memory(folder)
        emit("load", {"load": results, "memory": taken, **verdicts(results, taken)})


if __name__ == "__main__":
    script(main)
