"""Latency of ``find_skill`` over stdio in a store that has learned: 3,200 episodes, 1,000 skills, 4,000 memories.

An answer weighs the skills by past tasks that are like the question, and has lessons and warnings. Bound in the same
run: the vectors of the same questions alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, percentile, scratch, script, timed, timed_async
from _learned import fill, questions
from _lines import session

from prowess.learning.ranking.evidence import parts_of
from prowess.providers.embedding import EmbeddingSettings, load

WARM = 100  # questions before any is timed: episodes are read when they are first met
TIMED = 100


async def ask(home: Path, asked: list[dict[str, str]]) -> dict[str, Any]:
    """Milliseconds of a question, and of the server's processor time for one; how much the answers had."""
    answers: list[dict[str, Any]] = []
    async with session(home) as server:

        async def one() -> None:
            answers.append((await server.call("find_skill", asked[len(answers)]))["structuredContent"])

        await timed_async(one, WARM)
        used = server.cpu_seconds()
        durations = await timed_async(one, TIMED)
        cpu = (server.cpu_seconds() - used) / TIMED
    shown = {kind: sum(len(answer[kind]) for answer in answers[WARM:]) for kind in ("skills", "lessons", "warnings")}
    assert {answer["mode"] for answer in answers[WARM:]} == {"hybrid"}
    return {
        "find_ms_p50": percentile(durations, 0.5),
        "find_ms_p95": percentile(durations, 0.95),
        "find_cpu_ms": round(1000 * cpu, 3),
        "shown": shown,
    }


async def main() -> None:
    embedder = load(EmbeddingSettings())
    assert embedder is not None
    asked = questions(WARM + TIMED)
    with scratch() as home:
        holds = await fill(home)
        found = await ask(home, asked)
    queries = iter([parts_of(one["query"]) for one in asked[WARM:]])
    alone = timed(lambda: embedder.embed_queries(next(queries)), TIMED)
    emit("find_learned", {**holds, **found, "embed_ms_p50": percentile(alone, 0.5)})


if __name__ == "__main__":
    script(main)
