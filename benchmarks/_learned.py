"""A store that has learned: the demo's recorded runs, told again of other things, in the words of forty trades.

Each trade has its own words for what a shop has (an order, its items, a user), in tasks and in names of tools, so that
each teaches skills of its own. Eight projects with five trades each hold 3,200 episodes.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from prowess.learning.ranking.views import model_name
from prowess.server.index import Kind
from prowess.server.runtime import Runtime, open_runtime
from prowess.server.settings import Settings
from prowess.storage.events import MemorySaved
from prowess.storage.models import Memory, NewReward, NewStep, Origin, Where
from prowess.tools.registry import call, find

__all__ = ["fill", "questions"]

PROJECTS = 8
TRADES = 5  # of each project
MEMORIES = 500  # of each project, as many as one keeps
LOOK_SECONDS = 0.5  # between two looks whether all is embedded
AT = "2026-01-01T00:00:00.000Z"
ORDERS = ["booking", "claim", "shipment", "invoice", "ticket", "lease", "prescription", "reservation"]
ITEMS = ["seat", "parcel", "room", "policy", "sample", "device", "lesson", "panel", "crate", "garment"]
USERS = ["member", "patient", "tenant", "student", "guest", "driver", "donor", "vendor"]
PRODUCTS = ["plan", "model", "vaccine", "course", "tariff", "fabric", "engine", "menu"]
ERRORS = ["not found", "was already changed", "needs a reason", "timed out after 30 s", "is not of this account"]
KINDS: tuple[Kind, ...] = ("memory", "episode", "skill")

_NOUN = re.compile("(order|item|user|product)", re.IGNORECASE)


class Trade(NamedTuple):
    """A project's number and what the trade calls an order, an item, a user and a product."""

    project: str
    nouns: Mapping[str, str]

    def told(self, text: str) -> str:
        """``text`` in its words, cases as they were."""
        return _NOUN.sub(self._noun, text)

    def _noun(self, found: re.Match[str]) -> str:
        noun = self.nouns[found[0].lower()]
        return noun if found[0].islower() else noun.capitalize()


def trades() -> list[Trade]:
    words = random.Random(7)
    made = []
    for number in range(PROJECTS * TRADES):
        chosen = [words.choice(nouns) for nouns in (ORDERS, ITEMS, USERS, PRODUCTS)]
        nouns = dict(zip(("order", "item", "user", "product"), chosen, strict=True))
        made.append(Trade(f"project-{number % PROJECTS}", nouns))
    return made


def recorded(name: str) -> list[str]:
    return files("prowess.server").joinpath(f"demo_data/{name}.jsonl").read_text(encoding="utf-8").splitlines()


def questions(count: int) -> list[dict[str, str]]:
    """Arguments of ``find_skill``: tasks of all trades, each asked in its project."""
    words, known = random.Random(11), trades()
    tasks = [json.loads(line)["task"] for line in recorded("tasks")]
    asked = []
    for _ in range(count):
        trade = words.choice(known)
        asked.append({"query": trade.told(words.choice(tasks)), "project": trade.project})
    return asked


async def fill(home: Path) -> dict[str, int]:
    """Make the store; how much it holds."""
    async with open_runtime(Settings(home=home)) as runtime:
        lines = recorded("episodes")
        for number, trade in enumerate(trades()):
            for place, line in enumerate(lines):
                await record(runtime, json.loads(trade.told(line)), trade.project, f"{number}/{place}")
            if number >= (TRADES - 1) * PROJECTS:
                await learn(runtime, trade.project)
        await embedded(runtime)
        stats = await runtime.store.stats()
        return {"episodes": stats.episodes, "skills": sum(stats.skills.values()), "memories": stats.memories}


async def record(runtime: Runtime, episode: dict[str, Any], project: str, task_id: str) -> None:
    where = Where(task_id=task_id, project=project, task=episode["task"])
    steps = [NewStep(action=step["tool"], **step) for step in episode["steps"]]
    await runtime.store.track(where, steps, origin=Origin())
    await runtime.store.score(where, [NewReward(value=episode["reward"])], final=True, origin=Origin())


async def learn(runtime: Runtime, project: str) -> None:
    """What a reflection and ``evolve_skills`` make of the project, and of lessons as many as it keeps."""
    ctx = runtime.context(project=project)
    await call(find("reflect"), {"limit": 200}, ctx)
    await call(find("evolve_skills"), {"mode": "auto"}, ctx)
    skills = await runtime.store.skills(project=project)
    tools = sorted({step.tool for skill in skills for step in skill.steps if step.tool})
    words = random.Random(project)
    missing = range(len(await runtime.store.memories(project=project)), MEMORIES)
    made = [MemorySaved(memory=memory(number, tools, project, words)) for number in missing]
    await runtime.store.append(made, origin=Origin())


def memory(number: int, tools: list[str], project: str, words: random.Random) -> Memory:
    tool, other, error = words.choice(tools), words.choice(tools), words.choice(ERRORS)
    failed = f"{tool} fails with “{tool.rsplit('_', 1)[-1]} {number} {error}”"
    return Memory(
        id=f"{project}-{number}",
        kind="warning" if number % 3 else "lesson",
        text=failed if number % 3 else f"When {failed.replace('fails', 'failed')}, it worked after {other}",
        at=AT,
        project=project,
        support=1 + number % 7,
    )


async def embedded(runtime: Runtime) -> None:
    """Wait until every text has its vector."""
    await runtime.index.query("")
    assert runtime.index.embedder is not None
    model = model_name(runtime.index.embedder.name)
    while any([await runtime.store.unembedded(kind, model, 1) for kind in KINDS]):
        await runtime.index.refresh(wait=False)
        await anyio.sleep(LOOK_SECONDS)
