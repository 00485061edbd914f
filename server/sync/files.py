"""Banks of memory skills and controllers: the files that an event of the journal names by their hash.

They lie beside the segments, are there before the event that names them, and are checked by their hash on arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec
import zstandard

from prowess.server.memskill_files import MOST_BYTES, adopt_files, read_files
from prowess.server.sync.database import Database
from prowess.server.sync.errors import RemoteGarbage
from prowess.server.sync.hrana import Statement
from prowess.storage.errors import StoreDamaged

__all__ = ["Files", "named_in"]

ADOPTED = "controller.adopted"
_KNOWN = "SELECT 1 FROM prowess_files WHERE kind = ? AND key = ?"
_ADD = "INSERT INTO prowess_files (kind, key, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_FETCH = "SELECT data FROM prowess_files WHERE kind = ? AND key = ?"
_files = msgspec.msgpack.Decoder(dict[str, bytes])


def named_in(name: str, data: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Kind and hash of the files that an event of type ``name`` needs."""
    if name != ADOPTED or data is None:
        return []
    wanted = [("banks", data.get("bank", "")), ("controllers", data.get("weights", ""))]
    return [(kind, key) for kind, key in wanted if key]


class Files:
    """What lies in ``home`` and at the remote ``database``."""

    def __init__(self, home: Path, database: Database) -> None:
        self._home = home
        self._database = database

    async def send(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Put those at the remote that it does not have; what is gone here is gone for others too."""
        for kind, key in dict.fromkeys(wanted):
            [known] = await self._database.batch([Statement(_KNOWN, (kind, key))], write=False)
            if known:
                continue
            try:
                files = await anyio.to_thread.run_sync(read_files, self._home, kind, key)
            except StoreDamaged:
                continue
            data = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(files))
            await self._database.batch([Statement(_ADD, (kind, key, data))])

    async def fetch(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Get those that are not here. Raises RemoteGarbage for files that are not what their hash says."""
        for kind, key in dict.fromkeys(wanted):
            try:
                await anyio.to_thread.run_sync(read_files, self._home, kind, key)
            except StoreDamaged:
                await self._fetch(kind, key)

    async def _fetch(self, kind: str, key: str) -> None:
        [rows] = await self._database.batch([Statement(_FETCH, (kind, key))], write=False)
        if not rows or not rows[0] or not isinstance(rows[0][0], bytes):
            return  # nobody has it; until somebody does, the rules without it choose
        try:
            found = _files.decode(_unpacked(rows[0][0]))
            await anyio.to_thread.run_sync(adopt_files, self._home, kind, key, found)
        except (zstandard.ZstdError, msgspec.MsgspecError, StoreDamaged) as error:
            raise RemoteGarbage(f"the remote's files of {kind} {key[:12]} are not what they should be") from error


def _unpacked(data: bytes) -> bytes:
    # The size that a frame names is what is allocated for it, whatever limit is given.
    if not 0 <= zstandard.frame_content_size(data) <= 2 * MOST_BYTES:
        raise StoreDamaged("they have no size, or too much of one", hint="they are asked for again later")
    return zstandard.ZstdDecompressor().decompress(data)
