"""Prowess in the configuration of the clients that people use: put in, looked for, taken out.

``targets`` tells which files a client has and what they shall hold (``wants``); ``installing`` and ``removing`` plan
every edit; ``carry_out`` writes all of them or none; ``installed`` looks what is there.
"""

from __future__ import annotations

from prowess.server.install.clients import CLIENTS, Client, Scope, Surroundings, is_there, mcp_entry, targets
from prowess.server.install.errors import Refused
from prowess.server.install.plan import Change, installing, removing
from prowess.server.install.records import Records
from prowess.server.install.state import Installed, installed, mending, store_of
from prowess.server.install.writing import carry_out

__all__ = [
    "CLIENTS",
    "Change",
    "Client",
    "Installed",
    "Records",
    "Refused",
    "Scope",
    "Surroundings",
    "carry_out",
    "installed",
    "installing",
    "is_there",
    "mcp_entry",
    "mending",
    "removing",
    "store_of",
    "targets",
]
