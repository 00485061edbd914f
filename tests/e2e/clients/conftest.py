"""The real clients, and a person who has them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from agents import AGENTS, Agent
from loopback import ModelServer
from person import Person
from tasks import CALCULATIONS, Past, mended

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


@contextmanager
def _person(programs: Path, models: ModelServer) -> Iterator[Person]:
    # Codex refuses to put its helpers into a home below the system's folder for temporary files.
    person = Person(Path(tempfile.mkdtemp(prefix="home-", dir=BUILD)), programs, models)
    try:
        yield person
    finally:
        person.leave()


@pytest.fixture
def person(programs: Path, models: ModelServer) -> Iterator[Person]:
    with _person(programs, models) as person:
        yield person


@pytest.fixture(scope="module", params=AGENTS, ids=lambda agent: agent.name)
def past(request: pytest.FixtureRequest, programs: Path, models: ModelServer) -> Iterator[Past]:
    """Two sessions of one client on tasks that are alike, what was learned from them, and a third session."""
    with _person(programs, models) as person:
        agent: Agent = request.param
        person.install(agent)
        add, multiply = (mended(person, agent, calculation) for calculation in CALCULATIONS[:2])
        learned = person.prowess("evolve")["changes"]
        yield Past(person, agent, add, multiply, learned, mended(person, agent, CALCULATIONS[2]))
