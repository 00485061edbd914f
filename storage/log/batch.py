"""One write transaction as commands see it: tables, the journal's head, and remembered answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from prowess.storage.errors import InvalidInput
from prowess.storage.events import Event
from prowess.storage.log.codec import GENESIS, Head, encode_envelope, encode_event, hash_of, pack
from prowess.storage.log.tables import EXPIRY, JOURNAL, KEYS
from prowess.storage.models import Origin, Receipt, format_time

__all__ = ["Batch", "Remembered", "View", "head_of", "remembered"]

# A retry comes within seconds; a day covers a laptop that slept.
KEY_LIFE_MS = 24 * 3600 * 1000
# Expired keys removed per commit, besides twice as many as it adds: the table shrinks under any load.
SWEEP = 64
# How a request is told as bytes. One more wherever that changes, as with what makes two steps the same: a request that
# comes again after an upgrade must not be taken for another one.
FORM = 1
# What tells of what was shown, and so changes nothing that is found.
SHOWN = "exposure.made"


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a request with an idempotency key was answered; ``episode`` is the id of the episode it was about.

    ``form`` is the ``FORM`` of the program that answered, 0 for programs from before there was one.
    """

    request: bytes
    answer: msgspec.Raw
    expires: int
    episode: str = ""
    form: int = 0


remembered = msgspec.msgpack.Decoder(Remembered).decode


class View:
    """A transaction whose tables are opened once."""

    def __init__(self, transaction: Any) -> None:
        self._transaction = transaction
        self._tables: dict[str, Any] = {}

    def table(self, definition: Any) -> Any:
        table = self._tables.get(definition.name)
        if table is None:
            table = self._tables[definition.name] = self._transaction.open_table(definition)
        return table


def head_of(view: View) -> Head:
    """The journal's last event."""
    last = view.table(JOURNAL).last()
    return Head(0, GENESIS) if last is None else Head(last[0], last[1][: len(GENESIS)])


class Batch(View):
    """A view that writes. ``now`` is the moment of every event in it."""

    def __init__(self, transaction: Any, now: datetime) -> None:
        super().__init__(transaction)
        self.head = head_of(self)
        self.at = format_time(now)
        # Keys and ids have no room for what was before 1970, where a clock without a battery may start.
        self.now_ms = max(0, int(now.timestamp() * 1000))
        self.writes = 0
        self.telling = 0
        """Number of the last event in it that may change what a search finds; 0 without any."""
        self._remembered = 0

    def put(self, definition: Any, key: Any, value: bytes) -> None:
        self.writes += 1
        self.table(definition).insert(key, value)

    def put_many(self, definition: Any, rows: Sequence[tuple[Any, bytes]]) -> None:
        """Rows with different keys. Each call of a table lets go of the GIL and may have to wait to get it back."""
        self.writes += len(rows)
        if rows:
            self.table(definition).insert_many(rows)

    def remove(self, definition: Any, key: Any) -> None:
        self.writes += 1
        self.table(definition).remove(key)

    def record(self, event: Event, origin: Origin) -> int:
        """Append one event to the journal; its number."""
        return self.record_encoded([encode_event(event)], msgspec.Raw(pack(origin)))

    def record_encoded(self, events: list[tuple[str, int, msgspec.Raw]], origin: msgspec.Raw) -> int:
        """Append events that were encoded before; the head's number."""
        rows = []
        for event in events:
            self.head, value = encode_envelope(self.head, event, self.at, origin)
            rows.append((self.head.seq, value))
            if event[0] != SHOWN:
                self.telling = self.head.seq
        self.put_many(JOURNAL, rows)
        return self.head.seq

    def recall(self, operation: str, key: str, request: bytes) -> bytes | None:
        """The answer once given to ``key``; InvalidInput if that was another request and this program can tell."""
        raw = self.table(KEYS).get(hash_of(operation, key))
        if raw is None:
            return None
        found = remembered(raw)
        if found.request != request and found.form == FORM:
            raise InvalidInput(
                f"idempotency key {key[:100]!r} was used for another request", hint="use a new key for each request"
            )
        return bytes(found.answer)

    def remember(self, operation: str, key: str, request: bytes, answer: Receipt) -> None:
        """Keep ``answer`` for repetitions of the request, for a day."""
        expires = self.now_ms + KEY_LIFE_MS
        episode = getattr(answer, "episode_id", "")
        raw = msgspec.Raw(pack(answer))
        value = Remembered(request=request, answer=raw, expires=expires, episode=episode, form=FORM)
        name = hash_of(operation, key)
        self.put(KEYS, name, pack(value))
        self.put(EXPIRY, (expires, name), b"")
        self._remembered += 1

    def sweep(self) -> None:
        """Drop some keys that have expired."""
        rows = self.table(EXPIRY).range(None, (self.now_ms, b""))
        for (expires, name), _ in list(islice(rows, SWEEP + 2 * self._remembered)):
            self.remove(EXPIRY, (expires, name))
            self.remove(KEYS, name)
