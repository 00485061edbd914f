"""Kill the trainer at random moments and go on each time: same weights as a run that nobody disturbed, same store?

    python benchmarks/memskill/killed.py [--kills 10] [--seed 0]

Needs the train extra. The trainer runs below the hub's own supervisor, over a store of made-up episodes. Each run is
killed up to three times, at iterations drawn from those still to come and at a random moment within that iteration (or
within the start, which embeds and loads), and resumed; a run without a checkpoint begins anew. The journal's head and
what the store verifies are compared before and after.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))

from _common import emit, scratch

from prowess.server.trainer.batch import Batches
from prowess.server.trainer.runs import read_runs
from prowess.server.trainer.supervisor import Trainer, trainer_command
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

EPISODES = 60
COMMANDS = ("find /srv -name config", "grep -rn timeout src", "tar -czf backup.tgz home", "chmod -R 755 public")
SETTINGS = {
    "embedding": "none", "iterations": 30, "rollouts": 4, "hidden": 16, "key": 8, "memory_tokens": [60],
    "evaluate_every": 3, "design_every": 5, "trace_episodes": 10,
}  # fmt: skip
LIMIT_SECONDS = 900.0
MOST_KILLS = 3  # of one run
ORIGIN = Origin(client="benchmark")


async def fill(store: Store) -> None:
    """Successful episodes that repeat one of four commands, beside steps that nobody repeats."""
    for number in range(EPISODES):
        command = COMMANDS[number % len(COMMANDS)]
        texts = [f"look around number{number}a", command, f"echo finished number{number}b"]
        steps = [NewStep(action="bash", tool="bash", args={"command": text}, observation="ok") for text in texts]
        where = Where(task_id=f"t{number}", project="p", session="s", task=f"please do {command.split()[0]} again")
        await store.track(where, steps, origin=ORIGIN)
        await store.score(where, [NewReward(value=5.0)], final=True, origin=ORIGIN)


@asynccontextmanager
async def supervised(home: Path, store: Store) -> AsyncIterator[Trainer]:
    command = trainer_command()
    assert command is not None
    trainer = Trainer(home, Batches(store, home).export, command)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trainer.run)
        yield trainer
        tasks.cancel_scope.cancel()


async def ended(trainer: Trainer, run_id: str) -> dict[str, Any]:
    with anyio.fail_after(LIMIT_SECONDS):
        while (told := await trainer.status(run_id))["status"] == "running":  # noqa: ASYNC110 - a process
            await anyio.sleep(0.02)
    return told


def weights(home: Path, run_id: str) -> bytes:
    return (home / "runs" / run_id / "out" / "best" / "controller.safetensors").read_bytes()


def pid_of(home: Path, run_id: str) -> int:
    return next(run.pid for run in read_runs(home / "runs") if run.id == run_id)


def reached(told: dict[str, Any]) -> int:
    return int((told.get("progress") or {}).get("iteration", 0))


async def killed(trainer: Trainer, home: Path, run_id: str, chance: random.Random, seconds: float) -> int | None:
    """Kill the run that goes on; after which iteration. None where it was done before that."""
    last = int(SETTINGS["iterations"]) - 1
    wanted = chance.randint(min(reached(await trainer.status(run_id)), last), last)
    with anyio.fail_after(LIMIT_SECONDS):
        while (told := await trainer.status(run_id))["status"] == "running" and reached(told) < wanted:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        await anyio.sleep(chance.uniform(0, seconds))
    told = await trainer.status(run_id)
    if told["status"] != "running":
        return None
    os.kill(pid_of(home, run_id), signal.SIGKILL)
    return reached(await ended(trainer, run_id))


async def disturbed(trainer: Trainer, home: Path, kills: int, seconds: float, chance: random.Random) -> dict[str, Any]:
    """Runs that are killed and resumed until ``kills`` kills came. ``seconds`` is what an iteration takes."""
    hits: list[int] = []
    begun = 0
    while len(hits) < kills:
        run_id, begun = await trainer.start({**SETTINGS, "resume": False}, project="p"), begun + 1
        for _ in range(min(chance.randint(1, MOST_KILLS), kills - len(hits))):
            hit = await killed(trainer, home, run_id, chance, seconds)
            if hit is None:
                break
            hits.append(hit)
            if not (await trainer.status(run_id)).get("checkpoint"):
                break  # there is nothing to go on from
            await trainer.start({}, project="p", run_id=run_id)
        await ended(trainer, run_id)
    return {"begun": begun, "iterations": hits}


async def measure(kills: int, seed: int) -> None:
    with scratch() as home:
        async with Store.open(home) as store:
            await fill(store)
            before = (store.head, await store.stats(), await store.verify())
            async with supervised(home, store) as trainer:
                began = time.perf_counter()
                whole = await trainer.start(dict(SETTINGS), project="p")
                told = await ended(trainer, whole)
                assert told["status"] == "done", told
                seconds = time.perf_counter() - began
                each = seconds / int(SETTINGS["iterations"])
                result = await disturbed(trainer, home, kills, each, random.Random(seed))
                finished = [run.id for run in read_runs(home / "runs") if run.status == "done" and run.id != whole]
                same = [weights(home, key) == weights(home, whole) for key in finished]
            after = (store.head, await store.stats(), await store.verify())
    emit(
        "memskill_killed",
        {
            "kills": kills,
            "killed_after_iterations": result["iterations"],
            "runs_begun": result["begun"],
            "runs_finished": len(finished),
            "same_weights": sum(same),
            "store_untouched": before == after,
            "undisturbed_seconds": round(seconds, 1),
        },
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=10)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    anyio.run(measure, given.kills, given.seed)


if __name__ == "__main__":
    main()
