from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.storage.ids import id_bytes, id_text, new_id


@given(st.integers(0, 2**48 - 1))
def test_an_id_is_a_uuid_of_version_7_that_tells_its_millisecond(milliseconds: int) -> None:
    made = UUID(new_id(milliseconds))
    assert (made.version, made.variant) == (7, RFC_4122)
    assert made.int >> 80 == milliseconds


def test_ids_of_one_millisecond_increase() -> None:
    made = [new_id(1_000_000) for _ in range(10_000)]
    assert made == sorted(set(made))


def test_a_clock_that_jumps_back_does_not_stop_ids() -> None:
    later, earlier = new_id(2_000_000), new_id(1_500_000)
    assert earlier < later


def test_threads_never_get_the_same_id() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [name for names in pool.map(lambda _: [new_id() for _ in range(500)], range(8)) for name in names]
    assert len(set(made)) == len(made)


def test_bytes_and_text_of_an_id_lead_to_each_other() -> None:
    name = new_id()
    assert id_text(id_bytes(name)) == name
    with pytest.raises(ValueError, match="badly formed"):
        id_bytes("refund")
