"""Whether ``reflect`` finds what is there, and nothing where nothing is.

Known regularities are planted among thousands of episodes of chance, at several effects and supports; then rewards are
shuffled a hundred times, on made and on real episodes, where whatever is called proven is false.

    python -I benchmarks/quality/patterns.py [--data DIR] [--worlds 5] [--shuffles 100]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from _planted import KINDS, RANGE, Planted, World, shows
from _shared import read_rows

from prowess.learning.mining.corpus import Corpus
from prowess.learning.mining.patterns import SIGNIFICANT, find, mine
from prowess.learning.mining.stats import Rewards, compare
from prowess.storage.models import Episode, Pattern, Step, Trajectory

__all__ = ["run"]

EFFECTS = (0.3, 0.5, 0.2, 0.1)
SUPPORTS = (10, 20, 40, 80, 160)
WORLDS = 5
CHECKED = 2  # worlds whose proven patterns are each held against the rewards without noise, which takes long
SHUFFLES = 100
SHOWN = 100  # patterns that one reflection keeps
TRUE_SHARE = 0.02  # of the range: a smaller difference in expected reward is no discovery


def run(data: Path | None, *, worlds: int = WORLDS, shuffles: int = SHUFFLES) -> dict[str, Any]:
    """Recall and precision by effect and support, for graded and two-valued rewards; false discoveries on shuffles."""
    sets = {
        "made, graded": World(1, 0.3, 40, False).trajectories,
        "made, two-valued": World(1, 0.3, 40, True).trajectories,
    }
    if data is not None:
        sets |= {"tau2-bench": list(_tau2(data)), "InterCode": list(_intercode(data))}
    return {
        "rate": SIGNIFICANT,
        "worlds": worlds,
        "shuffled": [_told(_shuffled(name, episodes, shuffles)) for name, episodes in sets.items()],
        "planted": [
            _told(_cell(coin=coin, effect=effect, support=support, worlds=worlds))
            for effect in EFFECTS
            for coin in (False, True)
            for support in SUPPORTS
        ],
    }


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The row, shown while the others are still to come."""
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def _cell(*, coin: bool, effect: float, support: int, worlds: int) -> dict[str, Any]:
    proven: dict[str, list[bool]] = defaultdict(list)
    told, alone, true, said = [], [], 0, 0
    for seed in range(worlds):
        world = World(1_000 + seed, effect, support, coin)
        found = mine(world.trajectories, limit=SHOWN)
        sure = [pattern for pattern in found if _proven(pattern)]
        for planted in world.planted:
            proven[planted.kind].append(any(planted.is_told_by(pattern) for pattern in sure))
            told.append(any(planted.is_told_by(pattern) for pattern in found))
            alone.append(_alone(planted, world))
        if seed < CHECKED:
            true += sum(_is_true(pattern, world) for pattern in sure)
            said += len(sure)
    recalled = [hit for hits in proven.values() for hit in hits]
    return {
        "rewards": "two-valued" if coin else "graded",
        "effect": effect,
        "support": support,
        "recall": _share(recalled),
        "recall_by_kind": {kind: _share(proven[kind]) for kind in KINDS},
        "listed": _share(told),
        "bound": _share(alone),
        "proven": said,
        "precision": round(true / said, 3) if said else None,
    }


def _alone(planted: Planted, world: World) -> bool:
    """Whether a test of this regularity alone, uncorrected, would prove it: who knows where to look finds no more."""
    within = [t for t in world.trajectories if _is_compared(planted, t)]
    rewards = Rewards(np.array([t.episode.reward for t in within], np.float64))
    members = np.flatnonzero([shows(planted.kind, planted.detail, t) for t in within])
    everyone, ends = np.arange(len(within)), np.array([0, len(within)])
    part = rewards.sums(members, np.array([0, len(members)]))
    whole, shape = rewards.sums(everyone, ends), rewards.moments(everyone, ends).shape
    return bool(compare(part, whole, shape, rewards.least, rewards.most).p[0] < SIGNIFICANT)


def _share(hits: Sequence[bool]) -> float:
    return round(sum(hits) / len(hits), 3)


def _proven(pattern: Pattern) -> bool:
    return pattern.q_value is not None and pattern.q_value < SIGNIFICANT


def _is_true(pattern: Pattern, world: World) -> bool:
    """Whether rewards without noise differ as the pattern says, between episodes that show it and those that do not."""
    within = [t for t in world.trajectories if _is_compared(pattern, t)]
    members = {t.episode.id for t in within if shows(pattern.kind, pattern.detail, t)}
    assert len(members) == pattern.support, pattern
    assert len(within) == pattern.support + pattern.against, pattern
    inside = [world.expected[t.episode.id] for t in within if t.episode.id in members]
    outside = [world.expected[t.episode.id] for t in within if t.episode.id not in members]
    difference = sum(inside) / len(inside) - sum(outside) / len(outside)
    return difference * (pattern.effect or 0.0) > 0 and abs(difference) >= TRUE_SHARE * RANGE


def _is_compared(pattern: Pattern | Planted, trajectory: Trajectory) -> bool:
    if pattern.kind == "recovery":
        return shows("failure", pattern.detail, trajectory)
    if pattern.kind == "decision":
        return shows("decision", {**pattern.detail, "choice": _Anything()}, trajectory)
    return True


class _Anything:
    """Equal to every choice, but to none at all."""

    def __eq__(self, other: object) -> bool:
        return other is not None

    __hash__ = None  # type: ignore[assignment]


def _shuffled(name: str, episodes: Sequence[Trajectory], shuffles: int) -> dict[str, Any]:
    rewards = [trajectory.episode.reward for trajectory in episodes]
    corpus, counts = Corpus(), []
    corpus.update(episodes)
    for seed in range(shuffles):
        random.Random(seed).shuffle(order := [*rewards])
        corpus.score({t.episode.id: reward for t, reward in zip(episodes, order, strict=True)})
        counts.append(sum(map(_proven, find(corpus, limit=SHOWN))))
    # Every discovery is false here, so the false discovery proportion of a shuffle is 1 or 0.
    return {
        "set": name,
        "episodes": len(episodes),
        "shuffles": shuffles,
        "with_any": sum(count > 0 for count in counts),
        "mean_fdp": round(sum(count > 0 for count in counts) / shuffles, 3),
        "mean_false": round(sum(counts) / shuffles, 3),
        "unshuffled_proven": sum(map(_proven, mine(episodes, limit=SHOWN))),
    }


def _tau2(data: Path) -> Iterator[Trajectory]:
    for path in sorted((data / "tau2-bench").glob("episodes_*.jsonl")):
        for row in read_rows(path):
            calls = [step for step in row["steps"] if step["type"] == "tool_call"]
            steps = [(c["tool"], c["tool"], c["args"], str(c["observation"]) if c["error"] else None) for c in calls]
            yield _episode(row, row["scenario"]["reason_for_call"], row["scenario"]["domain"], steps)


def _intercode(data: Path) -> Iterator[Trajectory]:
    for path in sorted((data / "intercode").glob("episodes_*.jsonl")):
        for row in read_rows(path):
            steps = [
                (f"bash: {s['args']}", "bash", {"command": s["args"]}, None if s["valid"] else str(s["observation"]))
                for s in row["steps"]
            ]
            yield _episode(row, row["query"], "", steps)


def _episode(
    row: dict[str, Any], task: str, project: str, calls: Sequence[tuple[str, str, dict[str, Any], str | None]]
) -> Trajectory:
    key = row["episode_id"]
    told = Episode(
        id=key, project=project, session="", task_id=row["task_id"], attempt=1, opened_at="", task=task,
        agent=row["agent"], reward=RANGE * row["reward"] - RANGE / 2,
    )  # fmt: skip
    steps = tuple(
        Step(episode_id=key, number=at, action=action, at="", tool=tool, args=args, error=error,
             outcome="failure" if error else "success")
        for at, (action, tool, args, error) in enumerate(calls, 1)
    )  # fmt: skip
    return Trajectory(episode=told, steps=steps)


def table(results: dict[str, Any]) -> Iterator[str]:
    """The results as Markdown."""
    yield (
        "| rewards | effect | support | recall | by kind ("
        + ", ".join(KINDS)
        + ") | bound | listed | proven | precision |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in results["planted"]:
        kinds = " ".join(f"{row['recall_by_kind'][kind]:.2f}" for kind in KINDS)
        precision = "-" if row["precision"] is None else f"{row['precision']:.2f}"
        yield (
            f"| {row['rewards']} | {row['effect']} | {row['support']} | {row['recall']:.2f} | {kinds} "
            f"| {row['bound']:.2f} | {row['listed']:.2f} | {row['proven']} | {precision} |"
        )
    yield ""
    yield "| shuffled set | episodes | shuffles | with any discovery | mean FDP | mean false | proven unshuffled |"
    yield "|---|---|---|---|---|---|---|"
    for row in results["shuffled"]:
        yield "| " + " | ".join(str(value) for value in row.values()) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the shared sets; without it, made episodes only")
    parser.add_argument("--worlds", type=int, default=WORLDS, help="made sets for each effect and support")
    parser.add_argument("--shuffles", type=int, default=SHUFFLES)
    asked = parser.parse_args()
    results = run(asked.data, worlds=asked.worlds, shuffles=asked.shuffles)
    print("\n".join(table(results)))
    print(json.dumps({"benchmark": "quality-patterns", **results}))


if __name__ == "__main__":
    main()
