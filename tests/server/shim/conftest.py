"""A store's folder, a hub that does what the test says, and a shim that is on its way to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shimkit import Hub, Shim


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def hub(home: Path) -> Iterator[Hub]:
    with Hub(home) as hub:
        yield hub


@pytest.fixture
def shim(home: Path, hub: Hub) -> Iterator[Shim]:
    with Shim(home) as shim:
        yield shim
