"""What is read from the log besides the writer: the journal in batches, and raw steps."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, islice

from prowess.storage.errors import StoreDamaged, UnknownEpisode
from prowess.storage.events import Envelope
from prowess.storage.ids import id_bytes, id_text
from prowess.storage.log import state
from prowess.storage.log.codec import GENESIS, Head, decode_step, hash_of, verify
from prowess.storage.log.erasure import WIDEST
from prowess.storage.log.file import LogFile
from prowess.storage.log.tables import JOURNAL, KEYS, STEPS
from prowess.storage.models import Step, Where

__all__ = ["follows", "read_journal", "read_later_steps", "read_steps", "was_answered"]

# Steps at once of an episode that somebody follows: of the largest, with 2 MB in a text, a hundred megabytes.
LATER = 50


def read_journal(file: LogFile, after: Head, limit: int) -> list[Envelope]:
    """Up to ``limit`` events after ``after``, each verified to follow the one before."""
    with file.read() as view:
        rows = view.table(JOURNAL).range(after.seq + 1, None)
        found = list(islice(rows, limit))
    envelopes: list[Envelope] = []
    seq, digest = after
    for number, raw in found:
        if number != seq + 1:
            raise StoreDamaged(f"event {seq + 1} is missing in the log", hint="restore a backup: prowess restore")
        envelopes.append(verify(digest, number, raw))
        seq, digest = number, envelopes[-1].digest
    return envelopes


def follows(file: LogFile, seq: int, digest: bytes) -> bool:
    """Whether the journal's event ``seq`` has this digest: then whoever stopped there may go on."""
    if seq == 0:
        return True
    with file.read() as view:
        raw = view.table(JOURNAL).get(seq)
    return raw is not None and raw[: len(GENESIS)] == digest


def read_steps(file: LogFile, episode_id: str) -> tuple[Step, ...]:
    """The raw steps that are still there, by number. UnknownEpisode if the log has no such episode."""
    with file.read() as view:
        key = _key(episode_id)
        if key is None or state.load(view, key) is None:
            raise UnknownEpisode(f"no episode has id {episode_id[:100]!r}", hint="list ids with: prowess episodes list")
        rows = list(view.table(STEPS).range((key, 0), (key, WIDEST), include_end=True))
    steps = (decode_step(raw, episode_id, number) for (_, number), raw in rows)
    return tuple(step for step in steps if step is not None)


def read_later_steps(
    file: LogFile, where: Where, known: str, number: int, again: Collection[int]
) -> tuple[str, tuple[Step, ...]] | None:
    """The newest attempt of exactly this project, session and task, and the next of its raw steps that can be read.

    Of the episode ``known`` only those after ``number``, ``LATER`` at most, and those whose numbers are in ``again``.
    None without any. Whoever follows an episode goes on after a step that is damaged, as after one that retention
    dropped.
    """
    with file.read() as view:
        key = state.newest(view, where)
        if key is None or state.load(view, key) is None:
            return None
        episode_id = id_text(key)
        table = view.table(STEPS)
        first, picked = (number + 1, sorted(again)) if episode_id == known else (0, [])
        changed = [((key, one), raw) for one in picked if (raw := table.get((key, one))) is not None]
        rows = chain(changed, table.range((key, first), (key, WIDEST), include_end=True))
        steps = (_readable(raw, episode_id, each) for (_, each), raw in rows)
        readable = (step for step in steps if step is not None)
        return episode_id, tuple(islice(readable, len(changed) + LATER))


def _readable(raw: bytes, episode_id: str, number: int) -> Step | None:
    try:
        return decode_step(raw, episode_id, number)
    except StoreDamaged:
        return None


def was_answered(file: LogFile, operation: str, key: str) -> bool:
    """Whether a write of this kind was committed under the idempotency key, which is remembered for a day."""
    with file.read() as view:
        return view.table(KEYS).get(hash_of(operation, key)) is not None


def _key(episode_id: str) -> bytes | None:
    try:
        return id_bytes(episode_id)
    except ValueError:
        return None
