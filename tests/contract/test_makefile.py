"""The set-up's Makefile, where what it builds with is not as it should be."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"
MAKE = shutil.which("make")

pytestmark = pytest.mark.skipif(MAKE is None, reason="make is not installed")


def _program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def _build(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    """Builds the binding with a pip that only tells its PATH, where that of make is `path`."""
    shutil.copy(MAKEFILE, folder)
    (folder / "redb-py").mkdir()
    for name in ("Cargo.toml", "pyproject.toml"):
        (folder / "redb-py" / name).touch()
    _program(folder / ".venv/bin/pip", 'echo "PATH=$PATH"')
    command = [str(MAKE), "PYTHON=true", "build/stamps/redb"]
    environment = {"PATH": path, "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_cargo_that_fails_is_off_the_path_however_often_it_is_on_it(tmp_path: Path, times: int) -> None:
    rust, system = tmp_path / "rust", tmp_path / "system"
    _program(rust / "cargo", "exit 1")
    _program(system / "cc", "exit 0")
    for name in ("sh", "sed", "find", "mkdir", "touch", "rm", "true"):
        (system / name).symlink_to(Path(shutil.which(name) or "").resolve())

    done = _build(tmp_path, os.pathsep.join([*[str(rust)] * times, str(system)]))

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{rust}/cargo fails" in done.stdout
    assert f"PATH={system}\n" in done.stdout
