"""The ``prowess`` command. ``serve`` is dispatched before anything of the command line is imported.

Agents start the server; what they wait for is its own imports and no others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["serve"] and not {"--help", "-h"}.intersection(words):
        if "--in-process" not in words:
            sys.stderr.write("prowess: no shared hub in this version, so the store is opened in this process\n")
        from prowess.server.serve import main as serve

        return serve(words[1:])
    from prowess.server.cli.main import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
