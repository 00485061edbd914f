"""Tracked steps per second, durable, one client over stdio: single calls and batches of 32.

Bounds in the same run: the machine's fsync rate on the store's folder, and a call of the same server that stores
nothing (``evolve_skills`` with mode ``status`` reads a few rows; ``ping`` does nothing at all).
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _common import client, emit, fsync_seconds, percentile, run, scratch, timed_async

SINGLE_CALLS = 1_000
BATCHES = 100
BATCH = 32


def step(number: int) -> dict[str, Any]:
    return {
        "action": f"run test {number}",
        "tool": "bash",
        "args": {"command": f"pytest -q tests/test_{number}.py"},
        "observation": "2 passed in 0.31s\n" * 20,
    }


async def measure(home: Path) -> dict[str, Any]:
    fsync = fsync_seconds(home)
    async with client(home, mode="legacy") as connected:
        await connected.call_tool("track_execution", {"task_id": "warm-up", **step(0)})
        ping = await timed_async(connected.send_ping, SINGLE_CALLS // 2)
        numbers = iter(range(SINGLE_CALLS))
        single = await timed_async(
            lambda: connected.call_tool("track_execution", {"task_id": "single", **step(next(numbers))}), SINGLE_CALLS
        )
        begin = perf_counter()
        for batch in range(BATCHES):
            steps = [step(number) for number in range(BATCH)]
            answer = await connected.call_tool("track_execution", {"task_id": f"batch-{batch}", "steps": steps})
            assert not answer.is_error, answer
        batched = perf_counter() - begin
    return {
        "fsync_ms_p50": percentile(fsync, 0.5),
        "fsyncs_per_s": round(len(fsync) / sum(fsync)),
        "ping_ms_p50": percentile(ping, 0.5),
        "pings_per_s": round(len(ping) / sum(ping)),
        "single_ms_p50": percentile(single, 0.5),
        "single_ms_p99": percentile(single, 0.99),
        "single_steps_per_s": round(len(single) / sum(single)),
        "batched_steps_per_s": round(BATCHES * BATCH / batched),
        "budget_single_ms_p50": round(percentile(ping, 0.5) + 2 * percentile(fsync, 0.5), 3),
    }


async def main() -> None:
    with scratch() as home:
        emit("track", await measure(home))


if __name__ == "__main__":
    run(main)
