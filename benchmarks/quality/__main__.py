"""All measures of quality in one command: a table of each part, and one JSON file.

    python benchmarks/quality --data DATA [--json FILE] [--only retrieval memory ...] [--quick]

DATA is the folder of the data sets. Each part is a script of this folder with ``run(data)``, which measures what is
reported, and can be run on its own with more options. A part that fails is named at the end, and the others go on.
``--quick`` repeats less, to see that all of it runs: its figures are no results.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

PARTS = ("skills", "alone", "retrieval", "memory", "patterns", "rewards", "lift", "redaction")
QUICK: dict[str, dict[str, int]] = {"patterns": {"worlds": 1, "shuffles": 2}, "skills": {"seeds": 0}}


def measured(name: str, data: Path, *, quick: bool = False) -> dict[str, Any]:
    """Run one part and print its table."""
    part = import_module(name)
    fewer = QUICK.get(name, {}) if quick else {}
    if part.run.__module__ != name:
        return _of_script(name, data, fewer)
    result: dict[str, Any] = part.run(data, **fewer)
    print("\n".join(_lines(part, result)), flush=True)
    return result


def _of_script(name: str, data: Path, options: dict[str, int]) -> dict[str, Any]:
    """A part with an event loop of its own: it prints its tables itself, and its last line is JSON."""
    script = Path(__file__).with_name(f"{name}.py")
    command = [sys.executable, "-I", str(script), "--data", str(data)]
    command += [word for key, value in options.items() for word in (f"--{key}", str(value))]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            print(line, end="", flush=True)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _lines(part: Any, result: dict[str, Any]) -> Iterable[str]:
    """The part's own table, else the plain numbers."""
    if not hasattr(part, "table"):
        return [json.dumps(result, indent=1)]
    shown = part.table(result)
    return [shown] if isinstance(shown, str) else shown


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    options.add_argument("--json", type=Path, help="where all results are written")
    options.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options.add_argument("--quick", action="store_true", help="repeat less, to see that it runs")
    given = options.parse_args()
    if not given.data.is_dir():
        options.error(f"there is no folder {given.data}")
    results: dict[str, Any] = {}
    failed = []
    for name in given.only:
        print(f"\n# {name}\n", flush=True)
        began = time.perf_counter()
        try:
            results[name] = measured(name, given.data, quick=given.quick)
        except Exception:  # one part must not take the others with it
            traceback.print_exc()
            failed.append(name)
        print(f"\n{time.perf_counter() - began:.0f} s", flush=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
