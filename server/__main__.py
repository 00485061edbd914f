"""``python -I -m prowess.server``: the same as the ``prowess`` command, for clients that name an interpreter."""

from __future__ import annotations

import sys

from prowess.server.entry import main

sys.exit(main())
