"""Rounds of synchronisation for the machines of the tests."""

from __future__ import annotations

from typing import Any

import msgspec

from prowess.learning.redaction import mask_fields, mask_many
from prowess.server.sync.address import read_address
from prowess.server.sync.cycle import Progress, Round, Sharing
from prowess.server.sync.database import open_database
from prowess.server.sync.files import Files
from prowess.server.sync.remote import Remote
from prowess.storage.log.cleaning import Cleaner
from prowess.storage.store import Store

__all__ = ["sync", "unheard"]


async def unheard(_progress: Progress) -> None:
    """Progress that nobody listens to."""


async def sync(store: Store, url: str, token: str = "", *, owners_seconds: float = 0.0, **sharing: Any) -> Progress:
    """One round between ``store`` and the remote at ``url``."""
    chosen = msgspec.convert({"machine": "m", "person": "anna", **sharing}, Sharing)
    async with open_database(read_address(url), token) as database:
        files, cleaner = Files(store.folder, database), Cleaner(mask_many, mask_fields)
        work = Round(store, await Remote.open(database), files, chosen, cleaner, unheard, owners_seconds=owners_seconds)
        await work.run()
    return work.progress
