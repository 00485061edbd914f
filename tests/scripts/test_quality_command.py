"""The measures of quality say at once that their data are not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

QUALITY = Path(__file__).parents[2] / "benchmarks" / "quality"


@pytest.mark.parametrize("script", [QUALITY, QUALITY / "alone.py"], ids=["all", "one"])
def test_a_folder_that_is_not_there_is_named_before_anything_is_measured(script: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nothing"
    command = [sys.executable, "-I", str(script), "--data", str(missing)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"error: there is no folder {missing}" in ended.stderr
