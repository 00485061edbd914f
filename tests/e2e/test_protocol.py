"""The real server process, spoken to by the SDK's own client in both eras, and how it begins and ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from wire import SECONDS, Wire, command

from prowess.storage.store import Store

FIVE = ["track_execution", "score_reward", "reflect", "find_skill", "evolve_skills"]
ERAS = ["legacy", "auto", "2026-07-28"]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_the_sdks_client_lists_and_calls_all_five(tmp_path: Path, mode: str) -> None:
    program, *arguments = command(tmp_path)
    server = StdioServerParameters(command=program, args=arguments, env={"PROWESS_EMBEDDER": "none"})
    with anyio.fail_after(SECONDS):
        async with Client(server, mode=mode, read_timeout_seconds=SECONDS) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == FIVE
            calls: dict[str, dict[str, Any]] = {
                "track_execution": {"task_id": "t", "action": "look"},
                "score_reward": {"task_id": "t", "reward": "positive", "final": True},
                "reflect": {},
                "find_skill": {"query": "look around"},
                "evolve_skills": {},
            }
            for name, sent in calls.items():
                result = await client.call_tool(name, sent)
                assert not result.is_error, result.content
                assert result.structured_content


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_handshake_version_is_spoken(tmp_path: Path, version: str) -> None:
    with Wire(tmp_path) as wire:
        client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        answer = wire.answer(wire.request("initialize", client))
        assert answer["result"]["protocolVersion"] == version
        assert answer["result"]["capabilities"] == {"tools": {"listChanged": False}}


def test_initialize_is_answered_while_the_store_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "log.redb").write_bytes(b"not ours" * 1_000)
    with Wire(tmp_path) as wire:
        assert "result" in wire.initialize()
        worked, text, _ = wire.call("find_skill", {"query": "a"})
        assert not worked
        assert "log.redb" in text
        wire.close_input()
        assert wire.ends() == 0
        assert "hint: " in wire.stderr
        assert "Traceback" not in wire.stderr


def test_a_second_server_says_that_the_store_is_in_use(tmp_path: Path) -> None:
    with Wire(tmp_path) as first:
        first.initialize()
        assert first.call("track_execution", {"task_id": "t", "action": "a"})[0]
        with Wire(tmp_path) as second:
            second.initialize()
            worked, text, _ = second.call("track_execution", {"task_id": "t", "action": "b"})
            assert not worked
            assert "is open in process" in text, text
            first.close_input()
            assert first.ends() == 0
            worked, text, _ = second.call("track_execution", {"task_id": "t", "action": "b"})
            assert worked, text


def test_a_setting_that_makes_no_sense_reaches_the_client(tmp_path: Path) -> None:
    with Wire(tmp_path, PROWESS_DAILY_USD="plenty") as wire:
        wire.initialize()
        worked, text, _ = wire.call("reflect", {})
        assert not worked
        assert "PROWESS_DAILY_USD" in text


def _stored(home: Path) -> list[str]:
    """The actions of all stored steps, in order."""

    async def read() -> list[str]:
        async with Store.open(home) as store:
            episodes = await store.episodes()
            return [step.action for episode in episodes for step in await store.steps(episode.id)]

    return anyio.run(read)


def test_what_was_sent_before_the_end_of_input_is_answered_and_kept(tmp_path: Path) -> None:
    with Wire(tmp_path) as wire:
        wire.initialize()
        sent = [
            wire.request("tools/call", {"name": "track_execution", "arguments": {"task_id": "t", "action": f"a{n}"}})
            for n in range(50)
        ]
        wire.close_input()
        answered = []
        while (message := wire.receive()) is not None:
            assert message["result"]["structuredContent"]["receipt"] == "committed"
            answered.append(message["id"])
        assert sorted(answered) == sent
        assert wire.ends() == 0
    assert _stored(tmp_path) == [f"a{number}" for number in range(50)]


def test_sigterm_ends_it_cleanly_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    with Wire(tmp_path) as wire:
        wire.initialize()
        for number in range(5):
            assert wire.call("track_execution", {"task_id": "t", "action": f"a{number}"})[0]
        wire.terminate()
        assert wire.ends() == 0
        assert "Traceback" not in wire.stderr
    assert _stored(tmp_path) == [f"a{number}" for number in range(5)]


def test_a_client_that_leaves_at_once_leaves_no_server(tmp_path: Path) -> None:
    with Wire(tmp_path) as wire:
        wire.close_input()
        assert wire.ends() == 0


def test_stdout_carries_protocol_lines_only(tmp_path: Path) -> None:
    with Wire(tmp_path, PROWESS_LOG_LEVEL="DEBUG", PYTHONWARNINGS="always") as wire:
        wire.initialize()
        wire.call("track_execution", {"task_id": "t", "action": "a"})
        wire.call("reflect", {})
        wire.close_input()
        while (message := wire.receive()) is not None:
            assert message["jsonrpc"] == "2.0"
        assert wire.ends() == 0


def test_the_list_of_tools_is_small_on_the_wire(tmp_path: Path) -> None:
    with Wire(tmp_path) as wire:
        wire.initialize()
        result = wire.answer(wire.request("tools/list", {}))["result"]
        assert len(json.dumps(result, separators=(",", ":")).encode()) <= 6_000
