"""``reflect`` over 100,000 stored steps, over stdio: the first call, and again after 100 more episodes.

Bounds in the same run: a plain pass over the same rows (every step summary read from the catalog, verbs counted).
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, percentile, scratch, script, timed, timed_async
from _lines import Session, session

from prowess.storage.catalog import read_trajectories
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

EPISODES = 10_000
STEPS = 10
MORE = 100
ROUNDS = 3
PROJECT = "bench"
TOOLS = [f"tool_{letter}" for letter in "abcdefghijklmnopqrst"]
ERRORS = ["FileNotFoundError: no such file", "AssertionError: 1 != 2", "timeout after 30 s"]


async def fill(store: Store, episodes: range) -> None:
    words = random.Random(episodes.start)
    for number in episodes:
        where = Where(
            task_id=f"task-{number}", project=PROJECT, task=f"fix {words.choice(TOOLS)} in module {number % 50}"
        )
        await store.track(where, [made_up(words, position) for position in range(STEPS)], origin=Origin())
        await store.score(where, [NewReward(value=words.choice((-10.0, 10.0)))], final=True, origin=Origin())


def made_up(words: random.Random, position: int) -> NewStep:
    tool = words.choice(TOOLS)
    error = words.choice(ERRORS) if words.random() < 0.1 else None
    return NewStep(action=f"{tool} {position}", tool=tool, error=error, outcome="failure" if error else "success")


def plain_pass(catalog: Path) -> Counter[str]:
    return Counter(step.verb for trajectory in read_trajectories(catalog) for step in trajectory.steps)


class Timed(NamedTuple):
    """Milliseconds by the clock, and of processor time in the server and its worker: the first tells what a caller
    waits, the second what it costs, also where other programs share the machine."""

    ms: int
    cpu_ms: int


async def timed_reflect(asked: Session) -> Timed:
    cpu = asked.cpu_seconds_in_all()
    [seconds] = await timed_async(lambda: asked.call("reflect", {"project": PROJECT}), 1)
    return Timed(round(seconds * 1000), round((asked.cpu_seconds_in_all() - cpu) * 1000))


async def more(asked: Session, words: random.Random) -> None:
    for _ in range(MORE):
        task = f"more-{words.random()}"
        steps = [
            {"action": f"{tool} {position}", "tool": tool}
            for position, tool in enumerate(words.choices(TOOLS, k=STEPS))
        ]
        await asked.call("track_execution", {"task_id": task, "steps": steps, "project": PROJECT})
        scored = {"task_id": task, "reward": words.choice((-10, 10)), "final": True, "project": PROJECT}
        await asked.call("score_reward", scored)
    await settled(asked)


async def settled(asked: Session) -> None:
    """What is to be embedded has its turn: else the next call shares the processor with it."""
    await asked.call("find_skill", {"query": "settle", "project": PROJECT})


async def reflect(home: Path) -> dict[str, Any]:
    """The first call, the best of three without new episodes, and of three after some more each, on the same server."""
    async with session(home) as asked:
        first = await timed_reflect(asked)
        await settled(asked)
        again = min([await timed_reflect(asked) for _ in range(ROUNDS)])
        words, after = random.Random(EPISODES), []
        for _ in range(ROUNDS):
            await more(asked, words)
            after.append(await timed_reflect(asked))
        best = min(after)
        return {
            "first_ms": first.ms,
            "first_cpu_ms": first.cpu_ms,
            "again_ms": again.ms,
            "again_cpu_ms": again.cpu_ms,
            "after_100_more_ms": best.ms,
            "after_100_more_cpu_ms": min(each.cpu_ms for each in after),
        }


async def main() -> None:
    with scratch() as home:
        async with Store.open(home) as store:
            await fill(store, range(EPISODES))
            await store.stats()  # a read: the catalog has everything then
            catalog = store.catalog_path
        results = await reflect(home)
        passes = timed(lambda: plain_pass(catalog), 3)
        bound = {"plain_pass_ms_p50": percentile(passes, 0.5)}
        emit("reflect", {"steps": EPISODES * STEPS, **results, **bound})


if __name__ == "__main__":
    script(main)
