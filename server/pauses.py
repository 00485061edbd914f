"""Short pauses for an event loop on which all calls of a server run."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio.to_thread

from prowess.storage.errors import StoreError

if TYPE_CHECKING:
    from prowess.server.opening import Opening

__all__ = ["keep_pauses_short"]

SWITCH_SECONDS = 0.001  # what the event loop waits for each busy thread, five times less than usual


async def keep_pauses_short(opening: Opening) -> None:
    """Nothing that was loaded for good is looked through for garbage again: that takes longer than a call."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    with suppress(StoreError):
        await opening.opened()
        from prowess.learning.redaction.masking import ready

        await anyio.to_thread.run_sync(ready)
        gc.freeze()
