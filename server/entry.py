"""The ``prowess`` command. ``serve`` and ``hook`` are dispatched before anything of the command line is imported.

Agents start both; what they wait for is their own imports and no others.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["serve"] and not {"--help", "-h"}.intersection(words):
        return _serve(words[1:])
    if words[:1] == ["hook"] and not {"--help", "-h"}.intersection(words):
        from prowess.server.hooks import main as hook

        return hook(words[1:])
    from prowess.server.cli.main import run

    return run(words)


def _serve(options: list[str]) -> int:
    if "--in-process" in options or os.environ.get("PROWESS_IN_PROCESS") == "1":
        from prowess.server.serve import main as serve
    elif any(option.partition("=")[0] == "--http" for option in options):
        from prowess.server.http.front import main as serve
    else:
        from prowess.server.shim import main as serve
    return serve(options)


if __name__ == "__main__":
    sys.exit(main())
