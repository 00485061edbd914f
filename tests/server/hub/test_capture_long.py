"""An episode may be as long as it likes: what one more step costs does not grow with those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from breaking import break_off
from capturekit import Client, call, waiting
from hubkit import Peer, connected, hub_in

from prowess.server.capture.sessions import MOST_RECORDED, Sessions
from prowess.server.hooks import spool
from prowess.server.hub.hub import Hub
from prowess.storage.catalog import queries, rows
from prowess.storage.catalog.adapter import Connection
from prowess.storage.errors import StoreDamaged
from prowess.storage.events import ExposureMade, SkillSaved
from prowess.storage.ids import id_bytes
from prowess.storage.log import reading
from prowess.storage.log.batch import View
from prowess.storage.log.file import LogFile
from prowess.storage.log.tables import STEPS
from prowess.storage.models import ExposedSkill, Exposure, Origin, Skill, SkillStep, Trajectory
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

OWN = {"task_id": "claude-code:s1", "action": "look around", "tool": "Look"}


class Work:
    """How often something was done that takes as long as there are steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done = 0
        for owner, name in ((reading, "decode_step"), (rows, "step")):
            monkeypatch.setattr(owner, name, self._counting(getattr(owner, name)))
        many = Connection.many

        def counted(db: Connection, sql: str, found: list[Any]) -> None:
            self.done += 1000 * len(found) * (sql == queries.COUNT_STEPS)
            many(db, sql, found)

        monkeypatch.setattr(Connection, "many", counted)

    def _counting(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def count(*given: Any) -> Any:
            self.done += 1
            return work(*given)

        return count

    async def of(self, agent: Client, peer: Peer, names: range) -> int:
        """What is done for a call of each name, told by hook and agent, with the end of its turn."""
        before = self.done
        for name in names:
            agent.shell(f"ls {name}", "a  b", call=f"c{name}")
            await call(peer, "track_execution", {**OWN, "args": {"at": name}})
            agent.leave("Stop")
            await agent.store()
        return self.done - before


async def test_each_step_is_read_once_whoever_tells_how_many(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hub_in(home) as hub, connected(home, project="shop") as peer:
        agent = Client(hub, home)
        agent.prompt("Mend the failing till of the shop")
        work = Work(monkeypatch)
        await work.of(agent, peer, range(5))
        assert [episode.steps for episode in await agent.episodes()] == [10]
        few = await work.of(agent, peer, range(5, 10))
        await work.of(agent, peer, range(10, 40))
        many = await work.of(agent, peer, range(40, 45))
        assert few == many == 10
        assert [episode.steps for episode in await agent.episodes()] == [90]


async def test_steps_that_follow_each_other_are_committed_together(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    whole, names = Store.track, spool.names
    listed: list[str] = []

    async def track(store: Store, where: Any, steps: Any, **more: Any) -> Any:
        calls.append(len(steps))
        return await whole(store, where, steps, **more)

    def named(place: str) -> list[str]:
        listed.append(place)
        return names(place)

    monkeypatch.setattr(Store, "track", track)
    monkeypatch.setattr(spool, "names", named)
    monkeypatch.setattr("prowess.server.capture.reader.BATCH", 20)
    agent = Client(hub, home)
    async with hub.capture._turn:
        agent.prompt("Mend the failing till of the shop")
        for name in range(59):
            agent.shell(f"ls {name}", "a  b")
    await agent.store()
    assert calls == [19, 20, 20]
    assert len(listed) <= 3  # the background's own look, and two of ours


async def test_with_more_sessions_than_are_kept_in_memory_nothing_is_told_twice(
    hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.server.capture.sessions.MOST_RECORDED", 1)
    agents = [Client(hub, home, session=session) for session in ("s1", "s2")]
    for agent in agents:
        agent.prompt("Mend the failing till of the shop")
    for _ in range(2):
        for agent in agents:
            agent.shell("pytest -q", "3 passed in 0.1s", call="c1")
            agent.leave("Stop")
            await agent.store()
    store = await agents[0].store()
    found = [(episode.steps, len(await store.rewards(episode.id))) for episode in await agents[0].episodes()]
    assert found == [(1, 1), (1, 1)]


async def test_of_a_forgotten_task_nothing_is_concluded(hub: Hub, home: Path) -> None:
    agent = Client(hub, home)
    agent.prompt("Mend the failing till of the shop")
    agent.shell("pytest -q", "3 passed in 0.1s")
    agent.leave("Stop")
    store = await agent.store()
    (episode,) = await agent.episodes()
    await store.forget(episode_ids=[episode.id], origin=Origin(actor="person"))
    agent.leave("Stop")
    agent.leave("SessionEnd")
    assert await agent.episodes() == []
    assert spool.names(str(home)) == []


def test_what_steps_tell_is_kept_of_the_sessions_at_work_alone_and_until_words_are_forgotten(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    first, *others = [sessions.get("claude-code", f"s{number}") for number in range(MOST_RECORDED + 1)]
    known = sessions.recorded(first)
    assert sessions.recorded(first) is known
    for other in others:
        sessions.recorded(other)
    assert sessions.recorded(first) is not known
    known = sessions.recorded(first)
    sessions.forget()
    assert sessions.recorded(first) is not known


@pytest.mark.parametrize("shown", [False, True])
async def test_a_step_that_is_damaged_keeps_no_event_out(home: Path, shown: bool) -> None:
    async with hub_in(home) as hub:
        agent = Client(hub, home)
        agent.prompt("Mend the failing till of the shop")
        agent.shell("pytest -q", "1 failed in 0.1s", failed=True)
        [episode] = await agent.episodes()
    log = LogFile(home / "log.redb", "")
    with log.write() as transaction:
        View(transaction).table(STEPS).insert((id_bytes(episode.id), 1), b"\xc1")
    log.close()
    async with hub_in(home) as hub:
        agent, other = Client(hub, home), Client(hub, home, session="s2")
        if shown:
            await _show_a_skill(await agent.store(), episode.task_id)
        agent.shell("pytest -q", "3 passed in 0.1s", call="later")
        agent.leave("SessionEnd")
        other.prompt("Count the till")
        other.shell("ls")
        assert [found.steps for found in await agent.episodes()] == [2, 1]
        assert (await agent.evidence())["tests"] == 10
        assert waiting(home) == {}


async def test_a_use_is_counted_though_redb_broke_off_when_it_was_looked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trajectories = Store.trajectories

    async def broken(store: Store, ids: Sequence[str]) -> tuple[Trajectory, ...]:
        monkeypatch.undo()
        break_off(store)
        return await trajectories(store, ids)

    async with hub_in(home) as hub:
        agent = Client(hub, home)
        agent.prompt("Mend the failing till of the shop")
        agent.shell("pytest -q", "3 passed in 0.1s")
        [episode] = await agent.episodes()
        await _show_a_skill(store := await agent.store(), episode.task_id)
        monkeypatch.setattr(Store, "trajectories", broken)
        agent.leave("SessionEnd")
        with suppress(StoreDamaged):  # unless the hub itself was first
            await agent.store()
        [episode] = await agent.episodes()
        assert episode.closed_at is not None
        assert [use.success for use in await store.uses("k")] == [True]


async def test_a_use_is_counted_where_the_skill_was_shown_in_a_resumed_session(home: Path) -> None:
    async with hub_in(home) as hub:
        agent = Client(hub, home)
        agent.prompt("Mend the failing till of the shop")
        agent.shell("ls", "till.py")
        agent.leave("SessionEnd")
        [episode] = await agent.episodes()
        await _show_a_skill(await agent.store(), episode.task_id)
        agent.leave("SessionStart", source="resume")
        agent.shell("pytest -q", "3 passed in 0.1s")
        agent.leave("SessionEnd")
        assert [use.success for use in await (await agent.store()).uses("k")] == [True]
        agent.leave("SessionEnd")
        assert len(await (await agent.store()).uses("k")) == 1


async def _show_a_skill(store: Store, task: str) -> None:
    ran = SkillStep(tool="Bash", args_template={"command": "pytest -q"})
    skill = Skill(id="k", name="test", description="Run the tests", steps=(ran,), project="shop")
    shown = (ExposedSkill(skill_id="k", version=1, rank=1, score=1.0),)
    exposure = Exposure(id="x", at="2100-01-01T00:00:00.000Z", query="q", project="shop", task_id=task, skills=shown)
    await store.append([SkillSaved(skill=skill, change="created"), ExposureMade(exposure=exposure)], origin=Origin())
