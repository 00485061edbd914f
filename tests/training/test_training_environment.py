"""Where the trainer's tests can run, and what the trainer says where it cannot."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

TORCH = importlib.util.find_spec("torch") is not None


@pytest.mark.skipif(not TORCH, reason="the trainer's tests need torch: make test runs them in build/train-env")
def test_torch_is_there() -> None:
    import torch

    assert torch.tensor([1.0]).sum() == 1.0


@pytest.mark.skipif(TORCH, reason="torch is installed here: what is said without it is tested in build/test-env")
def test_without_torch_the_trainer_says_how_to_install_it(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-m", "prowess.training", "--batch", str(tmp_path), "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--settings", str(tmp_path / "none")], capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 1
    event = json.loads(done.stdout)
    assert event["event"] == "error"
    assert "torch" in event["message"]
    assert "pip install 'prowess[train]'" in event["message"]
    assert done.stderr == b""
