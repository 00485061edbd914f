"""Which project a client works in."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread

from prowess.server.hub.hello import Hello
from prowess.server.project import project_of as derived

__all__ = ["project_of"]

SECONDS = 2.0  # a folder on a disk that hangs must not hold up the client's handshake


async def project_of(hello: Hello) -> str:
    """What the client was told to use, else what its folder says, else ""."""
    with anyio.move_on_after(SECONDS):
        return await anyio.to_thread.run_sync(derived, Path(hello.cwd), hello.project, abandon_on_cancel=True)
    return hello.project
