"""The ``prowess`` command. ``serve`` and ``hook`` are dispatched before anything of the command line is imported.

Agents start both; what they wait for is their own imports and no others.
"""

from __future__ import annotations

import os
import sys

# without what the module around it imports
from _signal import SIG_DFL, SIGINT, default_int_handler, getsignal  # type: ignore[import-not-found]
from _signal import signal as set_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # On Windows a server closes the store on Python's own answer.
    if arguments is None and sys.platform != "win32":
        _answer_interrupts(SIG_DFL)  # Ctrl-C while modules load ends the process, and shows nobody where that was
    words = list(sys.argv[1:] if arguments is None else arguments)
    words = words[1:] if words[:1] == ["--"] else words
    if words[:1] == ["serve"] and not {"--help", "-h"}.intersection(words):
        return _serve(words[1:])
    if words[:1] == ["hook"] and not {"--help", "-h"}.intersection(words):
        from prowess.server.hooks import main as run

        words = words[1:]
    else:
        from prowess.server.cli.main import run
    if arguments is None:
        _answer_interrupts(default_int_handler)
    return run(words)


def _answer_interrupts(handler: object) -> None:
    """In the way of ``handler``, unless they are ignored, as a shell has it for what runs behind it."""
    if getsignal(SIGINT) in (SIG_DFL, default_int_handler):
        set_signal(SIGINT, handler)


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
