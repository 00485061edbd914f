"""``python -I -m prowess.server.hub --home HOME``: what a shim starts."""

from __future__ import annotations

import logging
import os
import sys

from prowess.server.hub.process import main

if __name__ == "__main__":
    code = main(sys.argv[1:])
    # All is closed by now. Taking the interpreter down in order would keep the next hub waiting for the lock.
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)
