"""InterCode bash: questions about files, the commands of seven models, and a reward for each command.

An episode is a command that earned the full reward. Split by query, never by run. What counts are the names of the
programs; right are those of any command that was fully rewarded.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from _shared import Question, Split, Step, Tools

from prowess.learning.synthesis.calls import key_of

__all__ = ["key", "load", "programs"]

FED_SHARE = 2 / 3
_WRAPPED = re.compile(r"execute\[(.*)\]", re.DOTALL)


def load(folder: Path, seed: int) -> Split:
    """Two thirds of the queries are fed, the others asked where any model solved them."""
    runs = [(path, json.loads(line)) for path in sorted(folder.glob("episodes_*.jsonl")) for line in path.open()]
    queries = sorted({run["query"] for _, run in runs})
    random.Random(seed).shuffle(queries)
    told = set(queries[: round(len(queries) * FED_SHARE)])
    solved: dict[str, list[Step]] = defaultdict(list)
    for _, run in runs:
        solved[run["query"]] += _rewarded(run)[:1]
    fed = [
        {"task_id": query, "task": query, "steps": [step.told()]} for query in queries if query in told
        for step in solved[query]
    ]  # fmt: skip
    asked = [
        Question(query, query, query, tuple((step,) for step in solved[query]))
        for query in queries
        if query not in told and solved[query]
    ]
    return Split("intercode", fed, asked, programs)


def _rewarded(run: dict[str, Any]) -> list[Step]:
    steps = [step for step in run["steps"] if step["reward"] == 1 and step["valid"] and step["args"] != "submit"]
    return [Step("bash", {"command": _bare(step["args"])}, str(step["observation"])) for step in steps]


def _bare(command: str) -> str:
    wrapped = _WRAPPED.fullmatch(command)
    return wrapped[1] if wrapped else command


def programs(keys: Iterable[str]) -> Tools:
    """The programs of command lines, given as keys (``bash:find|sort``)."""
    return frozenset(part for key in keys for part in key.partition(":")[2].split("|") if part)


def key(step: Step) -> str:
    return key_of(step.tool, step.args)
