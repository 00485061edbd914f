"""The converters of examples/ on real samples: what they write is what the importer takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = Path(__file__).parent / "samples"


def converted(script: str, *words: object) -> list[dict[str, Any]]:
    command = [
        sys.executable,
        "-I",
        "-S",
        str(EXAMPLES / script),
        *map(str, words),
    ]  # -S: nothing but the standard library
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_tau2_runs_keep_calls_errors_and_rewards() -> None:
    run, telecom = converted("tau2_bench.py", "--cut", "40", SAMPLES / "tau2_runs.jsonl")
    assert (run["task_id"], run["project"], run["agent"]) == ("retail/33", "tau2-retail", "sierra_gpt-4.1-sft")
    assert run["reward"] == -10
    assert [(step["tool"], step["outcome"]) for step in run["steps"]] == [
        ("find_user_id_by_name_zip", "success"),
        ("get_order_details", "failure"),
        ("get_user_details", "success"),
        ("get_order_details", "success"),
    ]
    assert run["steps"][0]["args"] == {"first_name": "Noah", "last_name": "Patel", "zip": "10108"}
    assert run["steps"][1]["error"] == "Error: Order not found"
    assert len(run["steps"][2]["observation"]) == 41
    assert [step.get("context") for step in telecom["steps"][-2:]] == ["done by the user"] * 2


def test_tau2_tasks_of_one_user_share_a_name() -> None:
    tasks = {task["task_id"]: task for task in converted("tau2_bench.py", "--tasks", SAMPLES / "tau2_tasks.json")}
    assert set(tasks) == {"retail/36", "retail/37", "retail/54", "retail/70"}
    assert tasks["retail/36"]["user"] == tasks["retail/37"]["user"] == "daiki sanchez"
    assert tasks["retail/54"]["user"] == "amelia silva"
    assert tasks["retail/70"]["user"] == "sofia hernandez"
    assert tasks["retail/70"]["gold"][-1]["tool"] == "exchange_delivered_order_items"


def test_intercode_runs_keep_the_reward_of_each_step() -> None:
    good, bad = converted("intercode.py", SAMPLES / "intercode.jsonl")
    assert [step["reward"] for step in good["steps"]] == [-10, 10]
    assert good["reward"] == 10
    assert good["steps"][0]["args"] == {"command": "execute[find /testbed -type f | wc -l]"}
    assert bad["steps"][0]["outcome"] == "failure"
    assert bad["steps"][0]["reward"] == 3.4
    assert "unexpected EOF" in bad["steps"][0]["error"]


def test_swe_agent_runs_take_their_reward_from_the_report() -> None:
    (run,) = converted("swe_agent.py", SAMPLES / "pydantic.traj")
    assert run["task_id"] == "pydantic__pydantic.acb0f10f.pr_8316"
    assert run["task"].startswith("`to_snake` alias generator bug")
    assert (run["reward"], run["evidence"]) == (10, {"tests": {"passed": 8, "failed": 0}})
    assert run["steps"][0]["tool"] == "find"
    assert run["steps"][0]["duration_ms"] == 153.5


def test_swe_agent_runs_without_a_report_have_an_unknown_outcome() -> None:
    (run,) = converted("swe_agent.py", SAMPLES / "networking.traj")
    assert (run["task_id"], run["outcome"], "reward" in run) == ("networking", "unknown", False)
    assert run["steps"][0]["tool"] == "tshark"


@pytest.mark.parametrize("script", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_each_converter_says_how_it_is_used(script: str) -> None:
    text = (EXAMPLES / script).read_text(encoding="utf-8")
    assert f"python examples/{script}" in text
    assert "prowess import jsonl" in text
    assert script in (EXAMPLES / "README.md").read_text(encoding="utf-8")
