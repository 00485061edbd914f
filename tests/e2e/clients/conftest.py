"""The real clients, and a person who has them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import ModelServer
from person import Person

BUILD = Path(__file__).resolve().parents[3] / "build"
PROGRAMS = BUILD / "npm" / "clients" / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with the clients' commands."""
    missing = [name for name in ("claude", "codex") if not (PROGRAMS / name).exists()]
    if missing or shutil.which("node") is None or shutil.which("git") is None:
        message = "the clients are not installed: `make test` installs them where npm is present"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return PROGRAMS


@pytest.fixture(scope="session")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def person(programs: Path, models: ModelServer) -> Iterator[Person]:
    # Codex refuses to put its helpers into a home below the system's folder for temporary files.
    home = Path(tempfile.mkdtemp(prefix="home-", dir=BUILD))
    person = Person(home, programs, models)
    yield person
    person.prowess("hub", "stop")
    shutil.rmtree(home)
