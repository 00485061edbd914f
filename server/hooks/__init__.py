"""What clients run at their own events: ``python -I -S <folder>/hooks/__main__.py CLIENT EVENT``, or ``prowess hook``.

Standard library only. A hook reads the client's JSON, writes what is worth keeping into the spool, pokes the hub, and
at a prompt, at a session's start and where a command failed asks it for context. It is bounded in time and always exits
with 0.
docs/hooks.md tells the whole.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """``prowess hook CLIENT EVENT [--store DIR]`` on the process's own stdin and stdout. Returns 0 whatever happens."""
    # Installers import this package for ``events`` alone.
    from prowess.server.hooks.command import run

    return run(arguments)
