"""Which project a client works in."""

from __future__ import annotations

from prowess.server.hub.hello import Hello

__all__ = ["project_of"]


async def project_of(hello: Hello) -> str:
    """The project that the client was told to use; "" leaves it to the hub's own setting."""
    return hello.project
