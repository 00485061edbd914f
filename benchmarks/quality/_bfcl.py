"""BFCL multi-turn: what users say turn by turn, the gold calls, and the simulators that the calls run on.

The simulators come from PyPI's ``bfcl-eval`` (Apache-2.0): the wheel is fetched into a cache folder and only its
``func_source_code`` is unpacked. Its data, which holds answers, is never looked at.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _shared import Question, Split, Step, read_rows

__all__ = ["SEED_OF_PARTS", "Simulators", "load"]

SEED_OF_PARTS = 7  # with which the first FED of the shuffled tasks are the part to build on
TASKS, FED = 150, 100
FOLDS = 5
PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
WANTED = ["__init__", "long_context", *MODULES.values()]


class Simulators:
    """Runs calls from a task's initial state. ``cache`` is a folder of their own; it is filled where it is empty."""

    def __init__(self, cache: Path) -> None:
        if not (cache / "done").exists():
            _fetch(cache)
        sys.path.insert(0, str(cache / "simulators"))

    def start(self, task: dict[str, Any]) -> World:
        """The task's world before its first turn."""
        return World({name: self._made(name, task["initial_config"]) for name in task["involved_classes"]})

    def _made(self, name: str, config: dict[str, Any]) -> Any:
        made = getattr(importlib.import_module(f"{PACKAGE}.{MODULES[name]}"), name)()
        if hasattr(made, "_load_scenario"):
            made._load_scenario(copy.deepcopy(config.get(name, {})))
        return made


class World:
    """The simulators of one task in some state."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = parts

    def copy(self) -> World:
        return World(copy.deepcopy(self._parts))

    def named(self, tool: str, positional: Sequence[Any], given: dict[str, Any]) -> dict[str, Any]:
        """All arguments by name."""
        names = list(inspect.signature(self._method(tool)).parameters)
        return dict(zip(names, positional, strict=False)) | given

    def run(self, tool: str, args: dict[str, Any]) -> tuple[str, bool]:
        """What the call answers, and whether it worked."""
        try:
            found = self._method(tool)(**args)
        except Exception as error:  # whatever a simulator raises is its answer, as in the benchmark's own runner
            return f"Error during execution: {error}", False
        text = found if isinstance(found, str) else json.dumps(found, default=str)
        return text, not (isinstance(found, dict) and "error" in found)

    def state(self) -> dict[str, Any]:
        """What the benchmark compares: all that is not private, by simulator."""
        return {name: _plain(part) for name, part in self._parts.items()}

    def _method(self, tool: str) -> Any:
        for part in self._parts.values():
            if not tool.startswith("_") and callable(method := getattr(part, tool, None)):
                return method
        raise AttributeError(f"no tool {tool}")


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part, depth) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, depth) for part in value]
    if isinstance(value, random.Random):
        return None
    if hasattr(value, "__dict__") and depth < 12:
        own = {key: part for key, part in vars(value).items() if not key.startswith("_") or depth}
        return {key: _plain(part, depth + 1) for key, part in own.items() if key.strip("_") != "parent"}
    return value


def _fetch(cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "download", "--no-deps", "-d", str(cache / "wheels"), "bfcl-eval"], check=True)
    target = cache / "simulators"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), "mpmath"], check=True)
    (wheel,) = (cache / "wheels").glob("bfcl_eval-*.whl")
    folder = target.joinpath(*PACKAGE.split("."))
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in WANTED:
            (folder / f"{name}.py").write_bytes(archive.read(f"{PACKAGE.replace('.', '/')}/{name}.py"))
    (cache / "done").touch()


def load(folder: Path, simulators: Simulators) -> Turns:
    gold = {row["id"]: row["ground_truth"] for row in read_rows(folder / "gold.jsonl")}
    tasks = sorted((row for row in read_rows(folder / "tasks.jsonl") if row["id"] in gold), key=lambda row: row["id"])
    return Turns({task["id"]: list(_turns(task, gold[task["id"]], simulators)) for task in tasks})


class Turns:
    """The questions of all tasks, one per turn."""

    def __init__(self, by_task: dict[str, list[Question]]) -> None:
        self._by_task = by_task

    def report(self, seed: int) -> Split:
        """100 tasks to feed, the other 50 to ask. Of ``SEED_OF_PARTS`` nobody saw the asked ones before."""
        tasks = self._shuffled(seed)
        return self._split(tasks[:FED], tasks[FED:TASKS])

    def build(self, fold: int) -> Split:
        """A fifth of the part to build on is asked, the rest fed."""
        tasks = self._shuffled(SEED_OF_PARTS)[:FED]
        asked = tasks[fold % FOLDS :: FOLDS]
        return self._split([task for task in tasks if task not in asked], asked)

    def _shuffled(self, seed: int) -> list[str]:
        tasks = sorted(self._by_task)
        random.Random(seed).shuffle(tasks)
        return tasks

    def _split(self, fed: Sequence[str], asked: Sequence[str]) -> Split:
        told = [one.episode() for task in fed for one in self._by_task[task]]
        return Split("bfcl", told, [one for task in asked for one in self._by_task[task]], frozenset)


def _turns(task: dict[str, Any], gold: Sequence[Sequence[str]], simulators: Simulators) -> Iterator[Question]:
    """Each turn with its gold calls as they went, what was seen before, and the world that it began in."""
    world, seen = simulators.start(task), ""
    for number, (said, calls) in enumerate(zip(task["question"], gold, strict=False)):
        text = " ".join(message["content"] for message in said)
        begun, steps = world.copy(), [_done(line, world) for line in calls]
        if text and steps:
            wanted = (tuple(steps),)
            yield Question(
                f"{task['id']}.{number}", task["id"], text, wanted, seen=seen, world=begun, after=world.copy()
            )
        seen += "\n" + text + "".join(f"\n{step.observation}" for step in steps)


def _done(line: str, world: World) -> Step:
    parsed = ast.parse(line, mode="eval").body
    assert isinstance(parsed, ast.Call), line
    tool = ast.unparse(parsed.func)
    positional = [ast.literal_eval(value) for value in parsed.args]
    args = world.named(tool, positional, {str(one.arg): ast.literal_eval(one.value) for one in parsed.keywords})
    observation, _ = world.run(tool, args)
    return Step(tool, args, observation)
