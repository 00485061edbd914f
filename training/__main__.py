"""``python -I -m prowess.training --batch DIR --out DIR --settings FILE [--resume CHECKPOINT]``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def main() -> int:
    """Train; the exit code."""
    parser = argparse.ArgumentParser(prog="prowess.training", description="Train MemSkill on recorded episodes.")
    parser.add_argument("--batch", type=Path, required=True, help="folder with trajectories.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoints and the result")
    parser.add_argument("--settings", type=Path, required=True, help="JSON file; {} for the defaults")
    parser.add_argument("--resume", type=Path, help="a checkpoint in the out folder to go on from")
    given = parser.parse_args()
    try:
        from prowess.training.process import Paths, Run, watch_input
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "matplotlib"):
            raise
        message = f"training needs {error.name}, which is not installed (hint: pip install 'prowess[train]')"
        return _refused(message)
    except (ImportError, OSError, MemoryError) as error:
        return _refused(f"torch cannot be loaded: {error} (hint: raise train_mb if it is low, or install torch anew)")
    watch_input()
    return Run(Paths(given.batch, given.out, given.settings, given.resume)).main()


def _refused(message: str) -> int:
    sys.stdout.write(json.dumps({"event": "error", "message": message}) + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
