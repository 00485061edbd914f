from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowess.storage.catalog import Catalog, adapter
from prowess.storage.catalog.adapter import Backend, Connection, libsql_available

BACKENDS: list[Backend] = ["libsql", "sqlite3"] if libsql_available() else ["sqlite3"]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


@pytest.fixture(autouse=True)
def all_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what a test left open, as after a refusal: from Python 3.13 on sqlite3 warns of that."""
    opened = []
    connect = adapter._connect

    def remembered(path: Path, backend: Backend) -> Any:
        opened.append(connect(path, backend))
        return opened[-1]

    monkeypatch.setattr(adapter, "_connect", remembered)
    yield
    for each in opened:
        each.close()


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
