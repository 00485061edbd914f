"""The MCP server through the SDK's own client, in both eras of the protocol, over a real store."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from prowess import __version__
from prowess.server.app import IDEMPOTENCY_KEY, INSTRUCTIONS, create_server
from prowess.server.opening import Opening
from prowess.server.settings import BadSetting, Settings
from prowess.storage.store import Store
from prowess.tools import track_execution
from prowess.tools.context import Progress

pytestmark = pytest.mark.anyio

FIVE = ["track_execution", "score_reward", "reflect", "find_skill", "evolve_skills"]
SECONDS = 60.0  # far beyond any call


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def _opened(settings: Settings | BadSetting) -> AsyncIterator[Opening]:
    opening = Opening(settings)
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opening.run)
            try:
                yield opening
            finally:
                opening.close()


@pytest.fixture
async def opening(tmp_path: Path) -> AsyncIterator[Opening]:
    async with _opened(Settings(home=tmp_path, embedder="none")) as opening:
        yield opening


@pytest.fixture
async def client(opening: Opening, mode: str) -> AsyncIterator[Client]:
    async with Client(create_server(opening), mode=mode) as client:
        yield client


def _text(result: CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text


async def test_the_server_introduces_itself(client: Client) -> None:
    assert (client.server_info.name, client.server_info.version) == ("prowess", __version__)
    assert client.instructions == INSTRUCTIONS


async def test_the_five_tools_are_listed_in_order(client: Client) -> None:
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == FIVE
    assert all(tool.output_schema and tool.annotations for tool in listed)


async def test_all_five_answer_with_text_and_structure(client: Client) -> None:
    calls: dict[str, dict[str, Any]] = {
        "track_execution": {"task_id": "t", "action": "look"},
        "score_reward": {"task_id": "t", "reward": 8, "final": True},
        "reflect": {},
        "find_skill": {"query": "look around"},
        "evolve_skills": {"mode": "status"},
    }
    for name, arguments in calls.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error, _text(result)
        assert _text(result)
        assert isinstance(result.structured_content, dict)


async def test_a_tool_error_is_a_result_that_the_model_reads(client: Client) -> None:
    result = await client.call_tool("score_reward", {"task_id": "nowhere", "reward": 1})
    assert result.is_error
    assert "nowhere" in _text(result)
    assert result.structured_content is None


async def test_a_call_without_arguments_is_a_tool_error(client: Client) -> None:
    result = await client.call_tool("track_execution")
    assert result.is_error
    assert "task_id is missing" in _text(result)


async def test_an_unknown_tool_is_a_protocol_error(client: Client) -> None:
    with pytest.raises(MCPError, match="no tool 'remember'"):
        await client.call_tool("remember", {})


async def test_notes_stand_in_the_text_too(client: Client) -> None:
    result = await client.call_tool("track_execution", {"task_id": "t", "action": "a", "colour": "red"})
    assert "note: ignored unknown field 'colour'" in _text(result)


async def test_the_idempotency_key_comes_from_the_meta(client: Client) -> None:
    arguments = {"task_id": "t", "action": "a"}
    meta: Any = {IDEMPOTENCY_KEY: "key-1"}
    first, again = [await client.call_tool("track_execution", arguments, meta=meta) for _ in range(2)]
    assert first.structured_content == again.structured_content
    other = await client.call_tool("track_execution", arguments, meta={IDEMPOTENCY_KEY: "key-2"})  # type: ignore[typeddict-unknown-key]
    assert (other.structured_content or {})["step"] == 2


@pytest.mark.parametrize("key", [7, "", "x" * 201])
async def test_a_key_that_is_none_is_refused(client: Client, key: Any) -> None:
    meta: Any = {IDEMPOTENCY_KEY: key}
    result = await client.call_tool("track_execution", {"task_id": "t", "action": "a"}, meta=meta)
    assert result.is_error
    assert IDEMPOTENCY_KEY in _text(result)


async def test_the_clients_own_name_is_kept_with_the_episode(opening: Opening, client: Client) -> None:
    await client.call_tool("track_execution", {"task_id": "t", "action": "a"})
    (episode,) = await (await _store(opening)).episodes()
    assert episode.agent == "mcp"
    assert episode.session


async def _store(opening: Opening) -> Store:
    async def nothing(done: float, total: float | None, message: str) -> None:
        return None

    progress: Progress = nothing
    return (await opening.context(client="", key=None, progress=progress)).store


async def test_long_tools_tell_their_progress(client: Client) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    await client.call_tool("reflect", {}, progress_callback=hear)
    assert told
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


async def test_what_nobody_foresaw_is_masked(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(step: object) -> str:
        raise RuntimeError("secret path /home/me")

    monkeypatch.setattr(track_execution, "outcome_of", broken)
    with caplog.at_level(logging.ERROR):
        result = await client.call_tool("track_execution", {"task_id": "t", "action": "a"})
    assert result.is_error
    assert "reference" in _text(result)
    assert "/home/me" not in _text(result)
    assert "/home/me" in caplog.text


async def test_a_cancelled_call_still_finishes_its_write(
    opening: Opening, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await _store(opening)
    reached, release, stored = anyio.Event(), anyio.Event(), anyio.Event()
    track = Store.track

    async def slow(self: Store, *args: Any, **kwargs: Any) -> Any:
        reached.set()
        await release.wait()
        answer = await track(self, *args, **kwargs)
        stored.set()
        return answer

    monkeypatch.setattr(Store, "track", slow)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "track_execution", {"task_id": "t", "action": "a"})
        await reached.wait()
        tasks.cancel_scope.cancel()
        release.set()
    with anyio.fail_after(SECONDS):
        await stored.wait()
    (episode,) = await store.episodes()
    assert episode.steps == 1


async def test_calls_sent_together_keep_their_order(opening: Opening, client: Client) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(client.call_tool, "track_execution", {"task_id": "t", "action": f"a{number}"})
    store = await _store(opening)
    (episode,) = await store.episodes()
    assert [step.action for step in await store.steps(episode.id)] == [f"a{number}" for number in range(20)]


@asynccontextmanager
async def _served(settings: Settings | BadSetting, mode: str) -> AsyncIterator[Client]:
    async with _opened(settings) as opening, Client(create_server(opening), mode=mode) as client:
        yield client


async def test_a_store_that_is_in_use_is_told_by_every_call_until_it_is_free(
    tmp_path: Path, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    release = anyio.Event()

    async def hold(*, task_status: TaskStatus[None]) -> None:
        async with Store.open(tmp_path):
            task_status.started()
            await release.wait()
        left.set()

    left = anyio.Event()
    settings = Settings(home=tmp_path, embedder="none")
    async with anyio.create_task_group() as tasks:
        await tasks.start(hold)
        async with _served(settings, mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == FIVE
            for _ in range(2):
                result = await client.call_tool("find_skill", {"query": "a"})
                assert result.is_error
                assert "log.redb is open in this process" in _text(result)
            said = capsys.readouterr().err
            assert said.startswith("prowess: ")
            assert "hint: " in said
            release.set()
            await left.wait()
            assert not (await client.call_tool("find_skill", {"query": "a"})).is_error


async def test_a_setting_that_makes_no_sense_is_told_by_every_call(mode: str) -> None:
    wrong = BadSetting("PROWESS_DAILY_USD: 'plenty' makes no sense", hint="a number")
    async with _served(wrong, mode) as client:
        for _ in range(2):
            result = await client.call_tool("reflect", {})
            assert result.is_error
            assert "PROWESS_DAILY_USD" in _text(result)


async def test_no_refusal_repeats_a_secret(client: Client) -> None:
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
    for tool, arguments in (
        ("score_reward", {"task_id": "t", "reward": secret}),
        ("evolve_skills", {"mode": secret}),
        ("evolve_skills", {"mode": "rollback", "skills": [secret]}),
        ("reflect", {"since": secret}),
        ("reflect", {"project": secret}),
        ("find_skill", {"query": "x", secret: 1}),
        ("track_execution", {"task_id": "t", "steps": [secret, {"action": "a", "outcome": secret}]}),
    ):
        said = repr(await client.call_tool(tool, arguments))
        assert "masked:" in said, tool
        assert secret not in said, tool
