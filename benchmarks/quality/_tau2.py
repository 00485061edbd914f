"""tau2-bench: customers' stories, runs of two agents with their rewards, and gold actions. Mutating tools count.

Retail are the packaged runs and tasks, split by user. Airline and telecom come from a folder of the runs. No user of
airline has tasks on both sides. In telecom all tasks are one user's, so those that begin with the same trouble are kept
on one side instead.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from _shared import Question, Split, Step, Tools

from prowess.server.demo_score import load_split, mutating

__all__ = ["load_runs", "retail"]

FED_SHARE = 2 / 3
MAX_ID = 200  # characters that track_execution takes; the ends of telecom's long names differ
_LOOKS = re.compile(r"get_|check_|run_|can_|find_|search_|list_|calculate|think|transfer_to")
_USER = re.compile(r"(?:You are|Your name is) ([A-Z]\w+ [A-Z]\w+)")


def retail(seed: int) -> Split:
    """The demo's split (seed 0), or another one by user."""
    split = load_split(seed)
    fed = [{name: row[name] for name in ("task_id", "task", "steps")} for row in split.fed if row["reward"] > 0]
    asked = [
        Question(task.id, task.user, task.text, (tuple(Step(tool, {}) for tool in task.gold),))
        for task in split.unseen
        if mutating(task.gold)
    ]
    return Split("tau2-retail", fed, asked, mutating)


def load_runs(folder: Path, domain: str, seed: int) -> Split:
    """``domain`` is airline or telecom."""
    runs = [json.loads(line) for path in sorted(folder.glob(f"episodes_{domain}_*.jsonl")) for line in path.open()]
    groups = sorted({_group(run) for run in runs})
    random.Random(seed).shuffle(groups)
    told = set(groups[: round(len(groups) * FED_SHARE)])
    fed = [_episode(run) for run in runs if _group(run) in told and run["reward"] == 1]
    asked = {run["task_id"]: _question(run) for run in runs if _group(run) not in told}
    return Split(f"tau2-{domain}", fed, [one for one in asked.values() if _changing(one.gold[0])], _acting)


def _group(run: dict[str, Any]) -> str:
    user = _USER.search(run["scenario"].get("known_info") or "")
    if run["scenario"]["domain"] == "telecom" or user is None:
        return re.sub(r"\[PERSONA:.*", "", run["task_id"]).partition("|")[0]
    return user[1]


def _episode(run: dict[str, Any]) -> dict[str, Any]:
    calls = [step for step in run["steps"] if step["type"] == "tool_call"]
    steps = [
        Step(
            step["tool"],
            step["args"] if isinstance(step["args"], dict) else {},
            str(step["observation"] or ""),
            "failure" if step["error"] else "success",
        ).told()
        for step in calls
    ]
    return {"task_id": run["task_id"][-MAX_ID:], "task": run["scenario"]["reason_for_call"], "steps": steps}


def _question(run: dict[str, Any]) -> Question:
    gold = tuple(Step(action["tool"], action["args"]) for action in run["gold_actions"])
    return Question(run["task_id"], _group(run), run["scenario"]["reason_for_call"], (gold,))


def _changing(steps: Iterable[Step]) -> bool:
    return bool(_acting(step.tool for step in steps))


def _acting(tools: Iterable[str]) -> Tools:
    return frozenset(tool for tool in tools if not _LOOKS.match(tool))
