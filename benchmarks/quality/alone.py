"""What the one past success is worth that ``find_skill`` shows where no skill fits, and how often it would mislead.

    python benchmarks/quality/alone.py --data DATA [--part build|report] [--cache DIR] [--json FILE]

DATA has bfcl-multi-turn, intercode, metatool and seal-tools. For each question of BFCL and InterCode the nearest
success of another task is taken, by the cosine of their vectors; by floor: how often there is one, how often its tools
are exactly right, and how much they overlap with what is right. Beside that a success of another task by lot, and the
requests to MetaTool's and Seal-Tools' programs that reach the floor with anything, though none is right for them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import _bfcl
import _intercode
from _command import command
from _sets import load_sets
from _shared import Question, Split, Step, Tools
from _splits import in_build
from _vectors import Vectors, default_cache

from prowess.tools.precedents import SAME_TASK

FLOORS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
SEEDS = {"build": (11, 12, 13), "report": (0, 1, 2)}  # of InterCode, which is shuffled anew for each


def run(data: Path, *, part: str = "report", cache: Path | None = None) -> dict[str, Any]:
    """Shares by set and floor."""
    vectors = Vectors(cache or default_cache())
    foreign = [
        query.text
        for found in load_sets(data)[1:3]
        for query in found.queries
        if in_build(query.id) == (part == "build")
    ]
    result: dict[str, Any] = {"part": part, "floor": SAME_TASK, "sets": {}}
    for name, splits in _splits_of(data, part, cache or default_cache()).items():
        rows = [row for split in splits for row in _asked(split, vectors)]
        away = np.concatenate([_nearest(foreign, split, vectors) for split in splits])
        by_lot = {"floor": "by lot", "shown": 1.0, **_worth([lot for _, _, lot in rows])}
        result["sets"][name] = [*(_row(floor, rows, away) for floor in FLOORS), by_lot]
    return result


def _splits_of(data: Path, part: str, cache: Path) -> dict[str, list[Split]]:
    turns = _bfcl.load(data / "bfcl-multi-turn", _bfcl.Simulators(cache / "bfcl"))
    folds = [turns.build(fold) for fold in range(_bfcl.FOLDS)]
    return {
        "bfcl": folds if part == "build" else [turns.report(_bfcl.SEED_OF_PARTS)],
        "intercode": [_intercode.load(data / "intercode", seed) for seed in SEEDS[part]],
    }


def _nearest(texts: Sequence[str], split: Split, vectors: Vectors) -> np.ndarray[Any, np.dtype[np.float32]]:
    nearest: np.ndarray[Any, np.dtype[np.float32]]
    nearest = (vectors(texts) @ vectors([one["task"] for one in split.fed]).T).max(1)
    return nearest


def _asked(split: Split, vectors: Vectors) -> list[tuple[float, tuple[bool, float], tuple[bool, float]]]:
    """By question: the best cosine, how right that success is, and how right one by lot."""
    near = vectors([one.text for one in split.asked]) @ vectors([one["task"] for one in split.fed]).T
    lot = random.Random(0)
    return [
        (
            float(row.max()),
            _right(question, split.fed[row.argmax()], split),
            _right(question, lot.choice(split.fed), split),
        )
        for question, row in zip(split.asked, near, strict=True)
    ]


def _right(question: Question, episode: dict[str, Any], split: Split) -> tuple[bool, float]:
    """Whether its tools are exactly those of some right answer, and their largest Jaccard overlap."""
    told = _tools([Step(step["tool"], step["args"]) for step in episode["steps"]], split)
    gold = [_tools(steps, split) for steps in question.gold]
    return told in gold, max(len(told & right) / max(len(told | right), 1) for right in gold)


def _tools(steps: Sequence[Step], split: Split) -> Tools:
    return split.core([_intercode.key(step) if split.name == "intercode" else step.tool for step in steps])


def _row(floor: float, rows: Sequence[Any], away: np.ndarray[Any, Any]) -> dict[str, Any]:
    shown = [right for cosine, right, _ in rows if cosine >= floor]
    return {
        "floor": floor,
        "shown": len(shown) / len(rows),
        **_worth(shown),
        "foreign": float((away >= floor).mean()),
    }


def _worth(shown: Sequence[tuple[bool, float]]) -> dict[str, float]:
    return {
        "exact": sum(exact for exact, _ in shown) / max(len(shown), 1),
        "jaccard": sum(overlap for _, overlap in shown) / max(len(shown), 1),
    }


def table(result: dict[str, Any]) -> str:
    lines = [f"floor in use: {result['floor']}"]
    for name, rows in result["sets"].items():
        lines += ["", f"{name:10}{'shown':>9}{'exact':>9}{'Jaccard':>9}{'foreign':>9}"]
        for row in rows:
            values = [row.get(key) for key in ("shown", "exact", "jaccard", "foreign")]
            lines.append(f"{row['floor']!s:10}" + "".join(f"{'':>9}" if v is None else f"{v:9.4f}" for v in values))
    return "\n".join(lines)


if __name__ == "__main__":
    command(__doc__, run, table)
