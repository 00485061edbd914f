"""The store's methods over the wire: every type comes back as it was, and errors with their kind and hint."""

from __future__ import annotations

import inspect
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from hubkit import Peer, hub_in, socket_of, until

from prowess.server.cli.exits import Exit, exit_of
from prowess.server.hub import client
from prowess.server.hub.calls import METHODS, arguments_of, decode_error, decode_result, encode_result, store_call
from prowess.server.hub.hub import Hub
from prowess.storage.behind import as_far_as_known
from prowess.storage.catalog import Catalog
from prowess.storage.errors import InvalidInput, StoreUnavailable, UnknownEpisode, UnknownSkill
from prowess.storage.events import SkillSaved
from prowess.storage.models import EpisodeFilter, NewReward, NewStep, Origin, Skill, SkillStep, Where
from prowess.storage.store import Store
from prowess.tools.errors import ToolError

pytestmark = pytest.mark.anyio

ORIGIN = Origin(client="test", session="s", actor="person")
WHERE = Where(task_id="t", project="shop", session="s", task="Do it")
SKILL = Skill(id="a1", name="do_it", description="Do it.", steps=(SkillStep(tool="x", args_template={"n": "{n}"}),))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_that_is_offered_can_be_asked_and_answered(method: str) -> None:
    parameters = inspect.signature(getattr(Store, method)).parameters
    assert arguments_of(method, {}) == {}
    assert all(parameter.annotation for parameter in parameters.values())


def test_arguments_come_back_as_they_were() -> None:
    asked = store_call(
        "forget", (), {"before": datetime(2026, 1, 2, tzinfo=UTC), "skill_ids": ("a",), "origin": ORIGIN}
    )
    given = arguments_of("forget", json.loads(json.dumps(asked["arguments"])))
    before = datetime(2026, 1, 2, tzinfo=UTC)
    assert given == {"before": before, "skill_ids": ["a"], "origin": ORIGIN}


def test_events_keep_their_kind() -> None:
    event = SkillSaved(skill=SKILL, change="create")
    asked = store_call("append", ([event],), {"origin": ORIGIN})
    assert arguments_of("append", json.loads(json.dumps(asked["arguments"]))) == {"events": [event], "origin": ORIGIN}


def test_paths_are_made_absolute_since_the_hub_works_elsewhere() -> None:
    asked = store_call("backup", (Path("there"),), {})
    assert asked["arguments"] == {"target": str(Path("there").absolute())}
    answer = json.loads(encode_result(Path("/a/b")))["result"]
    assert decode_result("backup", answer) == Path("/a/b")


@pytest.mark.parametrize("arguments", [{"limit": "many"}, {"nothing": 1}, {"wanted": {"since": 7}}])
def test_arguments_that_a_method_does_not_take_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        arguments_of("episodes", arguments)


def test_an_error_comes_back_as_its_kind_with_its_hint() -> None:
    told = decode_error({"kind": "UnknownEpisode", "message": "m", "hint": "h"})
    assert isinstance(told, UnknownEpisode)
    assert (str(told), told.hint) == ("m", "h")
    assert isinstance(decode_error({"kind": "ToolError", "message": "m", "hint": ""}), ToolError)


async def test_a_command_exits_alike_with_and_without_a_hub(hub: Hub, home: Path) -> None:
    """The kind of failure is the cause of the tool's error; so it has to come along."""
    wanted = {"mode": "rollback", "skills": ["gone"]}
    with pytest.raises(ToolError) as raised:
        await client.call_tool(home, "evolve_skills", wanted)
    assert exit_of(raised.value) == Exit.NOT_FOUND
    with pytest.raises(ToolError) as raised:
        await client.call_tool(home, "evolve_skills", {"mode": "nothing"})
    assert exit_of(raised.value) == Exit.FAILED


async def test_the_store_of_a_hub_answers_like_one_that_was_opened(hub: Hub, home: Path, tmp_path: Path) -> None:
    async with client.open_calls(home) as store:
        tracked = await store.track(WHERE, [NewStep(action="x", args={"n": 1})], origin=ORIGIN)
        await store.score(WHERE, [NewReward(value=5.0)], final=True, origin=ORIGIN)
        await store.append([SkillSaved(skill=SKILL, change="create")], origin=ORIGIN)
        mine = (await hub.opening.opened()).store
        assert await store.episode(tracked.episode_id) == await mine.episode(tracked.episode_id)
        assert await store.episodes(EpisodeFilter(project="shop"), limit=3) == await mine.episodes()
        assert await store.steps(tracked.episode_id) == await mine.steps(tracked.episode_id)
        assert await store.skills(project="shop", statuses=("draft",)) == await mine.skills()
        assert await store.skills_by_id(["a1"]) == {"a1": await mine.skill("a1")}
        assert await store.stats() == await mine.stats()
        assert await store.find_episode(WHERE) == await mine.find_episode(WHERE)
        assert (await store.backup(tmp_path / "copy")).is_dir()
        done: list[tuple[int, int]] = []
        await store.rebuild(lambda *at: done.append(at))
        with pytest.raises(UnknownSkill, match="nothing"):
            await store.skill("nothing")
        forgot = await store.forget(task_id="t", origin=ORIGIN)
        assert forgot.episodes == 1


async def test_calls_made_at_once_are_carried_out_at_once(hub: Hub, home: Path) -> None:
    async with client.open_calls(home) as store, anyio.create_task_group() as tasks:
        for number in range(40):
            where = Where(task_id=str(number), session="s")
            tasks.start_soon(lambda where=where: store.track(where, [NewStep(action="x")], origin=ORIGIN))
    assert len(await (await hub.opening.opened()).store.episodes()) == 40


async def test_what_needs_arrays_is_not_offered(hub: Hub, home: Path) -> None:
    async with client.open_calls(home) as store:
        with pytest.raises(AttributeError, match="dense"):
            await store.dense("skill", None, limit=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "asked",
    [{}, [], {"store": "__init__"}, {"store": "dump"}, {"store": ["a"]}, {"tool": "nothing"}, {"store": "skill"}, "x"],
)
async def test_a_call_that_makes_no_sense_is_refused_and_the_next_one_answered(
    hub: Hub, home: Path, asked: object
) -> None:
    refused, answered = await _answers(home, asked, {"store": "stats"})
    assert refused["error"]["message"]
    assert answered["result"]["episodes"] == 0


@pytest.mark.parametrize("asked", [{"store": "of_tomorrow"}, {"store": "stats", "arguments": {"of_tomorrow": 1}}])
async def test_who_asks_what_the_hub_does_not_know_is_told_how_to_get_another_hub(
    hub: Hub, home: Path, asked: object
) -> None:
    (refused,) = await _answers(home, asked)
    assert "`prowess hub stop`" in refused["error"]["hint"]


async def _answers(home: Path, *asked: object) -> list[Any]:
    """What the hub answers to each, one after the other over one connection."""
    async with await anyio.connect_unix(socket_of(home)) as stream:
        peer = Peer(stream)
        await peer.greet(kind="control", command="calls")
        answers = []
        for one in asked:
            await peer.send(one)
            answers.append(await peer.receive())
    return answers


async def test_an_idle_hub_leaves_where_a_command_asks_for_it_and_a_used_one_does_not(home: Path) -> None:
    async with hub_in(home) as hub:
        async with await anyio.connect_unix(socket_of(home)) as stream:
            await Peer(stream).greet()
            assert await client.ask(home, "yield") == {"leaving": False, "clients": 1, "work": []}
        await until(lambda: not hub.connections.clients)
        assert (await client.ask(home, "yield"))["leaving"] is True


async def test_who_only_looks_is_answered_by_a_hub_whose_disk_is_full(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Catalog, *args: Any) -> None:
        raise StoreUnavailable("the disk is full", hint="free some space")

    async with hub_in(home), client.open_calls(home) as store:
        assert (await store.stats()).steps == 0
        monkeypatch.setattr(Catalog, "apply", full)
        await store.track(WHERE, [NewStep(action="a")], origin=ORIGIN)
        with as_far_as_known() as behind:
            assert (await store.stats()).steps == 0
        assert behind.notes() == ["without the newest events: the disk is full"]
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            await store.stats()
        monkeypatch.undo()
        with as_far_as_known() as behind:
            assert (await store.stats()).steps == 1
        assert behind.notes() == []


async def test_without_a_hub_there_is_nobody_to_ask(home: Path) -> None:
    with pytest.raises(client.HubGone):
        await client.ask(home, "status")
    assert not client.is_running(home)


async def test_a_command_that_does_not_exist_is_refused(hub: Hub, home: Path) -> None:
    with pytest.raises(InvalidInput, match="dance"):
        await client.ask(home, "dance")
