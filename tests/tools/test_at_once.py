"""Two things at once: both results, or the error of one as it is."""

from __future__ import annotations

import anyio
import pytest

from prowess.tools.together import at_once

pytestmark = pytest.mark.anyio

SECONDS = 60.0  # a busy machine, and then some


async def test_both_go_on_at_the_same_time() -> None:
    met = anyio.Event()

    async def waits() -> str:
        await met.wait()
        return "met"

    async def comes() -> int:
        met.set()
        return 7

    with anyio.fail_after(SECONDS):
        assert await at_once(waits, comes) == ("met", 7)
        met = anyio.Event()
        assert await at_once(comes, waits) == (7, "met")


@pytest.mark.parametrize("first", [True, False])
async def test_an_error_comes_out_as_it_is_and_ends_the_other(first: bool) -> None:
    begun, ended = anyio.Event(), list[str]()

    async def for_ever() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("other")

    async def fails() -> None:
        await begun.wait()
        raise LookupError("gone")

    with anyio.fail_after(SECONDS), pytest.raises(LookupError, match="gone"):
        await (at_once(fails, for_ever) if first else at_once(for_ever, fails))
    assert ended == ["other"]
