"""The set-up's Makefile, where what it builds with is not as it should be."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"
MAKE = shutil.which("make")

pytestmark = pytest.mark.skipif(MAKE is None, reason="make is not installed")


def _program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def _clone(folder: Path) -> Path:
    """A folder with what building the binding looks at."""
    (folder / "redb-py").mkdir(parents=True)
    shutil.copy(MAKEFILE, folder)
    for name in ("Cargo.toml", "pyproject.toml"):
        (folder / "redb-py" / name).touch()
    return folder


def _build(folder: Path, path: str, python: str = "true") -> subprocess.CompletedProcess[str]:
    """Builds the binding where make's PATH is `path`."""
    command = [str(MAKE), f"PYTHON={python}", "build/stamps/redb"]
    environment = {"PATH": path, "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_cargo_that_fails_is_off_the_path_however_often_it_is_on_it(tmp_path: Path, times: int) -> None:
    rust, system = tmp_path / "rust", tmp_path / "system"
    _program(rust / "cargo", "exit 1")
    _program(system / "cc", "exit 0")
    for name in ("sh", "sed", "find", "mkdir", "touch", "rm", "true"):
        (system / name).symlink_to(Path(shutil.which(name) or "").resolve())

    _clone(tmp_path / "clone")
    _program(tmp_path / "clone/.venv/bin/pip", 'echo "PATH=$PATH"')

    done = _build(tmp_path / "clone", os.pathsep.join([*[str(rust)] * times, str(system)]))

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{rust}/cargo fails" in done.stdout
    assert f"PATH={system}\n" in done.stdout
    assert "there is no Rust: the build fetches a toolchain, which then takes 660 MB" in done.stdout


def test_a_toolchain_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    _program(tmp_path / "rust" / "cargo", "exit 0")
    _program(_clone(tmp_path / "clone") / ".venv/bin/pip", 'echo "PATH=$PATH"')
    path = os.pathsep.join([str(tmp_path / "rust"), os.environ["PATH"]])
    done = _build(tmp_path / "clone", path)
    assert (f"PATH={path}\n" in done.stdout, "there is no Rust" in done.stdout) == (True, False)


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter that makes environments as venv does: with programs that know where they stand."""
    made = """case $2 in venv) mkdir -p "$4/bin"; ln -sf "$0" "$4/bin/python"
        printf '#!/bin/sh\\n# %s\\n' "$PWD/$4/bin/python" >"$4/bin/pip"; chmod +x "$4/bin/pip"; esac"""
    _program(tmp_path / "base/python", made)
    return tmp_path / "base/python"


def _made_anew(folder: Path, python: Path) -> bool:
    done = _build(folder, os.environ["PATH"], str(python))
    assert done.returncode == 0, done.stdout + done.stderr
    return "-m venv --clear .venv" in done.stdout


@pytest.mark.parametrize("name", ["clone", "Jürgen's clone (2)"])
def test_an_environment_that_works_is_kept(tmp_path: Path, python: Path, name: str) -> None:
    clone = _clone(tmp_path / name)
    assert [_made_anew(clone, python) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("carry", [shutil.move, shutil.copytree])
def test_a_clone_somewhere_else_gets_an_environment_of_its_own(
    tmp_path: Path, python: Path, carry: Callable[[Path, Path], object]
) -> None:
    clone, other = _clone(tmp_path / "clone"), tmp_path / "other"
    _made_anew(clone, python)
    carry(clone, other)
    assert [_made_anew(other, python) for _ in range(2)] == [True, False]


def test_an_environment_whose_python_is_gone_is_made_anew(tmp_path: Path, python: Path) -> None:
    clone = _clone(tmp_path / "clone")
    _made_anew(clone, python)
    newer = python.rename(tmp_path / "base/python-newer")
    assert [_made_anew(clone, newer) for _ in range(2)] == [True, False]


def test_programs_that_do_not_start_are_not_taken_for_a_want_of_rust(tmp_path: Path, python: Path) -> None:
    clone = _clone(tmp_path / "clone")
    python.write_text(python.read_text().replace("'#!/bin/sh", "'#!/nowhere"))
    done = _build(clone, os.environ["PATH"], str(python))
    assert done.returncode != 0
    assert "error: programs do not start from this folder\nhint: move the clone" in done.stdout
    assert not (clone / ".venv").exists()


def test_no_command_has_the_path_of_the_clone_which_may_have_spaces(tmp_path: Path) -> None:
    clone = _clone(tmp_path / "Jürgen's clone")
    (clone / "pyproject.toml").touch()
    (clone / "build/wheels").mkdir(parents=True)
    (clone / "build/wheels/prowess-1-py3-none-any.whl").touch()
    stamps = [f"build/stamps/{name}" for name in ("venv", "test-env", "train-env")]
    command = [str(MAKE), "-n", "--no-print-directory", *stamps]
    told = subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=60, check=True).stdout
    assert '"build/wheels/prowess-1-py3-none-any.whl[dev]"' in told
    assert clone.name not in told
