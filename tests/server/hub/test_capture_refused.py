"""What the store refused of hooks at first is filed again, and what it refuses for good keeps nothing else out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from capturekit import Client, waiting

from prowess.server.capture.sessions import MAX_HAPPENINGS
from prowess.server.hub.hub import Hub
from prowess.storage.errors import InvalidInput, StoreUnavailable
from prowess.storage.models import NewStep, Tracked, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


@pytest.fixture
def agent(hub: Hub, home: Path) -> Client:
    return Client(hub, home)


async def begin(agent: Client) -> None:
    agent.prompt("Mend the failing till of the shop")
    agent.shell("make")
    await agent.store()


async def refused(*_: object, **__: object) -> None:
    raise StoreUnavailable("the disk is full")


async def test_a_task_begins_also_where_the_store_refused_at_first_what_the_one_before_was_worth(
    agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begin(agent)
    with monkeypatch.context() as full:
        full.setattr(Store, "score", refused)
        agent.prompt("Works now, thanks! Write a poem concerning autumn leaves and distant rivers")
        with pytest.raises(StoreUnavailable):
            await agent.store()
    agent.shell("vim poem.txt")
    first, second = await agent.episodes()
    assert (first.task_id, second.task_id) == ("claude-code:s1:p1", "claude-code:s1:p2")
    assert (first.steps, second.steps) == (1, 1)
    assert first.closed_at is not None
    assert await agent.evidence() == {"exit_code": 3.0, "user": 8.0}


async def test_however_often_the_store_refuses_the_end_of_a_turn_the_next_task_begins(
    agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begin(agent)
    with monkeypatch.context() as full:
        full.setattr(Store, "later_steps", refused)
        agent.leave("Stop", last_assistant_message="It is mended.")
        for _ in range(MAX_HAPPENINGS + 2):
            with pytest.raises(StoreUnavailable):
                await agent.store()
    agent.prompt("Write a poem concerning autumn leaves and distant rivers")
    agent.shell("vim poem.txt")
    assert [episode.task_id for episode in await agent.episodes()] == ["claude-code:s1:p1", "claude-code:s1:p2"]


async def test_of_steps_that_are_stored_together_one_that_is_refused_keeps_no_other_out(
    agent: Client, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    track = Store.track

    async def choosy(store: Store, where: Where, steps: Sequence[NewStep], **about: Any) -> Tracked:
        if any("bad" in step.action for step in steps):
            raise InvalidInput("not this one")
        return await track(store, where, steps, **about)

    monkeypatch.setattr(Store, "track", choosy)
    for command in ("make", "make bad", "make install"):
        agent.shell(command)
    assert [step.action for step in await agent.steps()] == ["Bash: make", "Bash: make install"]
    assert waiting(home) == {}
