"""Rules about the code itself: sizes, what may be imported at start, and what must never be written down."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import prowess

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("learning", "namespace", "providers", "server", "storage", "tools", "training")
MOST_LINES = 500


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


@pytest.mark.parametrize("path", tracked("*.py", "*.rs"), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_source_file_is_longer_than_the_limit(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_no_file_names_a_package_registry() -> None:
    hosts = ["pypi." + "org", "python" + "hosted", "crates." + "io", "npmjs." + "org", "deb." + "debian"]
    # A converter's sample or a licence may be binary; what cannot be decoded names no host that anyone would follow.
    found = [path for path in tracked() if any(host in path.read_text(errors="replace") for host in hosts)]
    assert found == []


def test_the_server_starts_without_torch() -> None:
    code = "import prowess.server.app, prowess.server.serve, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-I", "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.skipif("PROWESS_TEST_INSTALLED" not in os.environ, reason="not run against the built wheels")
def test_the_tests_see_the_built_wheels_and_no_torch() -> None:
    import importlib.util

    import redb

    import prowess.storage.store

    for module in (prowess, prowess.storage.store, redb):
        assert "site-packages" in str(module.__file__)
    assert importlib.util.find_spec("torch") is None


def test_every_place_names_the_same_version() -> None:
    from prowess.server.shim import wire

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == prowess.__version__ == wire.VERSION


def test_every_package_on_disk_is_declared_for_the_wheel() -> None:
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = set()
    for folder in PACKAGES:
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT).parts
            found.add(".".join(("prowess", *parts)) if folder != "namespace" else "prowess")
    assert declared == found


def test_every_file_that_is_no_python_is_declared_for_the_wheel() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {name: ROOT / told["package-dir"].get(name, "/".join(name.split(".")[1:])) for name in told["packages"]}
    declared = {
        path for name, like in told["package-data"].items() for each in like for path in folders[name].glob(each)
    }
    there = {path for folder in PACKAGES for path in tracked(f"{folder}/*") if path.suffix != ".py"}
    assert len(there) > 20
    assert sorted(str(path.relative_to(ROOT)) for path in there - declared) == []


def test_no_two_test_files_share_a_name() -> None:
    """They are imported without packages, so the second of a name would be taken for the first."""
    names = [path.name for path in tracked("*/tests/*.py", "tests/*.py") if path.name != "conftest.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == []
