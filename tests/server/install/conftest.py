"""A home folder and a project of their own, and ``prowess`` on them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from clikit import run
from installkit import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    home, project, data = (tmp_path / name for name in ("home dir", "project", "data"))
    for folder in (home, project):
        folder.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "PROWESS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(project)
    return Machine(home, project, data / "prowess", lambda *words: run(capsys, *words))
