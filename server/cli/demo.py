"""``prowess demo``: the main job on real trajectories."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess.learning.counting import counted
from prowess.server.cli.command import Run, command
from prowess.server.cli.terminal import table

if TYPE_CHECKING:
    from prowess.server.demo import Say

__all__ = ["demo"]

SHOWN = 12  # cases in the table for a person; --json has all
PARTS = 5  # of a round: feed, reflect, evolve, ask for skills, ask the raw episodes


def show(run: Run, result: dict[str, Any]) -> None:
    from prowess.server.demo import PATTERNS

    out, unseen = run.out, result["unseen"]
    out.print("Tasks of users that were never fed: what the user's task needs, and what was found\n")
    headings = ("TASK", "GOLD ACTIONS (MUTATING)", "SKILL FOUND", "ITS ACTIONS (MUTATING)", "")
    cases = result["cases"]
    every = max(1, len(cases) // SHOWN)
    shown = cases[::every][:SHOWN]
    out.print(table(headings, (_row(case) for case in shown)))
    if len(cases) > len(shown):
        out.print(f"… every {every}th of {len(cases)}; --json has all")
    out.print()
    counts = [(name, result[name]) for name in ("rounds", "episodes", "steps", "skills")]
    counts.insert(3, (f"patterns ({PATTERNS} a round at most)", result["patterns"]))
    rates = [
        ("unseen tasks", unseen["tasks"]),
        ("hit rate, skills", f"{unseen['skills_hit_rate']:.0%}"),
        ("hit rate, raw episodes", f"{unseen['raw_hit_rate']:.0%}"),
        ("hit by skills alone / by raw alone", f"{unseen['only_skill_hits']} / {unseen['only_raw_hits']}"),
        ("best of 3, skills", f"{unseen['skills_hit_rate_best_of_3']:.0%}"),
        ("best of 3, raw episodes", f"{unseen['raw_hit_rate_best_of_3']:.0%}"),
        ("mean Jaccard, skills", f"{unseen['skills_jaccard']:.2f}"),
        ("mean Jaccard, raw episodes", f"{unseen['raw_jaccard']:.2f}"),
        ("search", result["search"]),
        ("seconds", result["seconds"]),
    ]
    out.print(table(("", ""), [*counts, *rates]))
    out.print(
        "\nA hit: the best answer has exactly the mutating tools (that change an order or a user) of the gold actions."
    )
    out.print("Each round feeds a new store the runs of two thirds of the users and asks for the tasks of the others.")
    out.print("Raw episodes: the nearest successful episode's own actions, found by the same text and search.")
    out.print("Best of 3: any of three skills; any of the three nearest episodes that differ in those actions.")
    still = counted(sum(not case["gold"] for case in cases), "task")
    out.print(
        f"Of {still} the gold actions mutate nothing; docs/quality-skills.md leaves those out, over five other splits."
    )


def _row(case: dict[str, Any]) -> tuple[object, ...]:
    skill = case["skill"]
    mark = "hit" if skill["hit"] else "hit among 3" if skill["hit_in_3"] else "miss"
    return case["task_id"], _words(case["gold"]), skill["name"] or None, _words(skill["mutating"]), mark


def _words(tools: list[str]) -> str:
    return ", ".join(tools) or "none"


@command("demo", example="prowess demo --json", show=show)
async def demo(run: Run) -> dict[str, Any]:
    """Run the main job on real trajectories.

    Starts the server over an empty store, feeds it recorded tau2-bench retail episodes through an MCP client, scores,
    reflects, evolves skills, and asks for tasks of users that were not fed; then compares with asking the raw episodes.
    Does so in three rounds, until each task was asked once. Works offline and costs nothing. --store DIR keeps the
    rounds' stores there (DIR/round-1 and so on); DIR must be empty.
    """
    from prowess.server.demo import run_demo

    with _folder(run) as store, _bar(run) as say:
        report = await run_demo(store, say)
    return report.summary()


@contextmanager
def _folder(run: Run) -> Iterator[Path]:
    if run.store is not None:
        yield run.store
        return
    with tempfile.TemporaryDirectory(prefix="prowess-demo-") as folder:
        yield Path(folder) / "store"


@contextmanager
def _bar(run: Run) -> Iterator[Say]:
    """One bar over the demo's parts; each part counts alike."""
    from prowess.server.demo_score import ROUNDS

    parts: list[str] = []
    with run.progress("demo", PARTS * ROUNDS) as tick:

        def say(what: str, done: float, total: float) -> None:
            if what not in parts:
                parts.append(what)
            tick(len(parts) - 1 + done / max(total, 1))

        yield say
