"""What time it is as far as it may be believed, for what cannot be taken back.

A clock may be years ahead or behind when a machine starts, until somebody or the network puts it right. So one reading
that leaps away from the last one proves nothing: it counts once the clock has gone on from there for a day. Before the
first reading the newest event stands for it.
"""

from __future__ import annotations

from prowess.storage.log.batch import Batch
from prowess.storage.log.codec import decode_envelope
from prowess.storage.log.file import read_meta, write_meta
from prowess.storage.log.tables import JOURNAL
from prowess.storage.models import parse_time

__all__ = ["DAY_MS", "believed", "touched_now"]

DAY_MS = 24 * 3600 * 1000
_META = "clock"


def believed(batch: Batch) -> int:
    """Unix milliseconds of now; of the reading before where the clock is more than a day away from that, for a day."""
    now = batch.now_ms
    last, leapt = read_meta(batch, _META) or (_newest(batch, now), None)
    if leapt is None or now < leapt or (now > last) != (leapt > last):
        leapt = now  # it begins to be away, or is elsewhere
    if abs(now - last) <= DAY_MS or now - leapt >= DAY_MS:
        last, leapt = now, None
    write_meta(batch, _META, (last, leapt))
    return int(last)


def touched_now(batch: Batch) -> int:
    """Since when what is recorded now is kept: not from before the last reading, though the clock is behind it."""
    known = read_meta(batch, _META)
    return batch.now_ms if known is None else max(batch.now_ms, int(known[0]))


def _newest(batch: Batch, now: int) -> int:
    """When the newest event was recorded; ``now`` where there is none."""
    found = batch.table(JOURNAL).last()
    return now if found is None else int(parse_time(decode_envelope(*found).at).timestamp() * 1000)
