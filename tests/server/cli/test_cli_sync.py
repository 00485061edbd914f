"""``prowess sync`` and what other commands tell of it."""

from __future__ import annotations

import pytest
from clikit import Command

from prowess.server.cli.exits import Exit
from prowess.server.cli.sync import share


@pytest.mark.parametrize(
    ("done", "whole", "told"),
    [
        (0, 0, "0 of 0 (100 %)"),
        (0, 500_000, "0 of 500,000 (0 %)"),
        (499_999, 500_000, "499,999 of 500,000 (99 %)"),
        (7, 7, "7 of 7 (100 %)"),
        (9, 7, "9 of 7 (100 %)"),
    ],
)
def test_how_far_it_is(done: int, whole: int, told: str) -> None:
    assert share(done, whole) == told


def test_without_a_hub_nothing_is_synchronised(prowess: Command) -> None:
    told = prowess("sync", "status")
    assert told.code == Exit.NOT_FOUND
    assert "nothing is synchronised" in told.err
