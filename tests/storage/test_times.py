"""Times as others tell them."""

from __future__ import annotations

import pytest

from prowess.storage.models import parse_time


@pytest.mark.parametrize(
    "told", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-29T12:00:00", "soon", ""]
)
def test_what_is_no_moment_is_a_value_error(told: str) -> None:
    with pytest.raises(ValueError, match=r"time|isoformat"):
        parse_time(told)
