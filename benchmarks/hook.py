"""A hook's whole process, from spawn to end, with the hub running and away; beside bare Pythons in the same run.

``step`` tells of a command with 4 kB of output, ``big`` of one with 1 MB, ``prompt`` asks a hub with 200 skills for
context, once they have their vectors: making those takes all of a processor for some seconds, once. The budget is a
95th percentile of 100 ms.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parent))

from _common import emit, ended, percentile, scratch, script
from startup import end_hub

from prowess.server.hooks import spool
from prowess.server.hooks.events import command
from prowess.storage.catalog.adapter import Connection
from prowess.storage.engine import CATALOG_NAME
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Skill, SkillStep
from prowess.storage.store import Store

TURNS = 60
BUDGET_MS_P95 = 100.0
SECONDS = 60.0
SKILLS = 200
SAID = ("collected 12 items\n" + "tests/test_till.py ............ [100%]\n" * 100)[:4000] + "\n12 passed in 0.31s"
STEP = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": {"stdout": SAID}}
BIG = {**STEP, "tool_response": {"stdout": SAID * 250}}
PROMPT = "Please mend the failing till number 17 of the shop and run its tests"


def hook(home: Path, event: str, given: Mapping[str, Any], *, call: str = "") -> float:
    """Seconds from spawn to the end of one hook."""
    told = {"session_id": "bench", "cwd": "/", "tool_use_id": call, **given}
    program = command("claude-code", event, store=str(home))
    return ended(program, given=json.dumps(told).encode(), environ={**os.environ, "PROWESS_PROJECT": "bench"})


async def fill(home: Path) -> None:
    """A store with skills to find."""
    skills = [
        Skill(
            id=f"skill-{number}",
            name=f"mend_till_{number}",
            description=f"Mend failing till number {number} of the shop and run its tests",
            steps=(SkillStep(tool="Bash", args_template={"command": f"make till-{number}"}),),
            status="active",
            project="bench",
        )
        for number in range(SKILLS)
    ]
    async with Store.open(home) as store:
        events = [SkillSaved(skill=skill, change="create") for skill in skills]
        await store.append(events, origin=Origin(actor="person"))


def wait_for_hub(home: Path) -> subprocess.Popen[bytes]:
    """A hub that has opened the store, loaded its embedding model and made the skills' vectors."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "prowess.server.hub", "--home", str(home)], stdin=subprocess.DEVNULL
    )
    hook(home, "UserPromptSubmit", {"prompt": PROMPT, "session_id": "first"})
    subprocess.run(
        [sys.executable, "-I", "-m", "prowess.server", "find", PROMPT, "--store", str(home)],
        check=True,
        timeout=SECONDS,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = perf_counter() + SECONDS
    while vectors(home) < SKILLS and perf_counter() < deadline:
        time.sleep(0.1)
    return process


def vectors(home: Path) -> int:
    """Of how many skills."""
    db = Connection(home / CATALOG_NAME, read_only=True)
    try:
        [[count]] = db.execute("SELECT count(*) FROM embeddings WHERE kind = 'skill'")
        return int(count)
    finally:
        db.close()


def measure(folder: Path) -> dict[str, Any]:
    up, away = folder / "up", folder / "away"
    anyio.run(fill, up)
    away.mkdir(mode=0o700)
    seconds: dict[str, list[float]] = {}
    hub = wait_for_hub(up)
    try:
        for turn in range(TURNS):
            for name, call in ways(up, away, turn).items():
                seconds.setdefault(name, []).append(call())
    finally:
        hub.terminate()
        hub.wait(SECONDS)
    lost = TURNS * 2 - len(spool.names(str(away)))
    end_hub(away)
    shutil.rmtree(away, ignore_errors=True)
    return report(seconds, lost)


def ways(up: Path, away: Path, turn: int) -> dict[str, Callable[[], float]]:
    return {
        "python_bare": lambda: ended([sys.executable, "-I", "-S", "-c", "pass"]),
        "python": lambda: ended([sys.executable, "-c", "pass"]),
        "step_hub_up": lambda: hook(up, "PostToolUse", STEP, call=f"s{turn}"),
        "step_hub_away": lambda: hook(away, "PostToolUse", STEP, call=f"s{turn}"),
        "big_hub_up": lambda: hook(up, "PostToolUse", BIG, call=f"b{turn}"),
        "big_hub_away": lambda: hook(away, "PostToolUse", BIG, call=f"b{turn}"),
        "prompt_hub_up": lambda: hook(up, "UserPromptSubmit", {"prompt": PROMPT, "session_id": f"p{turn}"}),
        "stop_hub_up": lambda: hook(up, "Stop", {}),
    }


def report(seconds: Mapping[str, Sequence[float]], lost: int) -> dict[str, Any]:
    results = {
        name: {"ms_p50": percentile(found, 0.5), "ms_p95": percentile(found, 0.95), "runs": len(found)}
        for name, found in seconds.items()
    }
    hooks = [name for name in results if "_hub_" in name]
    return {
        **results,
        "lost_while_away": lost,
        "budget_ms_p95": BUDGET_MS_P95,
        "within_budget": {name: results[name]["ms_p95"] <= BUDGET_MS_P95 for name in hooks},
    }


def main() -> None:
    with scratch() as folder:
        emit("hook", measure(folder))


if __name__ == "__main__":
    script(main)
