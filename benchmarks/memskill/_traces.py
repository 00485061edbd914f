"""The sets as traces to remember: conversations with questions, and runs of agents that later runs ask about.

Every set is cut into parts that have no conversation, task or user in common; each part is held back once.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "quality"))

from prowess.learning.memskill import Question, Shape, Trace, Turn, Vectors, conversation, histories
from prowess.storage.models import Episode, Step, Trajectory

__all__ = ["Part", "Set", "load_sets"]

PARTS = 4  # of the sets of runs; LoCoMo has one for each conversation
AT = "2026-01-01T00:00:00.000Z"
UNANSWERABLE = 5  # LoCoMo's category of questions that nothing answers
SHAPE = Shape(span=4, episodes=25, queries=60)
_USER = re.compile(r"(?:You are|[Yy]our name is|You name is) ([A-Z]\w+ [A-Z]\w+)")


class Part(NamedTuple):
    """What is held back together."""

    name: str
    traces: list[Trace]


class Set(NamedTuple):
    """``tokens`` are the memory budgets, tightest first."""

    name: str
    parts: list[Part]
    tokens: tuple[int, ...]


def load_sets(data: Path, vectors: Vectors, names: Sequence[str]) -> Iterator[Set]:
    """Those of ``names``: LoCoMo, InterCode's bash runs, the runs and gold actions of tau2-bench and tau-bench."""
    if "LoCoMo" in names:
        yield Set("LoCoMo", _locomo(data / "locomo/locomo.json", vectors), (500, 1_000, 2_000, 4_000))
    if "InterCode" in names:
        yield Set("InterCode", _runs(_intercode(data / "intercode"), vectors), (250, 500, 1_000, 2_000))
    if "tau" in names:
        yield Set("tau", _runs(_tau(data), vectors), (250, 500, 1_000, 2_000))


# ---- conversations


def _locomo(path: Path, vectors: Vectors) -> list[Part]:
    told = json.loads(path.read_text(encoding="utf-8"))
    return [Part(one["sample_id"], [_conversation(one, vectors)]) for one in told]


def _conversation(one: dict[str, Any], vectors: Vectors) -> Trace:
    said = one["conversation"]
    numbers = sorted(int(name[8:]) for name in said if re.fullmatch(r"session_\d+", name))
    sessions = [[Turn(turn["dia_id"], _said(turn)) for turn in said[f"session_{number}"]] for number in numbers]
    questions = [
        Question(item["question"], tuple(re.findall(r"D\d+:\d+", " ".join(item["evidence"]))), str(item["answer"]))
        for item in one["qa"]
        if item["category"] != UNANSWERABLE
    ]
    return conversation(one["sample_id"], sessions, questions, vectors, SHAPE)


def _said(turn: dict[str, Any]) -> str:
    caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{caption}"


# ---- runs of agents


class _Told(NamedTuple):
    """One run: ``group`` is what must be on one side (task, or user with all tasks), ``stream`` who worked where."""

    group: str
    stream: str
    trajectory: Trajectory


def _runs(told: Iterable[_Told], vectors: Vectors) -> list[Part]:
    """Groups dealt out to the parts in turn; in each part a stream of runs is a project of its own."""
    told = list(told)
    part_of = {group: place % PARTS for place, group in enumerate(sorted({run.group for run in told}))}
    parts: dict[int, list[Trajectory]] = defaultdict(list)
    for run in told:
        parts[part_of[run.group]].append(run.trajectory)
    return [Part(f"part {number + 1}", histories(parts[number], vectors, SHAPE)) for number in range(PARTS)]


def _trajectory(name: str, stream: str, task: str, success: bool, calls: Sequence[dict[str, Any]]) -> Trajectory:
    steps = tuple(
        Step(
            episode_id=name,
            number=place,
            action=call["tool"],
            at=AT,
            tool=call["tool"],
            args=call["args"],
            observation=call.get("observation"),
            error=call.get("error"),
            outcome="failure" if call.get("error") else "success",
        )
        for place, call in enumerate(calls, start=1)
    )
    episode = Episode(
        id=name, project=stream, session="", task_id=name, attempt=1, opened_at=AT, task=task,
        outcome="success" if success else "failure", steps=len(steps),
    )  # fmt: skip
    return Trajectory(episode=episode, steps=steps)


def _intercode(folder: Path) -> Iterable[_Told]:
    for path in sorted(folder.glob("episodes_*.jsonl")):
        for run in _rows(path):
            calls = [_command(step) for step in run["steps"] if step["args"] != "submit"]
            trajectory = _trajectory(run["episode_id"], path.stem, run["query"], run["reward"] == 1, calls)
            yield _Told(run["query"], path.stem, trajectory)


def _command(step: dict[str, Any]) -> dict[str, Any]:
    wrapped = re.fullmatch(r"execute\[(.*)\]", step["args"], re.DOTALL)
    seen = str(step["observation"])
    failed = not step["valid"] or step["reward"] == 0
    told = {"error": seen or "no reward"} if failed else {"observation": seen}
    return {"tool": "bash", "args": {"command": wrapped[1] if wrapped else step["args"]}, **told}


def _tau(data: Path) -> Iterable[_Told]:
    for path in sorted((data / "tau2-bench").glob("episodes_*.jsonl")):
        for run in _rows(path):
            calls = [_call(step) for step in run["steps"] if step["type"] == "tool_call"]
            task = run["scenario"]["reason_for_call"]
            trajectory = _trajectory(run["episode_id"], path.stem, task, run["reward"] == 1, calls)
            yield _Told(_group(run), path.stem, trajectory)
    for row in _rows(data / "tau-bench/tasks_retail_train.jsonl"):
        calls = [{"tool": call["tool"], "args": call["args"]} for call in row["gold_actions"]]
        yield _Told(
            row["user_id"], "tau-bench", _trajectory(row["task_id"], "tau-bench", row["instruction"], True, calls)
        )


def _call(step: dict[str, Any]) -> dict[str, Any]:
    seen = str(step["observation"] or "")
    told = {"error": seen or "error"} if step["error"] else {"observation": seen}
    return {"tool": step["tool"], "args": step["args"] if isinstance(step["args"], dict) else {}, **told}


def _group(run: dict[str, Any]) -> str:
    """A user with all tasks; in telecom, where there is one user, the trouble that a task begins with."""
    user = _USER.search(run["scenario"].get("known_info") or "")
    if run["scenario"]["domain"] == "telecom" or user is None:
        return re.sub(r"\[PERSONA:.*", "", run["task_id"]).partition("|")[0]
    return "_".join(user[1].lower().split())


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
