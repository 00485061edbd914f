"""The trainer's tests need torch, which the environment of the other tests must not have: it is gigabytes.

`make test` runs this folder in an environment of its own. Where torch is missing, the one test that says so is skipped.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.append(str(TESTS / "providers"))  # the loopback server that speaks the Messages API
sys.path.append(str(TESTS / "server"))  # hubs in this process

if importlib.util.find_spec("torch") is None:
    collect_ignore = [
        path.name for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_training_environment.py"
    ]
