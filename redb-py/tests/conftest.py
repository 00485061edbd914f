"""Fixtures of the redb-py tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redb


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.redb"


@pytest.fixture
def db(path: Path) -> Iterator[redb.Database]:
    database = redb.Database.create(path)
    yield database
    database.close()
