"""Durable steps per second over MCP: calls one after the other, then eight callers at once, single and in batches.

Bounds in the same run: the machine's fsync on the store's folder, and a server over the same transport whose one tool
does nothing, called with the same arguments as often at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, fsync_seconds, percentile, scratch, script, timed_async
from _lines import IN_PROCESS, NO_OP, Session, session

SINGLE_CALLS = 400
CALLERS = 8
EACH = 100  # single calls of each caller
BATCHES = 20  # batches of each caller
BATCH = 32


def step(number: int) -> dict[str, Any]:
    dots = "".join(f"tests/test_{number + line}.py {'.' * 30} [{line * 12}%]\n" for line in range(6))
    return {
        "action": f"run test {number}",
        "tool": "bash",
        "args": {"command": f"pytest -q tests/test_{number}.py"},
        "observation": f"{dots}{number + 1} passed in 0.{number:03}s\n",
    }


async def one_after_the_other(asked: Session) -> list[float]:
    numbers = iter(range(SINGLE_CALLS + 20))
    call = partial(_track_one, asked, "single", numbers)
    await timed_async(call, 20)
    return await timed_async(call, SINGLE_CALLS)


async def _track_one(asked: Session, task: str, numbers: Any) -> None:
    await asked.call("track_execution", {"task_id": task, **step(next(numbers))})


async def at_once(asked: Session, work: Callable[[Session, int], Coroutine[Any, Any, None]]) -> tuple[float, float]:
    """Seconds until all callers are done, and of the server's processor time."""
    begin, used = perf_counter(), asked.cpu_seconds()
    async with anyio.create_task_group() as tasks:
        for caller in range(CALLERS):
            tasks.start_soon(work, asked, caller)
    return perf_counter() - begin, asked.cpu_seconds() - used


async def singles(asked: Session, caller: int) -> None:
    numbers = iter(range(EACH))
    for _ in range(EACH):
        await _track_one(asked, f"single-{caller}", numbers)


async def batches(asked: Session, caller: int) -> None:
    for batch in range(BATCHES):
        steps = [step(batch * BATCH + number) for number in range(BATCH)]
        await asked.call("track_execution", {"task_id": f"batch-{caller}-{batch}", "steps": steps})


async def measure(home: Path, server: Sequence[str]) -> dict[str, Any]:
    async with session(home, server) as asked:
        await _warm_up(asked)
        alone = await one_after_the_other(asked)
        single, single_cpu = await at_once(asked, singles)
        batched, batched_cpu = await at_once(asked, batches)
    return {
        "single_ms_p50": percentile(alone, 0.5),
        "single_ms_p99": percentile(alone, 0.99),
        "singles_of_8_per_s": round(CALLERS * EACH / single),
        "single_cpu_ms": round(1000 * single_cpu / (CALLERS * EACH), 3),
        "batched_steps_of_8_per_s": round(CALLERS * BATCHES * BATCH / batched),
        "batch_cpu_ms": round(1000 * batched_cpu / (CALLERS * BATCHES), 3),
    }


async def _warm_up(asked: Session) -> None:
    """Let the embedding model load first: that takes a second of processor time."""
    for _ in range(20):
        if (await asked.call("find_skill", {"query": "warm up"}))["structuredContent"].get("mode") != "lexical":
            return


async def main() -> None:
    with scratch() as home:
        fsync = percentile(fsync_seconds(home), 0.5)
        nothing = await measure(home, NO_OP)
        ours = await measure(home, IN_PROCESS)
    emit(
        "track",
        {
            **ours,
            "no_op": nothing,
            "fsync_ms_p50": fsync,
            "budget_single_ms_p50": round(nothing["single_ms_p50"] + 2 * fsync, 3),
            "budget_singles_of_8_per_s": round(0.7 * nothing["singles_of_8_per_s"]),
        },
    )


if __name__ == "__main__":
    script(main)
