"""The typed interface, the tree of exceptions and the examples of the README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import redb

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"


def test_the_stub_says_what_the_module_has(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-m", "mypy.stubtest", "redb", "--allowlist", str(HERE / "stubtest_allowlist.txt")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_all_exceptions_are_of_one_tree() -> None:
    found = [value for value in vars(redb).values() if isinstance(value, type) and issubclass(value, BaseException)]
    assert len(found) > 20
    for error in found:
        assert issubclass(error, redb.RedbError)
        assert error.__module__ == "redb"
        assert error.__doc__


@pytest.mark.parametrize("number", range(len(re.findall(r"^```python$", README.read_text(), re.MULTILINE))))
def test_the_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)[number]
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})


def test_the_readme_names_every_exception() -> None:
    text = README.read_text()
    missing = [name for name in redb.__all__ if isinstance(getattr(redb, name), type) and f"`{name}`" not in text]
    errors = [name for name in missing if issubclass(getattr(redb, name), redb.RedbError)]
    assert errors == []
