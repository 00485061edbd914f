"""A project that there is not is told by every command that may be given one."""

from __future__ import annotations

from pathlib import Path

import pytest
from clikit import Command

COMMANDS = [
    ("find", "return the kettle"),
    ("episodes", "list"),
    ("memories", "list"),
    ("skills", "list"),
    ("skills", "export", "{}/skills"),
    ("skills", "export", "--to", "{}/agent"),
    ("forget", "--yes"),
    ("reflect",),
    ("evolve",),
    ("evolve", "prune"),
]


def _told(prowess: Command, words: tuple[str, ...], project: str, tmp_path: Path) -> str:
    ended = prowess(*(word.format(tmp_path) for word in words), "--project", project)
    assert ended.code == 0, ended.err
    return ended.err


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_is_told(prowess: Command, filled: str, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "no project is named 'shopp'; there is shop\n" in _told(prowess, words, "shopp", tmp_path)
    assert "no project is named" not in _told(prowess, words, "shop", tmp_path)


def test_it_is_told_by_a_hub_that_runs(prowess: Command, filled: str, tmp_path: Path) -> None:
    assert prowess("hub", "start").code == 0
    try:
        for words in COMMANDS:
            assert "no project is named 'shopp'; there is shop\n" in _told(prowess, words, "shopp", tmp_path), words
    finally:
        prowess("hub", "stop")
