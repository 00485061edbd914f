"""What agents can still read while the disk is full."""

from __future__ import annotations

from typing import Any

import pytest
from toolkit import Agent

from prowess.storage.catalog import Catalog
from prowess.storage.errors import StoreUnavailable
from prowess.tools.errors import ToolError

pytestmark = pytest.mark.anyio

SKILL = {"name": "cancel_an_order", "description": "Cancel an order.", "steps": [{"tool": "cancel_order"}]}
NOTE = "without the newest events: the disk is full"


def _full(self: Catalog, *args: Any) -> None:
    raise StoreUnavailable("the disk is full", hint="free some space")


async def test_status_and_find_answer_with_what_was_known_before(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    await agent("evolve_skills", mode="create", skills=[SKILL])
    assert (await agent("evolve_skills", mode="status")).status["skills"] == {"draft": 1}
    monkeypatch.setattr(Catalog, "apply", _full)
    await agent("track_execution", task_id="t1", steps=[{"tool": "cancel_order"}])
    told = await agent("evolve_skills", mode="status")
    assert (told.status["skills"], told.status["episodes"], told.notes) == ({"draft": 1}, 0, [NOTE])
    found = await agent("find_skill", query="cancel an order")
    assert [skill.name for skill in found.skills] == ["cancel_an_order"]
    assert NOTE in found.notes
    monkeypatch.undo()
    told = await agent("evolve_skills", mode="status")
    assert (told.status["episodes"], told.notes) == (1, [])


async def test_nothing_is_decided_by_what_may_be_old(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Catalog, "apply", _full)
    await agent("track_execution", task_id="t1", steps=[{"tool": "cancel_order"}])
    with pytest.raises(ToolError, match="the disk is full") as caught:
        await agent("evolve_skills", mode="create", skills=[SKILL])
    assert caught.value.hint == "free some space"
