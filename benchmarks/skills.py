"""Do mined skills tell an agent more than the nearest past episode does? Tasks that were never fed are the judges.

    python benchmarks/skills.py                             # tau2-bench retail, the packaged runs
    python benchmarks/skills.py --bfcl bfcl-multi-turn      # and BFCL multi-turn: a folder with tasks.jsonl, gold.jsonl

Retail: two thirds of the users are fed, tasks of the others asked; of the tools those that change something count.
BFCL: the turns of 100 tasks are fed as episodes, those of 50 others asked; all tools count. Everything goes through the
tools as an agent would call them; the raw episodes are searched in the same store with the same retrievers.

A hit is exactly the gold set of tools; Jaccard is the overlap of both sets; no answer is a miss. Best of three: for
``find_skill`` the three skills of one answer, for the episodes the first three that *differ* in their tools, so that
two runs of one task do not cost them a try.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, run, scratch

from prowess.learning.ranking import fuse
from prowess.server.demo_score import load_split, mean, mutating
from prowess.server.runtime import Runtime, open_runtime
from prowess.server.settings import Settings
from prowess.tools.find_skill import FindOutput
from prowess.tools.registry import call, find
from prowess.tools.searching import CANDIDATES

PROJECT = "bench"
BFCL_TASKS, BFCL_FED = 150, 100
WAIT = 60.0  # seconds for the embedding model
MEASURES = ("hit@1", "Jaccard@1", "hit@3", "Jaccard@3")

Tools = frozenset[str]
Answers = list[Tools]  # best first


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the tools that its task needs."""

    text: str
    gold: Tools


@dataclass(frozen=True, slots=True)
class Trial:
    """Episodes to feed, in the import format, and questions about other tasks. ``core``: the tools that count."""

    fed: Sequence[dict[str, Any]]
    asked: Sequence[Question]
    core: Callable[[Iterable[str]], Tools]


def retail(seed: int) -> Trial:
    """The demo's split (seed 0), or another one by user."""
    split = load_split(seed)
    fed = [{name: row[name] for name in ("task_id", "task", "steps", "reward")} for row in split.fed]
    return Trial(fed, [Question(task.text, mutating(task.gold)) for task in split.unseen], mutating)


def bfcl(folder: Path, seed: int) -> Trial:
    """Each turn of a task is an episode of its own: what the user says, and the gold calls."""
    gold = {row["id"]: row["ground_truth"] for row in rows(folder / "gold.jsonl")}
    tasks = sorted((row for row in rows(folder / "tasks.jsonl") if row["id"] in gold), key=lambda row: row["id"])
    random.Random(seed).shuffle(tasks)
    fed = [turn for task in tasks[:BFCL_FED] for turn in turns(task, gold[task["id"]])]
    held_out = [turn for task in tasks[BFCL_FED:BFCL_TASKS] for turn in turns(task, gold[task["id"]])]
    asked = [Question(turn["task"], frozenset(step["tool"] for step in turn["steps"])) for turn in held_out]
    return Trial(fed, asked, frozenset)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def turns(task: dict[str, Any], gold: Sequence[Sequence[str]]) -> Iterator[dict[str, Any]]:
    for number, (said, calls) in enumerate(zip(task["question"], gold, strict=False)):
        text = " ".join(message["content"] for message in said)
        if text and calls:
            steps = [step(line) for line in calls]
            yield {"task_id": f"{task['id']}.{number}", "task": text, "steps": steps, "reward": 10}


def step(line: str) -> dict[str, Any]:
    """``mv(source='a', destination='b')`` as a step."""
    parsed = ast.parse(line, mode="eval").body
    assert isinstance(parsed, ast.Call), line
    given = {f"argument_{place}": ast.literal_eval(value) for place, value in enumerate(parsed.args)}
    given |= {str(item.arg): ast.literal_eval(item.value) for item in parsed.keywords}
    return {"tool": ast.unparse(parsed.func), "args": given, "outcome": "success"}


async def feed(runtime: Runtime, trial: Trial) -> None:
    for number, episode in enumerate(trial.fed):
        context = runtime.context(session=f"run-{number}")
        about = {"task_id": episode["task_id"], "task": episode["task"]}
        await call(find("track_execution"), {**about, "steps": episode["steps"]}, context)
        scored = {"task_id": episode["task_id"], "reward": episode["reward"], "final": True}
        await call(find("score_reward"), scored, context)
    await call(find("evolve_skills"), {"mode": "auto"}, runtime.context())
    await runtime.index.query("")  # waits for the model
    await runtime.index.refresh()


async def skills(runtime: Runtime, trial: Trial, question: Question) -> Answers:
    asked = {"query": question.text, "limit": 3, "max_tokens": 4_000}
    answer = await call(find("find_skill"), asked, runtime.context())
    assert isinstance(answer, FindOutput)
    assert answer.mode == "hybrid"
    return [trial.core(str(step["tool"]) for step in shown.steps if "tool" in step) for shown in answer.skills]


async def nearest(
    runtime: Runtime, trial: Trial, question: Question, done: dict[str, Tools], *, lexical: bool, dense: bool
) -> Answers:
    """What the nearest successful episodes did, without repeats."""
    store, words, near = runtime.store, [], []
    if lexical:
        words = await store.lexical("episode", question.text, limit=CANDIDATES, project=PROJECT)
    if dense and (vector := await runtime.index.query(question.text)) is not None:
        near = await store.dense("episode", vector, limit=CANDIDATES, project=PROJECT)
    return list(dict.fromkeys(done[key] for key, _ in fuse(question.text, words, near) if key in done))


async def deeds(runtime: Runtime, trial: Trial) -> dict[str, Tools]:
    """What each successful episode did, by id."""
    found = [episode.id for episode in await runtime.store.episodes() if episode.outcome == "success"]
    told = await runtime.store.trajectories(found)
    return {item.episode.id: trial.core(step.verb for step in item.steps if step.outcome != "failure") for item in told}


async def answers(trial: Trial, home: Path) -> dict[str, list[Answers]]:
    """For each method its answers, question by question."""
    given: dict[str, list[Answers]] = defaultdict(list)
    async with open_runtime(Settings(home=home, project=PROJECT, withhold=0.0), patience=WAIT) as runtime:
        await feed(runtime, trial)
        done = await deeds(runtime, trial)
        made = await runtime.store.skills(project=PROJECT, statuses=("draft", "active"))
        known = [trial.core(step.tool for step in item.steps if step.tool) for item in made]
        frequent = [tools for tools, _ in Counter(done.values()).most_common()]
        for question in trial.asked:
            raw = partial(nearest, runtime, trial, question, done)
            given["find_skill"].append(await skills(runtime, trial, question))
            given["episode, fused"].append(await raw(lexical=True, dense=True))
            given["episode, lexical"].append(await raw(lexical=True, dense=False))
            given["episode, dense"].append(await raw(lexical=False, dense=True))
            given["most frequent"].append(frequent)
            given["oracle: skill"].append(sorted(known, key=lambda tools: -overlap(tools, question.gold)))
            given["oracle: episode"].append(sorted(frequent, key=lambda tools: -overlap(tools, question.gold)))
    return given


def overlap(left: Tools, right: Tools) -> float:
    return len(left & right) / len(left | right) if left | right else 1.0


def measured(given: Sequence[Answers], asked: Sequence[Question]) -> list[float]:
    """In the order of MEASURES."""
    figures = []
    for tries in (1, 3):
        pairs = [(found[:tries], question.gold) for found, question in zip(given, asked, strict=True)]
        figures.append(mean([gold in found for found, gold in pairs]))
        figures.append(mean([max((overlap(tools, gold) for tools in found), default=0.0) for found, gold in pairs]))
    return figures


async def compare(name: str, trials: dict[int, Trial]) -> dict[str, Any]:
    """Print the means over the seeds; all figures are returned."""
    by_seed: dict[int, dict[str, list[float]]] = {}
    for seed, trial in trials.items():
        with scratch() as home:
            found = await answers(trial, home)
        by_seed[seed] = {method: measured(given, trial.asked) for method, given in found.items()}
    asked = [len(trial.asked) for trial in trials.values()]
    print(f"\n{name}: {sum(asked)} tasks asked, seeds {', '.join(map(str, trials))}; the first seed's in brackets")
    print(f"{'':18}" + "".join(f"{measure:>16}" for measure in MEASURES))
    first = next(iter(by_seed.values()))
    for method in first:
        means = [mean(column) for column in zip(*(figures[method] for figures in by_seed.values()), strict=True)]
        print(f"{method:18}" + "".join(f"{m:>9.3f} [{f:.2f}]" for m, f in zip(means, first[method], strict=True)))
    return {"asked": asked, "seeds": by_seed}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bfcl", type=Path, help="folder of BFCL multi-turn tasks")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    chosen = parser.parse_args()
    results = {"tau2-retail": await compare("tau2-retail", {seed: retail(seed) for seed in chosen.seeds})}
    if chosen.bfcl is not None:
        trials = {seed: bfcl(chosen.bfcl, seed) for seed in chosen.seeds}
        results["bfcl"] = await compare("BFCL multi-turn", trials)
    emit("skills", {"measures": MEASURES, "results": results})


if __name__ == "__main__":
    run(main)
