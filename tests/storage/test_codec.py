from __future__ import annotations

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from prowess.storage.errors import StoreDamaged, StoreNewer
from prowess.storage.events import EpisodeClosed
from prowess.storage.log import codec
from prowess.storage.log.codec import GENESIS, Head
from prowess.storage.models import NewStep, Origin

ORIGIN = codec.pack(Origin(client="c"))


def _two() -> tuple[Head, bytes, bytes]:
    import msgspec

    origin = msgspec.Raw(ORIGIN)
    events = [codec.encode_event(EpisodeClosed(episode_id=name, at="t")) for name in ("a", "b")]
    head, first = codec.encode_envelope(Head(0, GENESIS), events[0], "t1", origin)
    _, second = codec.encode_envelope(head, events[1], "t2", origin)
    return head, first, second


def test_an_event_is_read_as_it_was_written() -> None:
    _, first, _ = _two()
    read = codec.decode_envelope(1, first)
    assert (read.seq, read.type, read.version, read.at) == (1, "episode.closed", 1, "t1")
    assert read.origin == Origin(client="c")
    assert read.data == {"episode_id": "a", "at": "t"}


def test_each_digest_follows_from_the_one_before() -> None:
    head, first, second = _two()
    assert codec.verify(GENESIS, 1, first).digest == head.digest
    codec.verify(head.digest, 2, second)
    with pytest.raises(StoreDamaged, match="event 2 of the log was altered"):
        codec.verify(GENESIS, 2, second)


def test_an_erased_event_keeps_its_digest_so_the_next_one_still_follows() -> None:
    _, first, second = _two()
    erased = codec.erase_envelope(codec.decode_envelope(1, first))
    read = codec.verify(GENESIS, 1, erased)
    assert read.data is None
    assert codec.verify(read.digest, 2, second).seq == 2


def test_an_event_under_another_number_is_damage() -> None:
    _, first, _ = _two()
    with pytest.raises(StoreDamaged, match="says it is 1"):
        codec.decode_envelope(2, first)


@given(st.binary(max_size=200))
def test_garbage_is_damage_and_nothing_else(raw: bytes) -> None:
    with pytest.raises(StoreDamaged):
        codec.decode_envelope(1, raw)


@given(st.integers(0, 60), st.integers(0, 255))
def test_a_damaged_step_is_read_or_is_damage_and_nothing_else(place: int, byte: int) -> None:
    whole = codec.encode_step(NewStep(action="run é", tool="t", args={"x": 1}), "t1", b"x" * 16)
    content = bytearray(zstandard.ZstdDecompressor().decompress(whole))
    content[place] = byte
    try:
        codec.decode_step(zstandard.ZstdCompressor().compress(bytes(content)), "e", 3)
    except (StoreDamaged, StoreNewer):
        return


def test_a_step_is_read_as_it_was_written() -> None:
    new = NewStep(action="a", number=3, tool="t", args={"x": [1, None]}, observation="o", outcome="success")
    step = codec.decode_step(codec.encode_step(new, "t1", b""), "e", 3)
    assert step is not None
    assert (step.episode_id, step.number, step.numbered, step.at) == ("e", 3, True, "t1")
    assert (step.action, step.tool, step.args, step.observation) == ("a", "t", {"x": [1, None]}, "o")


def test_sameness_ignores_time_number_and_the_order_of_arguments() -> None:
    one = NewStep(action="a", number=1, at="x", args={"a": 1, "b": 2}, external_id="i")
    other = NewStep(action="a", args={"b": 2, "a": 1})
    assert codec.sameness(one) == codec.sameness(other)
    assert codec.sameness(other) != codec.sameness(NewStep(action="b", args={"b": 2, "a": 1}))


def test_a_trimmed_step_is_gone_and_still_recognised() -> None:
    new = NewStep(action="a", observation="secret")
    trimmed = codec.trim_step(codec.encode_step(new, "t", codec.sameness(new)))
    assert codec.decode_step(trimmed, "e", 1) is None
    assert codec.same_step(trimmed, codec.sameness(new))


def test_a_step_of_a_later_format_says_so() -> None:
    raw = zstandard.ZstdCompressor().compress(codec.pack((2, b"", None)))
    with pytest.raises(StoreNewer, match="format 2"):
        codec.decode_step(raw, "e", 1)
