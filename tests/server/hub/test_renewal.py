"""A hub whose log redb broke off in goes on with the log opened anew, and tells of it."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
import pytest
from breaking import break_off
from clikit import Ended, run
from hubkit import connected, hub_in

pytestmark = pytest.mark.anyio

TRACK = {"task_id": "t", "action": "a"}
TOLD = "redb found the log damaged: internal error: entered unreachable code"


async def _run(capsys: pytest.CaptureFixture[str], *words: object) -> Ended:
    return await anyio.to_thread.run_sync(lambda: run(capsys, *words))


async def test_the_next_call_is_answered_by_the_same_hub(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with hub_in(home) as hub, connected(home) as peer:
        break_off((await hub.opening.opened()).store)
        answer = await peer.call("track_execution", TRACK)
        assert answer["isError"]
        assert "try again soon" in str(answer["content"])
        assert not (await peer.call("track_execution", TRACK)).get("isError")
        told = hub.describe()
        assert (told["state"], told["trouble"]) == ("serving", "")
        assert told["renewed"] == f"{TOLD}; it was opened anew once in the last day"
        findings = (await _run(capsys, "doctor", "--store", home, "--json")).json["findings"]
        [found] = [each for each in findings if each["check"] == "hub"]
        assert found["state"] == "warn"
        assert str(told["renewed"]) in found["said"]


async def test_what_breaks_again_soon_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with hub_in(home) as hub, connected(home) as peer:
        store = (await hub.opening.opened()).store
        for _ in range(2):
            await peer.call("track_execution", TRACK)
            break_off(store)
            assert (await peer.call("track_execution", TRACK))["isError"]
        assert str(hub.describe()["trouble"]).startswith(f"{TOLD}; it is opened anew in ")
        assert TOLD in (await _run(capsys, "status", "--store", home)).out
        [found] = [
            each
            for each in (await _run(capsys, "doctor", "--store", home, "--json")).json["findings"]
            if each["check"] == "hub"
        ]
        assert found["state"] == "fail"
