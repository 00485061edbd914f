"""Latency of ``find_skill`` over stdio at 1,000, 10,000 and 100,000 skills, the query's embedding included.

Bounds in the same run: embedding the query alone, and a brute-force numpy product over the same matrix. The skills'
vectors are random unit rows: the cost of an exact search does not depend on what they mean.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, percentile, scratch, script, timed, timed_async
from _lines import session

from prowess.learning.ranking.views import model_name
from prowess.providers.embedding import Embedder, EmbeddingSettings, load
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Parameter, Skill, SkillStep
from prowess.storage.store import Store

SIZES = (1_000, 10_000, 100_000)
QUERIES = 100
VERBS = [
    "list",
    "create",
    "update",
    "delete",
    "export",
    "import",
    "merge",
    "split",
    "rename",
    "archive",
    "restore",
    "check",
    "deploy",
    "build",
    "test",
]
OBJECTS = [
    "order",
    "invoice",
    "branch",
    "release",
    "ticket",
    "customer",
    "report",
    "image",
    "table",
    "index",
    "user",
    "token",
    "page",
    "queue",
    "job",
]
PLACES = [
    "warehouse",
    "cluster",
    "repository",
    "shop",
    "bucket",
    "database",
    "calendar",
    "mailbox",
    "registry",
    "pipeline",
]


def skill(number: int, words: random.Random) -> Skill:
    verb, thing, place = words.choice(VERBS), words.choice(OBJECTS), words.choice(PLACES)
    steps = (
        SkillStep(tool=f"find_{thing}", args_template={"name": "{name}"}),
        SkillStep(tool=f"{verb}_{thing}", args_template={f"{thing}_id": f"{{{thing}_id}}", "place": place}),
    )
    return Skill(
        id=f"bench-{number:08}",
        name=f"{verb}-{thing}-{number}",
        description=f"{verb} the {thing} of a {place} after {words.choice(VERBS)} {words.choice(OBJECTS)}",
        steps=steps,
        parameters=(Parameter(name="name"), Parameter(name=f"{thing}_id")),
        status="active",
        support=2,
        created_at="2026-01-01T00:00:00.000Z",
        updated_at="2026-01-01T00:00:00.000Z",
    )


async def fill(home: Path, embedder: Embedder, sizes: range, rng: np.random.Generator) -> np.ndarray:
    words = random.Random(sizes.start)
    rows = rng.standard_normal((len(sizes), embedder.dim), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    async with Store.open(home) as store:
        for chunk in batches(sizes, 1_000):
            events = [SkillSaved(skill=skill(number, words), change="imported") for number in chunk]
            await store.append(events, origin=Origin(actor="person"))
            ids = [event.skill.id for event in events]
            vectors = rows[chunk[0] - sizes.start :][: len(chunk)]
            await store.save_embeddings("skill", model_name(embedder.name), ids, vectors)
    return rows


def batches(numbers: range, size: int) -> list[range]:
    return [numbers[begin : begin + size] for begin in range(0, len(numbers), size)]


def nearest(matrix: NDArray[np.float32], query: NDArray[np.float32]) -> object:
    return np.argpartition(matrix @ query, -10)


async def ask(home: Path) -> tuple[list[float], float]:
    """Seconds that each query took, and of the server's processor time for one."""
    words = random.Random(7)
    queries = iter(
        [f"{words.choice(VERBS)} a {words.choice(OBJECTS)} in {words.choice(PLACES)}" for _ in range(QUERIES)]
    )
    async with session(home) as asked:
        for _ in range(20):
            warm = await asked.call("find_skill", {"query": "warm the index"})
            if warm["structuredContent"]["mode"] == "hybrid":
                break
        used = asked.cpu_seconds()
        durations = await timed_async(lambda: asked.call("find_skill", {"query": next(queries)}), QUERIES)
        return durations, (asked.cpu_seconds() - used) / QUERIES


async def main() -> None:
    embedder = load(EmbeddingSettings())
    assert embedder is not None
    rng = np.random.default_rng(7)
    results: dict[str, Any] = {}
    matrix = np.zeros((0, embedder.dim), dtype=np.float32)
    with scratch() as home:
        for size in SIZES:
            matrix = np.vstack([matrix, await fill(home, embedder, range(len(matrix), size), rng)])
            durations, cpu = await ask(home)
            alone = timed(lambda: embedder.embed([f"list a {rng.random()} in the shop"]), 50)
            query = matrix[0].copy()
            brute = timed(partial(nearest, matrix, query), 20)
            results[str(size)] = {
                "find_ms_p50": percentile(durations, 0.5),
                "find_ms_p95": percentile(durations, 0.95),
                "find_cpu_ms": round(1000 * cpu, 3),
                "embed_query_ms_p50": percentile(alone, 0.5),
                "numpy_ms_p50": percentile(brute, 0.5),
            }
    emit("find_skill", results)


if __name__ == "__main__":
    script(main)
