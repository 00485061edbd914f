"""SWE-agent's .traj files to Prowess's import format.

    python examples/swe_agent.py *.traj > swe.jsonl
    prowess import jsonl swe.jsonl

Reads trajectories of SWE-agent and SWE-smith (https://github.com/SWE-agent/SWE-agent, MIT): a JSON object with
``trajectory``, a list of ``action``, ``observation``, ``thought`` and ``execution_time`` (seconds), ``history`` and
``info``. Demonstrations that have a ``history`` alone are left out, with a word on standard error. Where a report of
the evaluation lies beside a file (NAME.report.json), its ``resolved`` is the reward, 10 or -10; without one the outcome
is unknown, since submitting is not solving.

Standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

_TASK = re.compile(r"<pr_description>\s*(.*?)\s*</pr_description>|ISSUE:\s*(.*?)\s*(?:INSTRUCTIONS:|\Z)", re.DOTALL)


def episode(traj: dict[str, Any], name: str, report: dict[str, Any] | None, cut: int) -> dict[str, Any]:
    """One line of the import format."""
    told: dict[str, Any] = {
        "task_id": task_id(traj.get("environment"), name),
        "project": "swe-agent",
        "agent": "swe-agent",
        "session": name[-200:],
        "task": task(traj.get("history") or [])[:cut],
        "steps": [step(item, cut) for item in traj["trajectory"] if item.get("action", "").strip()],
    }
    if report is None:
        return {**told, "outcome": "unknown", "reason": f"exit status {traj.get('info', {}).get('exit_status')}"}
    tests = report.get("tests_status", {})
    failed = sum(len(tests.get(kind, {}).get("failure", ())) for kind in ("FAIL_TO_PASS", "PASS_TO_PASS"))
    passed = sum(len(tests.get(kind, {}).get("success", ())) for kind in ("FAIL_TO_PASS", "PASS_TO_PASS"))
    evidence = {"tests": {"passed": passed, "failed": failed}}
    return {
        **told,
        "reward": 10 if report["resolved"] else -10,
        "evidence": evidence,
        "reason": "the evaluation's report",
    }


def task_id(environment: Any, name: str) -> str:
    """The instance's name. Old files have the environment's own name, ``swe_main`` or ``main``, in its place."""
    return environment if environment and "__" in environment else name[-200:]


def task(history: list[dict[str, Any]]) -> str:
    """What was asked: the issue in the first user message that has one, else that message."""
    said = [text(item.get("content")) for item in history if item.get("role") == "user"]
    for words in said:
        found = _TASK.search(words)
        if found:
            return found[1] or found[2] or ""
    return said[0] if said else ""


def text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def step(item: dict[str, Any], cut: int) -> dict[str, Any]:
    action = item["action"].strip()
    told = {"action": action, "tool": action.split()[0][:200], "args": {"command": action}}
    told["observation"] = text(item.get("observation"))[:cut]
    if item.get("thought"):
        told["context"] = text(item["thought"])[:cut]
    if item.get("execution_time") is not None:
        told["duration_ms"] = round(item["execution_time"] * 1000, 1)
    return told


def read_report(path: Path) -> dict[str, Any] | None:
    beside = path.with_name(path.name.removesuffix(".traj") + ".report.json")
    return json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else None  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help=".traj files")
    parser.add_argument("--cut", type=int, default=20_000, help="characters of a text that are kept")
    options = parser.parse_args()
    for path in options.paths:
        traj = json.loads(path.read_text(encoding="utf-8"))
        if not traj.get("trajectory"):
            sys.stderr.write(f"{path}: no trajectory in it\n")
            continue
        row = episode(traj, path.name.removesuffix(".traj"), read_report(path), options.cut)
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
