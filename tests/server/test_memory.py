"""``prowess.Memory``: the five tools from Python."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path

import anyio
import pytest
from breaking import break_off

import prowess
from prowess import Memory
from prowess.server.settings import BadSetting
from prowess.storage.errors import StoreInUse
from prowess.tools.errors import ToolError
from prowess.tools.registry import TOOLS

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parents[2] / "docs" / "python.md"


async def test_the_seeds_example_runs(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        tracked = await memory.track_execution("task_001", "analyze_logs", context="log system")
        scored = await memory.score_reward("task_001", 8)
        patterns = await memory.reflect()
        changes = await memory.evolve_skills(patterns)
    assert (tracked.step, tracked.receipt) == (1, "committed")
    assert (scored.reward, scored.outcome) == (8.0, "success")
    assert patterns.patterns == []
    assert changes.total == 0


async def test_skills_are_made_and_found(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none", withhold=0, agent="nightly", session="s1") as memory:
        for number in range(3):
            steps = [
                {"tool": "read_log", "args": {"path": f"/logs/{number}.log"}},
                {"tool": "open_ticket", "args": {"queue": "ops", "path": f"/logs/{number}.log"}},
            ]
            await memory.track_execution(f"t{number}", task="report the failed build", steps=steps)
            await memory.score_reward(f"t{number}", evidence={"user": "thanks"}, final=True)
        patterns = await memory.reflect()
        made = await memory.evolve_skills(patterns.patterns)
        found = await memory.find_skill("report a failed build")
        episodes = await memory.store.episodes()
    assert [change.action for change in made.changes] == ["create"]
    assert [step["tool"] for step in found.skills[0].steps] == ["read_log", "open_ticket"]
    assert {(episode.agent, episode.session) for episode in episodes} == {("nightly", "s1")}


async def test_what_is_stored_is_there_the_next_time(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        await memory.track_execution("t", "a")
    async with Memory.open(str(tmp_path), embedder="none") as memory:
        assert (await memory.score_reward("t", -3)).reward == -3.0


async def test_a_key_makes_a_call_safe_to_repeat(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        first, again = [await memory.track_execution("t", "a", key="k") for _ in range(2)]
    assert (first.step, again.step) == (1, 1)


async def test_a_wrong_call_says_what_to_send(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        with pytest.raises(ToolError, match="-10 to 10"):
            await memory.score_reward("t", "very good")


async def test_a_store_in_use_is_told(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none"):
        with pytest.raises(StoreInUse) as caught:
            async with Memory.open(tmp_path, embedder="none"):
                raise AssertionError("two openers")
    hint = "nothing was done: if it is a hub, `prowess hub stop` ends it; a command ends by itself: then try again"
    assert traceback.format_exception_only(caught.value)[1:] == [f"hint: {hint}\n"]


async def test_an_error_of_the_program_comes_out_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with Memory.open(tmp_path, embedder="none"):
            raise ZeroDivisionError


def test_there_is_a_documented_method_for_each_tool() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for tool in TOOLS:
        method = getattr(Memory, tool.name)
        assert inspect.getdoc(method)
        assert f"`{tool.name}(" in text


def test_the_package_offers_it_by_name() -> None:
    assert prowess.Memory is Memory
    assert "Memory" in prowess.__all__


async def test_every_field_of_the_tools_may_be_given(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        await memory.track_execution("t", "a", tool="bash", args={"command": "ls"})
        [episode] = await memory.store.episodes()
        [step] = await memory.store.steps(episode.id)
    assert (step.tool, step.args) == ("bash", {"command": "ls"})


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt()])
async def test_a_program_may_end_inside_of_it(tmp_path: Path, end: BaseException) -> None:
    with pytest.raises(type(end)) as raised:
        async with Memory.open(tmp_path, embedder="none"):
            raise end
    assert raised.value is end
    async with Memory.open(tmp_path, embedder="none"):
        pass  # and the store is free


async def test_another_event_loop_is_told_how_to_call_it(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        assert await anyio.to_thread.run_sync(anyio.from_thread.run, memory.track_execution, "t", "look")

        def elsewhere() -> str:
            with pytest.raises(ToolError) as refused:
                anyio.run(memory.evolve_skills)
            return refused.value.explain()

        told = await anyio.to_thread.run_sync(elsewhere)
    assert told.startswith(
        "this memory was opened in another event loop\nfrom another thread call anyio.from_thread.run"
    )


async def test_the_folder_may_be_given_as_a_setting_but_once_and_not_empty(tmp_path: Path) -> None:
    async with Memory.open(home=tmp_path / "here", embedder="none"):
        assert (tmp_path / "here" / "log.redb").exists()
    for path, settings in (("", {}), (tmp_path, {"home": tmp_path})):
        with pytest.raises(BadSetting) as refused:
            async with Memory.open(path, embedder="none", **settings):
                pass
        assert refused.value.hint


async def test_any_text_may_be_a_key(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        first = await memory.track_execution("t", "look", key="\ud800")
        assert (await memory.track_execution("t", "look", key="\ud800")).step == first.step == 1


async def test_a_log_that_redb_broke_off_in_is_opened_anew(tmp_path: Path) -> None:
    async with Memory.open(tmp_path, embedder="none") as memory:
        break_off(memory.store)
        with pytest.raises(ToolError, match="redb found the file damaged"):
            await memory.track_execution("t", "a")
        assert (await memory.track_execution("t", "a")).step == 1
