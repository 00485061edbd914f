"""InterCode's bash runs to Prowess's import format.

    python examples/intercode.py episodes_bash_gpt-4.jsonl > bash.jsonl
    prowess import jsonl bash.jsonl

Reads runs of InterCode (https://github.com/princeton-nlp/intercode, MIT) that were flattened to one JSON object per
line: ``episode_id``, ``task_id``, ``agent``, ``query``, ``steps`` (``tool``, ``args`` as text, ``observation``,
``reward`` from 0 to 1, ``valid``) and the final ``reward``. A reward of 0 becomes -10, 1 becomes 10, for steps and for
the whole.

Standard library only.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def scaled(reward: float) -> float:
    """0..1 on the scale from -10 to 10."""
    return round(reward * 20 - 10, 4)


def episode(run: dict[str, Any]) -> dict[str, Any]:
    """One line of the import format."""
    return {
        "task_id": run["task_id"],
        "task": run["query"],
        "project": "intercode-bash",
        "agent": run["agent"],
        "session": run["episode_id"],
        "steps": [step(call) for call in run["steps"]],
        "reward": scaled(run["reward"]),
        "reason": "InterCode's final reward",
    }


def step(call: dict[str, Any]) -> dict[str, Any]:
    told = {"action": call["args"] or call["tool"], "tool": call["tool"], "args": {"command": call["args"]}}
    if call.get("reward") is not None:
        told["reward"] = scaled(call["reward"])
    if not call.get("valid", True):
        return {**told, "error": call["observation"] or "invalid action", "outcome": "failure"}
    return {**told, "observation": call["observation"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help="files of flattened runs")
    for path in parser.parse_args().paths:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                run = json.loads(line)
                if run["steps"]:
                    sys.stdout.write(json.dumps(episode(run), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
