"""A hub in this process, and a watch over its event loop."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from heartbeat import beating
from hubkit import hub_in

from prowess.server.hub.hub import Hub


@pytest.fixture
def home() -> Iterator[Path]:
    """A store's folder whose socket has a short path, whatever the machine's temporary folder is called."""
    folder = Path(tempfile.mkdtemp(prefix="hub-"))
    yield folder / "store"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def hub(home: Path) -> AsyncIterator[Hub]:
    async with hub_in(home) as hub:
        yield hub


@pytest.fixture
async def responsive() -> AsyncIterator[None]:
    """Fails the test when the event loop does not come round for more than 50 ms."""
    with beating() as heart:
        yield
    assert not heart.late, "the event loop was blocked:\n" + "\n".join(heart.late)
