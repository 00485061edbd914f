"""``python -I -m prowess.server.sync``: started by the hub."""

from __future__ import annotations

import sys

from prowess.server.sync.process import main

if __name__ == "__main__":
    sys.exit(main())
