"""The reference inspector's command line lists and calls all five tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSPECTOR = ROOT / "build" / "npm" / "node_modules" / ".bin" / "mcp-inspector"
TIMEOUT_S = 120  # node and a cold Python start on a busy machine


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not INSPECTOR.exists() or shutil.which("node") is None:
        message = "the inspector is not installed: `make test` installs it where npm is present"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return tmp_path_factory.mktemp("inspector")


def inspect(home: Path, method: str, *arguments: str) -> dict[str, Any]:
    # Options first: the inspector takes what follows the command for the server's own arguments.
    command = [str(INSPECTOR), "--cli", "-e", f"PROWESS_HOME={home}", sys.executable, "-I", "-m", "prowess.server"]
    command += ["serve", "--in-process", "--method", method, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def call(home: Path, name: str, /, **arguments: object) -> dict[str, Any]:
    pairs = [part for field, value in arguments.items() for part in ("--tool-arg", f"{field}={json.dumps(value)}")]
    answer = inspect(home, "tools/call", "--tool-name", name, *pairs)
    assert not answer.get("isError"), answer
    content: dict[str, Any] = answer["structuredContent"]
    return content


def test_the_inspector_lists_the_five_tools(home: Path) -> None:
    names = [tool["name"] for tool in inspect(home, "tools/list")["tools"]]
    assert sorted(names) == ["evolve_skills", "find_skill", "reflect", "score_reward", "track_execution"]


def test_the_inspector_calls_each_tool(home: Path) -> None:
    tracked = call(
        home,
        "track_execution",
        task_id="inspector-1",
        action="run the tests",
        tool="bash",
        args={"command": "pytest -q"},
        observation="2 passed in 0.1s",
    )
    assert tracked["receipt"] == "committed"
    scored = call(home, "score_reward", task_id="inspector-1", reward=8, final=True)
    assert scored["episode_id"] == tracked["episode_id"]
    assert scored["reward"] == 8
    assert call(home, "reflect")["patterns"] == []
    assert call(home, "find_skill", query="run the tests")["skills"] == []
    assert call(home, "evolve_skills", mode="status")["changes"] == []
