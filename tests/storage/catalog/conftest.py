from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.storage.catalog import Catalog
from prowess.storage.catalog.adapter import Backend, Connection, libsql_available

BACKENDS: list[Backend] = ["libsql", "sqlite3"] if libsql_available() else ["sqlite3"]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


@pytest.fixture
def catalog(tmp_path: Path, backend: Backend) -> Iterator[Catalog]:
    made = Catalog(tmp_path / "catalog.db", backend=backend)
    yield made
    made.close()


@pytest.fixture
def db(tmp_path: Path, backend: Backend) -> Iterator[Connection]:
    made = Connection(tmp_path / "any.db", backend=backend)
    yield made
    made.close()
