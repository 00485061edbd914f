"""Does a trained controller with evolved memory skills remember what is asked later, better than simpler rules?

    python benchmarks/memskill/run.py --data DATA [--cache DIR] [--sets LoCoMo,InterCode,tau] [--json FILE]

Needs the train extra. Every method has the same retention, the same memory and answer budgets, and the embedded
executor. Parts (conversations; tasks or users of agents' runs) are held back in turn; seeds are averaged query by
query, and conversations or streams of runs are drawn as wholes for the intervals. What is done is kept in the cache, so
that a run that was ended goes on. docs/memskill-results.md has the result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1] / "quality"))
sys.path.insert(0, str(Path(__file__).parent))

import torch
from _cells import TRAINED, Fold, folds, measured, plain
from _metrics import interval, paired
from _traces import Set, load_sets
from _vectors import Vectors, default_cache

SEEDS = (0, 1, 2)
SETTINGS: dict[str, Any] = {
    "iterations": 10, "rollouts": 6, "design_every": 5, "evaluate_every": 2, "hidden": 128,
    "ppo": {"epochs": 2, "minibatches": 2},
}  # fmt: skip
"""A fifth of a default run: three seeds of three variants of twelve folds have to fit into 25 minutes."""
FOLDS = 4
OURS = "trained"
RIVALS = (
    "random", "insert all", "single best skill", "no evolution", "no controller", "recency only",
    "insert, one sentence",
)  # fmt: skip


def cells(told: Set, vectors: Vectors, cache: Path, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Every cell, from the cache where it was made before with the same code."""
    chosen = folds(told, FOLDS)
    for fold in chosen:
        yield _kept(cache, told, fold, "plain", 0, vectors)
    for kind in TRAINED:
        for seed in seeds:
            for fold in chosen:
                yield _kept(cache, told, fold, kind, seed, vectors)


def _kept(cache: Path, told: Set, fold: Fold, kind: str, seed: int, vectors: Vectors) -> dict[str, Any]:
    key = json.dumps([CODE, told.name, told.tokens, fold.name, kind, seed, SETTINGS])
    path = cache / f"cell-{hashlib.blake2b(key.encode(), digest_size=10).hexdigest()}.json"
    if not path.exists():
        path.write_text(json.dumps(_made(told, fold, kind, seed, vectors)), encoding="utf-8")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _made(told: Set, fold: Fold, kind: str, seed: int, vectors: Vectors) -> dict[str, Any]:
    began, cpu = time.perf_counter(), time.process_time()
    if kind == "plain":
        rows, curve, about = plain(fold, told.tokens, vectors), [], {}
    else:
        rows, curve, about = measured(fold, kind, seed, told.tokens, vectors, SETTINGS)
    seconds = round(time.perf_counter() - began, 1), round(time.process_time() - cpu, 1)
    sys.stderr.write(f"{told.name} {fold.name} {kind} seed {seed}: {seconds[0]} s, {seconds[1]} s of CPU\n")
    return {
        "fold": fold.name, "kind": kind, "seed": seed, "rows": rows, "curve": curve, "about": about, "seconds": seconds,
    }  # fmt: skip


def _code() -> str:
    """Of what decides the numbers."""
    root, digest = Path(__file__).parents[2], hashlib.sha256()
    for folder in ("learning/memskill", "training"):
        for path in sorted((root / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


CODE = _code()


def tables(told: Set, made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means with intervals of each method and budget, and differences of ours to every rival."""
    budgets = [str(tokens) for tokens in told.tokens]
    found = {budget: _by_method(made, budget) for budget in budgets}
    return {
        "methods": {
            method: {
                budget: {measure: _interval(found[budget][method], place) for place, measure in MEASURES}
                for budget in budgets
            }
            for method in found[budgets[0]]
        },
        "compared": {
            rival: {
                budget: {measure: _paired(found[budget], rival, place) for place, measure in MEASURES}
                for budget in budgets
            }
            for rival in RIVALS
        },
        "queries": len(found[budgets[0]][OURS]),
        "groups": len({group for group, _, _ in found[budgets[0]][OURS].values()}),
        "curves": _curves(made),
        "cells": [{name: cell[name] for name in ("fold", "kind", "seed", "about", "seconds")} for cell in made],
    }


def together(sets: Mapping[str, tuple[Set, Sequence[dict[str, Any]]]]) -> dict[str, Any]:
    """Differences of ours to every rival over the queries of all sets, at their tightest budgets, the next, ..."""
    found: dict[str, Found] = {}
    for name, (told, made) in sets.items():
        for rank, tokens in enumerate(told.tokens):
            for method, rows in _by_method(made, str(tokens)).items():
                queries = found.setdefault(RANKS[rank], {}).setdefault(method, {})
                queries.update({f"{name}/{query}": (f"{name}/{row[0]}", *row[1:]) for query, row in rows.items()})
    return {
        rival: {rank: {measure: _paired(by, rival, place) for place, measure in MEASURES} for rank, by in found.items()}
        for rival in RIVALS
    }


RANKS = ("tightest", "second", "third", "widest")
MEASURES = ((1, "recall@10"), (2, "answer F1"))
Found = dict[str, dict[str, tuple[str, float, float | None]]]


def _by_method(made: Sequence[dict[str, Any]], budget: str) -> Found:
    """Method to query to (group, recall, F1), each the mean over seeds."""
    sums: dict[str, dict[str, list[tuple[str, float, float | None]]]] = {}
    for cell in made:
        for method, rows in cell["rows"].items():
            for group, query, recall, f1 in rows[budget]:
                sums.setdefault(method, {}).setdefault(query, []).append((group, recall, f1))
    return {method: {query: _mean(rows) for query, rows in queries.items()} for method, queries in sums.items()}


def _mean(rows: Sequence[tuple[str, float, float | None]]) -> tuple[str, float, float | None]:
    f1 = [row[2] for row in rows if row[2] is not None]
    return rows[0][0], sum(row[1] for row in rows) / len(rows), sum(f1) / len(f1) if f1 else None


def _interval(queries: dict[str, tuple[str, float, float | None]], place: int) -> list[float]:
    rows = [row for row in queries.values() if row[place] is not None]
    return interval([row[place] for row in rows], [row[0] for row in rows]).rounded()  # type: ignore[misc]


def _paired(found: Found, rival: str, place: int) -> list[float]:
    pairs = [(found[OURS][query], row) for query, row in found[rival].items() if row[place] is not None]
    ours, theirs = [one[place] for one, _ in pairs], [other[place] for _, other in pairs]
    return paired(ours, theirs, [one[0] for one, _ in pairs]).rounded()  # type: ignore[arg-type]


def _curves(made: Sequence[dict[str, Any]]) -> dict[str, list[list[float]]]:
    """By variant: (iteration, mean reward of the training plays, mean reward on validation or -1)."""
    found: dict[str, list[list[float]]] = {}
    for kind in TRAINED:
        runs = [cell["curve"] for cell in made if cell["kind"] == kind]
        for steps in zip(*runs, strict=False):
            validated = [step["validation"] for step in steps if "validation" in step]
            reward = sum(step["reward"] for step in steps) / len(steps)
            last = sum(validated) / len(validated) if validated else -1.0
            found.setdefault(kind, []).append([steps[0]["iteration"], round(reward, 4), round(last, 4)])
    return found


def shown(name: str, result: dict[str, Any]) -> str:
    """The result of a set as Markdown."""
    budgets = list(result["methods"][OURS])
    lines = [f"### {name}: {result['queries']} queries, {result['groups']} groups", ""]
    lines += [
        "| method | " + " | ".join(f"{budget} tokens" for budget in budgets) + " |",
        "|---" * (1 + len(budgets)) + "|",
    ]
    for method, at in result["methods"].items():
        told = [f"{_told(at[budget]['recall@10'])} / {at[budget]['answer F1'][0]:.3f}" for budget in budgets]
        lines.append(f"| {method} | " + " | ".join(told) + " |")
    return "\n".join([*lines, "", differences(result["compared"], " tokens")])


def differences(compared: dict[str, Any], unit: str = "") -> str:
    budgets = list(compared[RIVALS[0]])
    lines = ["| ours minus | " + " | ".join(f"{budget}{unit}" for budget in budgets) + " |"]
    lines.append("|---" * (1 + len(budgets)) + "|")
    for rival, at in compared.items():
        lines.append(f"| {rival} | " + " | ".join(_told(at[budget]["recall@10"], "+") for budget in budgets) + " |")
    return "\n".join(lines)


def _told(interval: Sequence[float], sign: str = "") -> str:
    mean, low, high = (f"{value:{sign}.3f}" for value in interval)
    return f"{mean} [{low}, {high}]"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--cache", type=Path)
    options.add_argument("--sets", default="LoCoMo,InterCode,tau")
    options.add_argument("--seeds", type=int, default=len(SEEDS))
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    torch.set_num_threads(1)
    cache = given.cache or default_cache()
    cache.mkdir(parents=True, exist_ok=True)
    vectors, results, sets = Vectors(cache), {}, {}
    for told in load_sets(given.data, vectors, given.sets.split(",")):
        made = list(cells(told, vectors, cache, range(given.seeds)))
        sets[told.name] = (told, made)
        results[told.name] = tables(told, made)
        print(shown(told.name, results[told.name]), "\n", flush=True)
    results["together"] = together(sets)
    print("### All sets together\n")
    print(differences(results["together"]))
    if given.json:
        given.json.write_text(json.dumps({"benchmark": "memskill", "settings": SETTINGS, **results}), encoding="utf-8")


if __name__ == "__main__":
    main()
