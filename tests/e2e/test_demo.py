"""``prowess demo`` as a whole process: the real server, the real client, real trajectories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SECONDS = 180  # the budget is 60 on an idle machine; this bound only keeps a hanging test from lasting


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
    assert result["episodes"] == 46
    assert result["steps"] == 350
    assert result["patterns"] > 0
    assert result["skills"] > 0
    assert result["seconds"] > 0
    assert result["unseen"]["tasks"] == 33
    assert result["search"] == "hybrid"


def test_the_rates_are_those_of_its_cases(result: dict[str, Any]) -> None:
    cases = result["cases"]
    assert len(cases) == 33
    for name, side in (("skills_hit_rate", "skill"), ("raw_hit_rate", "raw")):
        hits = [case[side]["mutating"] == case["gold"] and bool(case[side]["name"]) for case in cases]
        assert hits == [case[side]["hit"] for case in cases]
        assert result["unseen"][name] == pytest.approx(sum(hits) / 33, abs=1e-4)
        in_3 = [case[side]["hit_in_3"] for case in cases]
        assert all(again or not once for once, again in zip(hits, in_3, strict=True))
        assert result["unseen"][f"{name}_best_of_3"] == pytest.approx(sum(in_3) / 33, abs=1e-4)


def test_it_says_how_many_tasks_one_side_alone_hit(result: dict[str, Any]) -> None:
    unseen, cases = result["unseen"], result["cases"]
    difference = sum(case["skill"]["hit"] for case in cases) - sum(case["raw"]["hit"] for case in cases)
    assert unseen["only_skill_hits"] - unseen["only_raw_hits"] == difference
    assert unseen["only_skill_hits"] + unseen["only_raw_hits"] <= 33


def test_what_it_stored_is_what_was_fed(result: dict[str, Any], folder: Path) -> None:
    command = [sys.executable, "-I", "-m", "prowess.server", "stats", "--json", "--store", str(folder / "store")]
    stats = json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout)
    assert (stats["episodes"], stats["steps"], stats["rewards"]) == (46, 350, 46)
    assert stats["model_calls"] == 0
    assert stats["exposures"] == 33


def test_the_users_own_store_is_not_touched(result: dict[str, Any], folder: Path) -> None:
    assert not (folder / "own").exists()


def test_a_folder_in_use_is_refused_and_left_alone(result: dict[str, Any], folder: Path) -> None:
    done = demo("--json", "--store", str(folder / "store"), folder=folder)
    assert done.returncode != 0
    assert "not empty" in json.loads(done.stdout)["error"]["message"]
