"""``prowess demo`` as a whole process: the real server, the real client, real trajectories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SECONDS = 300  # the budget is 60 on an idle machine; this bound only keeps a hanging test from lasting
TASKS = 114


def demo(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "prowess.server", "demo", *words]
    # The user's own store and key must not be touched by a demo.
    env = {**os.environ, "PROWESS_HOME": str(folder / "own"), "ANTHROPIC_API_KEY": "sk-not-a-key"}
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def result(folder: Path) -> dict[str, Any]:
    done = demo("--json", "--store", str(folder / "store"), folder=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_reports_one_object_with_the_promised_fields(result: dict[str, Any]) -> None:
    assert result["rounds"] == 3
    assert result["episodes"] == 160  # each of 80 runs in two of three rounds
    assert result["steps"] == 1182
    assert result["patterns"] > 0
    assert result["skills"] > 0
    assert result["seconds"] > 0
    assert result["unseen"]["tasks"] == TASKS
    assert result["search"] == "hybrid"


def test_the_rates_are_those_of_its_cases(result: dict[str, Any]) -> None:
    cases = result["cases"]
    assert len({case["task_id"] for case in cases}) == len(cases) == TASKS
    for name, side in (("skills_hit_rate", "skill"), ("raw_hit_rate", "raw")):
        hits = [case[side]["mutating"] == case["gold"] and bool(case[side]["name"]) for case in cases]
        assert hits == [case[side]["hit"] for case in cases]
        assert result["unseen"][name] == pytest.approx(sum(hits) / TASKS, abs=1e-4)
        in_3 = [case[side]["hit_in_3"] for case in cases]
        assert all(again or not once for once, again in zip(hits, in_3, strict=True))
        assert result["unseen"][f"{name}_best_of_3"] == pytest.approx(sum(in_3) / TASKS, abs=1e-4)


def test_it_says_how_many_tasks_one_side_alone_hit(result: dict[str, Any]) -> None:
    unseen, cases = result["unseen"], result["cases"]
    difference = sum(case["skill"]["hit"] for case in cases) - sum(case["raw"]["hit"] for case in cases)
    assert unseen["only_skill_hits"] - unseen["only_raw_hits"] == difference
    assert unseen["only_skill_hits"] + unseen["only_raw_hits"] <= TASKS


def test_what_it_stored_is_what_was_fed(result: dict[str, Any], folder: Path) -> None:
    stats = [stored(folder / "store" / f"round-{number}") for number in (1, 2, 3)]
    assert [(one["episodes"], one["rewards"], one["exposures"]) for one in stats] == [
        (52, 52, 37),
        (54, 54, 42),
        (54, 54, 35),
    ]
    assert sum(one["steps"] for one in stats) == 1182
    assert sum(one["model_calls"] for one in stats) == 0


def stored(store: Path) -> dict[str, Any]:
    command = [sys.executable, "-I", "-m", "prowess.server", "stats", "--json", "--store", str(store)]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout)
    return found


def test_skills_hit_what_raw_episodes_miss(result: dict[str, Any]) -> None:
    unseen = result["unseen"]
    assert unseen["skills_hit_rate"] > unseen["raw_hit_rate"]
    assert unseen["skills_hit_rate_best_of_3"] > unseen["raw_hit_rate_best_of_3"]


def test_the_users_own_store_is_not_touched(result: dict[str, Any], folder: Path) -> None:
    assert not (folder / "own").exists()


def test_a_folder_in_use_is_refused_and_left_alone(result: dict[str, Any], folder: Path) -> None:
    done = demo("--json", "--store", str(folder / "store"), folder=folder)
    assert done.returncode != 0
    assert "not empty" in json.loads(done.stdout)["error"]["message"]
