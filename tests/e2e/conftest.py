"""A store's folder, and processes that are found again however they were started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import Marked


@pytest.fixture
def marked() -> Iterator[Marked]:
    marked = Marked()
    yield marked
    marked.end()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('embedder = "none"\nwithhold = 0\n')
    return home
