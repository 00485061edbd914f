"""``python -I -S /path/to/hooks/__main__.py CLIENT EVENT`` (what installers write)."""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH100, PTH120

from __future__ import annotations

import gc
import os
import sys

if not __package__:
    gc.disable()  # it would look through what was imported again and again, and this process is gone in a moment
    # Without site-packages ``prowess`` is where this file lies, whether it was installed or is a source tree.
    _root = type(sys)("prowess")
    _root.__path__ = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]
    sys.modules["prowess"] = _root

from prowess.server.hooks.command import run

run(sys.argv[1:])
# Nothing is left to do, and taking the interpreter down in order takes milliseconds.
os._exit(0)
