"""A command line in this process, with a store and a home folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from clikit import Command, Ended, run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder, with no setting of the machine in the way."""
    for name in (
        "PROWESS_HOME",
        "REDB_PATH",
        "PROWESS_PROJECT",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PROWESS_EMBEDDER", "none")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def prowess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``prowess WORDS… --store STORE``."""

    def prowess(*words: object) -> Ended:
        return run(capsys, *words, "--store", tmp_path / "store")

    return prowess
