"""The process that owns one store: every agent's shim, and the command line, talk to it over a Unix socket.

``process`` is its life (lock, log, socket, leaving), ``connections`` serves clients, ``control`` answers the command
line, ``client`` is the command line's side. docs/hub.md tells the whole.
"""

from __future__ import annotations

__all__: list[str] = []
