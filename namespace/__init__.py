"""Prowess: a memory for coding agents. ``prowess.Memory`` is the Python interface; everything else is the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.version import __version__

if TYPE_CHECKING:
    from prowess.server.memory import Memory

__all__ = ["Memory", "__version__"]


def __getattr__(name: str) -> Any:
    # The shim and the hooks import this package too, and must not pay for the store.
    if name == "Memory":
        from prowess.server.memory import Memory

        return Memory
    raise AttributeError(f"module 'prowess' has no attribute {name!r}")
