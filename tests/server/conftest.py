"""A hub in this process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hubkit import hub_in

from prowess.server.hub.hub import Hub


@pytest.fixture
def home() -> Iterator[Path]:
    """A store's folder whose socket has a short path, whatever the machine's temporary folder is called."""
    folder = Path(tempfile.mkdtemp(prefix="store-"))
    yield folder / "store"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def hub(home: Path) -> AsyncIterator[Hub]:
    async with hub_in(home) as hub:
        yield hub
