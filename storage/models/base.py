"""What every value is, and who reported it."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["ActorKind", "Origin", "Trust", "Value"]

ActorKind = Literal["person", "agent", "machine"]
Trust = Literal["own", "trusted", "untrusted"]


class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of every value of this package: immutable, compared by content.

    Trees of them have no cycles, so they are left out of the search for such: one over 100,000 steps stops the program
    for a tenth of a second.
    """


class Origin(Value, frozen=True, kw_only=True):
    """Who reported or decided an event.

    ``machine`` is a random id of the installation, ``client`` the MCP client's own name, ``actor`` whether a person, an
    agent or the program itself decided, ``trust`` how far its text may be relied on.
    """

    machine: str = ""
    client: str = ""
    session: str = ""
    actor: ActorKind = "agent"
    trust: Trust = "own"
