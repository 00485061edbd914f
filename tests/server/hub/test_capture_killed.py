"""A hub that dies between a commit and the removal of its events: the next one stores each exactly once."""

from __future__ import annotations

from inspect import iscoroutinefunction
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest
from capturekit import TRACK, Client, call, waiting
from hubkit import connected, hub_in

from prowess.server.capture.reader import Capture
from prowess.server.capture.sessions import Sessions
from prowess.server.hooks import spool
from prowess.server.hub.hub import Hub
from prowess.storage.models import EpisodeFilter
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio


class Killed(BaseException):
    """Stands for the end of the process: nothing after it is done."""


def session(hub: Hub, home: Path) -> None:
    """Three tasks and what each was worth, with two calls that look the same."""
    agent = Client(hub, home)
    agent.leave("SessionStart", source="startup")
    agent.prompt("Mend the failing till of the shop")
    for call_id in ("a", "b"):
        agent.shell("pytest -q", "1 failed in 0.1s", call=call_id, failed=True)
    agent.leave("Stop", last_assistant_message="Shall I go on?")
    agent.prompt("yes")
    agent.shell("pytest -q", "3 passed in 0.1s", call="c")
    agent.leave("Stop")
    agent.prompt("thanks, works")
    agent.prompt("Translate the readme into French for our new partners over there")
    agent.leave("PostToolUse", tool_name="Write", tool_use_id="d", tool_input={"file_path": "/README.fr"})
    agent.shell("git commit -m x", "[main 1234567] x\n 1 file changed", call="e")
    agent.leave("Stop")
    agent.prompt("Draw a logo with a blue whale under an umbrella")
    agent.shell("make logo", "done", call="f")
    agent.leave("SessionEnd", reason="other")


async def stored(hub: Hub) -> list[Any]:
    """All that was made of the events, without what is different each time."""
    await hub.capture.drain()
    store = (await hub.opening.opened()).store
    found = []
    for episode in reversed(await store.episodes(EpisodeFilter())):
        steps = [(step.number, step.external_id, step.tool, step.outcome) for step in await store.steps(episode.id)]
        rewards = sorted((reward.source, reward.value) for reward in await store.rewards(episode.id))
        found.append((episode.task_id, episode.task, episode.outcome, bool(episode.closed_at), steps, rewards))
    return found


async def never(capture: Capture) -> None:
    await anyio.sleep_forever()


def killed_at(owner: Any, name: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process end at a function's call of that number (from 1): before it, or once a write is committed."""
    whole, calls = getattr(owner, name), count(1)

    def die() -> None:
        if next(calls) >= number:
            raise Killed

    async def written(*given: Any, **more: Any) -> Any:
        done = await whole(*given, **more)
        die()
        return done

    def begun(*given: Any) -> Any:
        die()
        return whole(*given)

    monkeypatch.setattr(owner, name, written if iscoroutinefunction(whole) else begun)


PLACES = [
    *((Sessions, "save", number, batch) for number, batch in ((1, 1), (1, 5), (2, 4), (1, 50))),
    *((spool, "remove", number, batch) for number, batch in ((1, 1), (2, 3), (1, 7), (9, 50))),
    *((Store, "track", number, 50) for number in (1, 3, 4)),
    *((Store, "track", number, 1) for number in (2, 6)),
    *((Store, "score", number, 50) for number in (1, 2, 3, 4)),
]


@pytest.mark.parametrize(("owner", "name", "number", "batch"), PLACES)
async def test_a_kill_between_commit_and_removal_stores_each_event_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: int, batch: int
) -> None:
    monkeypatch.setattr(Capture, "run", never)
    async with hub_in(home.with_name("whole")) as hub:
        session(hub, home.with_name("whole"))
        wanted = await stored(hub)
    assert [len(steps) for *_, steps, _ in wanted] == [3, 2, 1]
    with monkeypatch.context() as dying:
        dying.setattr("prowess.server.capture.reader.BATCH", batch)
        killed_at(owner, name, number, dying)
        async with hub_in(home) as hub:
            session(hub, home)
            with pytest.raises(Killed):
                await hub.capture.drain()
    assert waiting(home)
    async with hub_in(home) as hub:
        assert await stored(hub) == wanted
    assert not waiting(home)


@pytest.mark.parametrize(
    ("name", "number", "batch"),
    [
        ("identify", 1, 50),
        ("track", 1, 50),
        *((name, number, 1) for name in ("identify", "track") for number in (1, 2)),
    ],
)
async def test_what_the_agent_told_first_is_claimed_once_over_a_kill(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int, batch: int
) -> None:
    monkeypatch.setattr(Capture, "run", never)
    async with hub_in(home) as hub:
        agent = Client(hub, home)
        agent.prompt("Mend the failing till of the shop")
        async with connected(home, project="shop") as peer:
            await call(peer, "track_execution", {"task_id": "claude-code:s1", "steps": [TRACK, TRACK, TRACK]})
        for call_id in ("a", "b"):
            agent.shell("pytest -q", "3 passed in 0.1s", call=call_id)
        with monkeypatch.context() as dying:
            dying.setattr("prowess.server.capture.reader.BATCH", batch)
            killed_at(Store, name, number, dying)
            with pytest.raises(Killed):
                await hub.capture.drain()
    async with hub_in(home) as hub:
        steps = await Client(hub, home).steps()
    assert [step.external_id for step in steps] == ["claude-code:s1:a", "claude-code:s1:b", None]


async def test_what_a_killed_hub_had_begun_to_write_of_a_session_goes(home: Path) -> None:
    async with hub_in(home) as hub:
        agent = Client(hub, home)
        agent.prompt("Mend the zebra of the shop")
        await agent.store()
    (known,) = (file for file in (home / "sessions").iterdir() if b"zebra" in file.read_bytes())
    known.rename(known.with_name(f".{known.name}"))
    async with hub_in(home) as hub:
        await hub.capture.drain()
    assert not any(b"zebra" in file.read_bytes() for file in (home / "sessions").iterdir())
