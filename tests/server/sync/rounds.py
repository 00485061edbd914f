"""Rounds of synchronisation for the machines of the tests."""

from __future__ import annotations

from typing import Any

import msgspec

from prowess.learning.redaction.masking import mask_fields, mask_many
from prowess.server.sync.address import read_address
from prowess.server.sync.cycle import LostSince, Progress, Round, Sharing
from prowess.server.sync.database import open_database
from prowess.server.sync.files import Files
from prowess.server.sync.remote import Remote
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.store import Store

__all__ = ["sync", "unheard"]


async def unheard(_progress: Progress) -> None:
    """Progress that nobody listens to."""


async def sync(
    store: Store,
    url: str,
    token: str = "",
    *,
    owners_seconds: float = 0.0,
    lost_since: LostSince | None = None,
    **sharing: Any,
) -> Progress:
    """One round between ``store`` and the remote at ``url``, over a connection of its own."""
    chosen = msgspec.convert({"machine": "m", "person": "anna", **sharing}, Sharing)
    async with open_database(read_address(url), token) as database:
        files, cleaner = Files(store.folder, database), Cleaner(mask_many, mask_fields)
        remote, waits = await Remote.open(database), {"owners_seconds": owners_seconds, "lost_since": lost_since}
        work = Round(store, remote, files, chosen, cleaner, unheard, **waits)  # type: ignore[arg-type]
        await work.run()
    return work.progress
