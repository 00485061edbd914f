"""``reflect`` over 100,000 stored steps, over stdio: the first call, and again after 100 more episodes.

Bounds in the same run: a plain pass over the same rows (every step summary read from the catalog, verbs counted).
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, percentile, run, scratch, timed, timed_async
from _lines import session

from prowess.storage.catalog import read_trajectories
from prowess.storage.models import NewReward, NewStep, Origin, Where
from prowess.storage.store import Store

EPISODES = 10_000
STEPS = 10
MORE = 100
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


async def reflect(home: Path) -> tuple[float, float, float]:
    """Seconds of the first call, of one without new episodes, and of one after some more, on the same server."""
    async with session(home) as asked:
        first, again = await timed_async(lambda: asked.call("reflect", {"project": PROJECT}), 2)
        words = random.Random(EPISODES)
        for number in range(MORE):
            steps = [{"action": f"{words.choice(TOOLS)} {position}"} for position in range(STEPS)]
            await asked.call("track_execution", {"task_id": f"more-{number}", "steps": steps, "project": PROJECT})
            scored = {"task_id": f"more-{number}", "reward": 10, "final": True, "project": PROJECT}
            await asked.call("score_reward", scored)
        [after] = await timed_async(lambda: asked.call("reflect", {"project": PROJECT}), 1)
    return first, again, after


async def main() -> None:
    with scratch() as home:
        async with Store.open(home) as store:
            await fill(store, range(EPISODES))
            catalog = store.catalog_path
        first, again, after = await reflect(home)
        passes = timed(lambda: plain_pass(catalog), 3)
        results: dict[str, Any] = {
            "steps": EPISODES * STEPS,
            "first_ms": round(first * 1000),
            "again_ms": round(again * 1000),
            "after_100_more_ms": round(after * 1000),
            "plain_pass_ms_p50": percentile(passes, 0.5),
        }
        emit("reflect", results)


if __name__ == "__main__":
    run(main)
