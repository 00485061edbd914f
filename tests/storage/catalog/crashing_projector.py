"""Applies events until it is killed, and prints each cursor it has reached: ``crashing_projector.py PATH``."""

from __future__ import annotations

import sys
from pathlib import Path

from catalogkit import cursor, envelopes, opened, saved, scored, step, used

from prowess.storage.catalog import Catalog

BATCH = 6


def batch(number: int) -> list[object]:
    """The events of one batch: always the same for the same number."""
    key = f"e{number}"
    return [opened(key), step(1, key), step(2, key), scored(f"r{number}", 3.0, key), saved(), used(f"u{number}", True)]


def main(path: Path) -> None:
    catalog = Catalog(path)
    present = catalog.cursor()
    number = present.seq // BATCH if present else 0
    while True:
        catalog.apply(envelopes(batch(number), first=number * BATCH + 1), cursor((number + 1) * BATCH))  # type: ignore[arg-type]
        number += 1
        print(number * BATCH, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
