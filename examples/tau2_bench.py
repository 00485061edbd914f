"""tau2-bench runs to Prowess's import format.

    python examples/tau2_bench.py episodes_retail_*.jsonl > retail.jsonl
    prowess import jsonl retail.jsonl

Reads runs of tau2-bench (https://github.com/sierra-research/tau2-bench, MIT) that were flattened to one JSON object per
line: ``episode_id``, ``task_id``, ``agent``, ``scenario`` (``domain``, ``reason_for_call``), ``steps`` of type ``say``,
``user`` or ``tool_call`` (``tool``, ``args``, ``observation``, ``error``, ``by``) and ``reward`` from 0 to 1. What was
said is left out; a reward of 0 becomes -10, 1 becomes 10.

With ``--tasks`` it writes a task list instead: what each user asks, the gold actions, and which tasks belong to the
same user. That is how the two files of the demo were made:

    python examples/tau2_bench.py --cut 300 episodes_retail_sierra_gpt-4.1{,-sft}.jsonl > episodes.jsonl
    python examples/tau2_bench.py --tasks tasks_retail.json > tasks.jsonl

Standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_NAMED = re.compile(r"(?:name is|[Yy]ou are|You're|called|user)\s+([A-Z][a-z]+) ([A-Z][a-z]+)")
_USER_ID = re.compile(r"\b([a-z]+)_([a-z]+)_\d{4}\b")  # payment methods look alike, with seven digits
_EMAIL = re.compile(r"\b([a-z]+\.[a-z]+)\d+@")


def episode(run: dict[str, Any], cut: int) -> dict[str, Any]:
    """One line of the import format."""
    return {
        "task_id": run["task_id"],
        "task": run["scenario"]["reason_for_call"],
        "project": f"tau2-{run['scenario']['domain']}",
        "agent": run["agent"],
        "session": run["episode_id"],
        "steps": [step(call, cut) for call in run["steps"] if call["type"] == "tool_call"],
        "reward": run["reward"] * 20 - 10,
        "reason": "the recorded reward of the benchmark",
    }


def step(call: dict[str, Any], cut: int) -> dict[str, Any]:
    observation = call.get("observation") or ""
    shown = observation if len(observation) <= cut else observation[:cut] + "…"
    told = {"tool": call["tool"], "args": call["args"]}
    if call.get("by", "assistant") != "assistant":
        told["context"] = f"done by the {call['by']}"
    if call.get("error"):
        return {**told, "error": shown, "outcome": "failure"}
    return {**told, "observation": shown, "outcome": "success"}


def task(definition: dict[str, Any]) -> dict[str, Any]:
    """A task with its gold actions; ``user`` is filled in by ``with_users``."""
    told = definition["user_scenario"]["instructions"]
    gold = definition["evaluation_criteria"]["actions"] or []
    return {
        "task_id": f"{told['domain']}/{definition['id']}",
        "task": told["reason_for_call"],
        "gold": [{"tool": action["name"], "args": action["arguments"]} for action in gold],
    }


def identities(definition: dict[str, Any]) -> set[str]:
    """What the task's user is called anywhere in it: ``first last``."""
    known = definition["user_scenario"]["instructions"]["known_info"] or ""
    found = {f"{a} {b}".lower() for a, b in _NAMED.findall(known)}
    for text in (known, *(json.dumps(a["arguments"]) for a in definition["evaluation_criteria"]["actions"] or [])):
        found |= {f"{a} {b}" for a, b in _USER_ID.findall(text)} | {a.replace(".", " ") for a in _EMAIL.findall(text)}
    for action in definition["evaluation_criteria"]["actions"] or []:
        arguments = action["arguments"]
        if "first_name" in arguments:
            found.add(f"{arguments['first_name']} {arguments['last_name']}".lower())
    return found


def with_users(definitions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Tasks that share any identity have the same ``user``. A task without one would be a user of its own."""
    leader: dict[str, str] = {}

    def lead(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    named = [sorted(identities(definition)) or [f"task {definition['id']}"] for definition in definitions]
    for names in named:
        for name in names[1:]:
            leader[lead(name)] = lead(names[0])
    for definition, names in zip(definitions, named, strict=True):
        yield {**task(definition), "user": lead(names[0])}


def read_runs(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files of flattened runs")
    parser.add_argument("--cut", type=int, default=4000, help="characters of an observation that are kept")
    parser.add_argument("--tasks", type=Path, help="write this task list instead")
    options = parser.parse_args()
    if options.tasks:
        rows = with_users(json.loads(options.tasks.read_text(encoding="utf-8")))
    else:
        rows = (episode(run, options.cut) for run in read_runs(options.paths))
    for row in rows:
        sys.stdout.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
