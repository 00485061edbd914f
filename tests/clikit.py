"""What the tests of the commands share: a command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from prowess.server.entry import main

__all__ = ["Command", "Ended", "run"]


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ended]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Ended:
    """``prowess WORDS…``"""
    code = main([*map(str, words)])
    written = capsys.readouterr()
    return Ended(code, written.out, written.err)
