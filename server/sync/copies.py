"""Where a copy of a store and the store that it was copied from went different ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from msgspec.structs import replace

from prowess.server.sync.address import BadAddress, read_address
from prowess.server.sync.database import open_database
from prowess.server.sync.known import is_known
from prowess.server.sync.outgoing import entries
from prowess.server.sync.remote import Remote
from prowess.server.sync.segment import Shared, decode_segment
from prowess.storage.errors import InvalidInput
from prowess.storage.log.erasure import without_examples
from prowess.storage.log.private import Private

if TYPE_CHECKING:
    from prowess.server.settings import Settings
    from prowess.storage.store import Store

__all__ = ["first_difference"]


async def first_difference(store: Store, settings: Settings) -> int:
    """The first event of the newest epoch that is another one at the remote, or that the remote does not have.

    0 where the remote has nothing of this log. Raises RemoteError and InvalidInput.
    """
    try:
        address = read_address(settings.turso_url, plain_http=settings.sync_plain_http)
    except BadAddress as error:
        raise InvalidInput(f"turso_url: {error}", hint="see docs/sync.md") from error
    made = await anyio.to_thread.run_sync(is_known, settings.home, address)
    async with open_database(address, settings.turso_token, made=made) as database:
        return await _first_difference(store, await Remote.open(database))


async def _first_difference(store: Store, remote: Remote) -> int:
    journal = await store.journal(0, 0)
    epoch, first = journal.epochs[-1]
    same = first - 1
    async for segment in remote.segments_of(journal.log, epoch):
        for theirs in decode_segment(segment.data):
            if not await _is_here(store, theirs):
                return same + 1
            same = theirs.seq
    return same + 1 if same >= first else 0


async def _is_here(store: Store, theirs: Shared) -> bool:
    journal = await store.journal(theirs.seq - 1, 1)
    # What was marked as private later is there all the same.
    entry = next(entries(replace(journal, private=Private()), 0), None)
    mine = None if entry is None else entry.shared
    if mine is None:
        return False
    if (mine.type, mine.at, mine.origin) != (theirs.type, theirs.at, theirs.origin):
        return False
    return mine.data is None or theirs.data is None or _bare(mine.data) == _bare(theirs.data)


def _bare(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """``data`` without what may have gone since: the skills that a query was answered with, of which the private ones
    stayed home, and the values that a skill was seen with.
    """
    if "skill" in data:
        return without_examples(dict(data))
    if "exposure" not in data:
        return data
    return {**data, "exposure": {**data["exposure"], "skills": ()}}
