"""The stdio process that an agent launches: it carries lines to the shared hub and starts one where none answers.

Standard library only, and little of it: an agent waits for this process to start. The package also runs without
site-packages, under the name ``shim`` (see ``__main__``), so its modules import each other relatively and nothing else
of Prowess.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """``prowess serve`` with its options: relay until the client leaves. Returns the exit code."""
    # The hub imports this package for ``places`` alone and must not pay for the rest.
    from .command import run

    return run(arguments)
