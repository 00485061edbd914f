from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import crashing_projector
import pytest
from catalogkit import cursor, envelopes, project

from prowess.storage.catalog import Catalog

SCRIPT = Path(crashing_projector.__file__)


def run_until_killed(path: Path, batches: int) -> int:
    """The last cursor that the process told of before it was killed, while working on the next."""
    with subprocess.Popen([sys.executable, str(SCRIPT), str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            told = [process.stdout.readline() for _ in range(batches)]
        finally:
            process.kill()
        rest = process.stdout.readlines()
    complete = [line for line in (*told, *rest) if line.endswith("\n")]
    return int(complete[-1])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_process_leaves_rows_that_agree_with_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    rng = random.Random(7)
    for _ in range(6):
        told = run_until_killed(path, rng.randint(1, 60))
        catalog = Catalog(path)
        present = catalog.cursor()
        assert present is not None
        assert present.seq >= told
        assert present == cursor(present.seq)
        assert catalog.stats().steps == present.seq // crashing_projector.BATCH * 2
        dump = catalog.dump()
        catalog.close()
    events = [
        event for number in range(present.seq // crashing_projector.BATCH) for event in crashing_projector.batch(number)
    ]
    assert project(tmp_path / "whole.db", [envelopes(events)]) == dump  # type: ignore[arg-type]
