"""Why the remote could not be worked with. Each error's ``state`` is what `prowess sync status` shows.

RemoteError
├── RemoteAway      not reached, too slow, or broken off: it is tried again
│   └── RemoteBusy  others write just now, and did so for a while
├── RemoteRefused   the token is missing, wrong, expired or may not write
├── RemoteGarbage   the answer is none that such a server gives
├── RemoteNewer     a later version of Prowess has changed what is there
├── RemoteFailed    the database says no to a statement
└── Diverged        another copy of this store has been synchronised under its name
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prowess.storage.errors import StoreError

__all__ = [
    "Diverged",
    "RemoteAway",
    "RemoteBusy",
    "RemoteError",
    "RemoteFailed",
    "RemoteGarbage",
    "RemoteNewer",
    "RemoteRefused",
    "understood",
]


class RemoteError(StoreError):
    """Base of the errors here. Their texts hold neither the token nor anything that the remote said at length."""

    state = "failed"


class RemoteAway(RemoteError):
    """``after``: for how many seconds the remote asked to be left alone."""

    state = "away"
    after = 0.0
    usual_hint = "it is tried again by itself"


class RemoteBusy(RemoteAway):
    """Another machine wrote at that moment; nothing was done."""


class RemoteRefused(RemoteError):
    state = "refused"


class RemoteGarbage(RemoteError):
    state = "garbage"
    usual_hint = "see that turso_url names a database of its own, which nothing but prowess writes into"


class RemoteNewer(RemoteError):
    state = "newer"


class RemoteFailed(RemoteError):
    usual_hint = "it is tried again by itself; `prowess doctor` asks the remote anew"


class Diverged(RemoteError):
    state = "diverged"


@contextmanager
def understood(what: str) -> Iterator[None]:
    """RemoteGarbage where ``what`` has another shape than the block takes from it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise RemoteGarbage(f"{what} make no sense", hint="see that the URL names a database") from error
