"""The command line that measures of one shape have: a part of the data is measured, shown as a table and written."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["command"]


def command(about: str | None, run: Callable[..., dict[str, Any]], table: Callable[[dict[str, Any]], str]) -> None:
    """Parse the arguments, call ``run(data, part=..., cache=...)`` and print ``table`` of what it returns."""
    options = argparse.ArgumentParser(description=about)
    options.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    options.add_argument("--part", choices=("build", "report"), default="report")
    options.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    options.add_argument("--json", type=Path, help="where the result is written")
    given = options.parse_args()
    if not given.data.is_dir():
        options.error(f"there is no folder {given.data}")
    result = run(given.data, part=given.part, cache=given.cache)
    print(table(result))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
