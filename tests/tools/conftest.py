"""An open store with the surroundings of a call."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from toolkit import Agent, InThisProcess, NoIndex

from prowess.learning.redaction.masking import mask_fields, mask_many
from prowess.storage.models import Origin
from prowess.storage.store import Store
from prowess.tools.context import Context

# The loopback model server stands with the providers' tests.
sys.path.append(str(Path(__file__).parents[1] / "providers"))


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    async with Store.open(tmp_path / "store", mask_many=mask_many, mask_fields=mask_fields) as store:
        origin = Origin(machine="test", client="tests", session="s")
        yield Agent(Context(store=store, compute=InThisProcess(), index=NoIndex(), origin=origin, session="s"))


@pytest.fixture
def cancelling() -> Callable[[int], list[dict[str, Any]]]:
    """The steps of an episode that cancels order ``number``."""

    def steps(number: int) -> list[dict[str, Any]]:
        order = f"#W{number:03}"
        return [
            {
                "tool": "find_user",
                "args": {"email": f"user{number}@example.org"},
                "observation": f'{{"id": "u{number}"}}',
            },
            {"tool": "get_order", "args": {"order_id": order}, "observation": "pending"},
            {
                "tool": "cancel_order",
                "args": {"order_id": order, "reason": "no longer needed"},
                "observation": "cancelled",
            },
        ]

    return steps
