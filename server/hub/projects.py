"""Which project a client works in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from prowess.server.hub.connections import ProjectOf
from prowess.server.hub.hello import Hello
from prowess.server.project import project_of as derived

__all__ = ["project_by"]

SECONDS = 2.0  # a folder on a disk that hangs must not hold up the client's handshake


def project_by(configured: Callable[[], str]) -> ProjectOf:
    """What the client was told to use, else what the settings say (``configured``), else what its folder says."""

    async def project_of(hello: Hello) -> str:
        def find() -> str:
            return derived(Path(hello.cwd), hello.project.strip() or configured())

        with anyio.move_on_after(SECONDS):
            return await anyio.to_thread.run_sync(find, abandon_on_cancel=True)
        return hello.project

    return project_of
