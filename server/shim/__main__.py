"""``python -I -S /path/to/shim/__main__.py`` (what installers write) or ``python -I -m prowess.server.shim``."""

# pathlib takes longer to import than all of this package
# ruff: noqa: PTH100, PTH120

from __future__ import annotations

import os
import sys
from _signal import SIG_DFL, SIGINT, default_int_handler, getsignal  # type: ignore[import-not-found]
from _signal import signal as set_signal

if getsignal(SIGINT) is default_int_handler:
    set_signal(SIGINT, SIG_DFL)  # until ``relay`` answers it: a client that ends us early gets no traceback

if __package__:
    from . import main
else:
    # Started by path, without site-packages: this folder's own name is then the package's. The entry is appended, so
    # that nothing of the standard library is hidden by a neighbour.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from shim import main  # type: ignore[import-not-found, no-redef]

sys.exit(main(sys.argv[1:]))
